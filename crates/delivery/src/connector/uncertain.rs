//! Attributes that may have arrived although no answer confirmed it: reported before the request leaves, and recorded in the transaction that
//! ends the attempt, so that both are stored or neither.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use model::id::IntegrationId;
use queue::worker::{EndedAs, EndedJob};
use sqlx::PgConnection;

use crate::store::sent;

/// The attributes a request sends; none: all of them, or a deletion.
pub(super) struct MayHaveArrived(pub(super) Option<Vec<String>>);

type IntegrationRecord<'a> = (IntegrationId, &'a str, &'a str);

/// Records what is uncertain after a batch of attempts.
pub(super) async fn write(conn: &mut PgConnection, ended: &[EndedJob]) -> Result<(), sqlx::Error> {
    let mut uncertain: BTreeMap<IntegrationRecord<'_>, Option<BTreeSet<&str>>> = BTreeMap::new();
    for job in ended {
        let Some((record_type, record_id)) = &job.record else { continue };
        let reported = job.uncertain.as_ref().and_then(|doubt| doubt.downcast_ref::<MayHaveArrived>());
        // The job's row says that a lost worker may have sent something, and must not be the only place: it is deleted with the job.
        let is_inherited = job.may_have_arrived && job.ended_as != EndedAs::Released;
        let attributes = match reported {
            _ if is_inherited => None,
            Some(MayHaveArrived(attributes)) => attributes.as_ref(),
            None => continue,
        };
        let attributes = attributes.map(|names| names.iter().map(String::as_str).collect::<BTreeSet<&str>>());
        match uncertain.entry((job.integration_id, record_type, record_id)) {
            Entry::Vacant(vacant) => {
                vacant.insert(attributes);
            }
            Entry::Occupied(mut merged) => match (merged.get_mut(), attributes) {
                (Some(merged), Some(attributes)) => merged.extend(attributes),
                (merged, _) => *merged = None,
            },
        }
    }
    let uncertain: Vec<sent::Uncertain<'_>> = uncertain
        .into_iter()
        .map(|((integration_id, record_type, record_id), attributes)| sent::Uncertain {
            integration_id,
            record_type,
            record_id,
            attributes: attributes.map(|names| names.into_iter().collect()),
        })
        .collect();
    sent::record_uncertain(conn, &uncertain).await
}
