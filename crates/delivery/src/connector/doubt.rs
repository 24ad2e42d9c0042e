//! What an attempt may have told although nobody confirmed it: said before the request leaves, and recorded in the transaction that ends
//! the attempt, so that the end and the doubt stand together or not at all.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use model::id::IntegrationId;
use queue::worker::{EndedAs, EndedJob};
use sqlx::PgConnection;

use crate::store::sent;

/// The attributes a request tells; none: all of them, or a deletion.
pub(super) struct MayHaveArrived(pub(super) Option<Vec<String>>);

/// A record of an integration.
type Place<'a> = (IntegrationId, &'a str, &'a str);

/// Remembers the doubts of a batch of attempts.
pub(super) async fn write(conn: &mut PgConnection, ended: &[EndedJob]) -> Result<(), sqlx::Error> {
    let mut doubts: BTreeMap<Place<'_>, Option<BTreeSet<&str>>> = BTreeMap::new();
    for job in ended {
        let Some((record_type, record_id)) = &job.record else { continue };
        let own = job.doubt.as_ref().and_then(|doubt| doubt.downcast_ref::<MayHaveArrived>());
        // What a vanished worker sent stands in the job's row; it must outlive the job.
        let is_inherited = job.may_have_arrived && job.ended_as != EndedAs::Released;
        let told = match own {
            _ if is_inherited => None,
            Some(MayHaveArrived(told)) => told.as_ref(),
            None => continue,
        };
        let told = told.map(|names| names.iter().map(String::as_str).collect::<BTreeSet<&str>>());
        match doubts.entry((job.integration_id, record_type, record_id)) {
            Entry::Vacant(vacant) => {
                vacant.insert(told);
            }
            Entry::Occupied(mut known) => match (known.get_mut(), told) {
                (Some(known), Some(told)) => known.extend(told),
                (known, _) => *known = None,
            },
        }
    }
    let doubts: Vec<sent::Unsure<'_>> = doubts
        .into_iter()
        .map(|((integration_id, record_type, record_id), told)| sent::Unsure {
            integration_id,
            record_type,
            record_id,
            attributes: told.map(|names| names.into_iter().collect()),
        })
        .collect();
    sent::remember_unsure(conn, &doubts).await
}
