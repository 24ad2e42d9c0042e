//! Finds the records and apps that a text can name.

use crate::{Delivery, DeliveryError, store};
use model::{actor::Scope, app::App, id::AppId, record::RecordKey, trail::TrailQuery};
use store::lookup::Named;

/// Too many names begin with a single letter.
const MIN_NAME_CHARS: usize = 2;
/// Characters between a record's type and its id when people write both.
const SEPARATORS: [char; 3] = ['/', ' ', ':'];

impl Delivery {
    /// The records of an app, or of all apps, that the query's text names, by app and type.
    pub async fn records_named(
        &self,
        app_id: Option<AppId>,
        query: &TrailQuery,
        limit: i64,
    ) -> Result<Vec<RecordKey>, DeliveryError> {
        let mut named = names(query.q.trim());
        if let Some(only) = &query.record_type {
            named.retain(|(kind, _)| kind.as_ref().is_none_or(|kind| kind == only));
            for (kind, _) in &mut named {
                *kind = Some(only.clone());
            }
        }
        store::lookup::records(&self.pool, app_id, &named, limit).await
    }

    /// The apps with this id or slug, or whose name begins with the text; those with exactly this name first.
    pub async fn apps_named(&self, scope: Scope, text: &str, limit: i64) -> Result<Vec<App>, DeliveryError> {
        if text.chars().count() < MIN_NAME_CHARS {
            return Ok(Vec::new());
        }
        store::lookup::apps(&self.pool, scope, text, limit).await
    }
}

/// The records a text can name: as an id, or as type and id.
fn names(text: &str) -> Vec<Named> {
    let mut named = vec![(None, text.to_owned())];
    named.extend(queue::store::jobs::record_of(text).map(|(kind, id)| (Some(kind), id)));
    if let Some((kind, id)) = text.split_once(SEPARATORS) {
        let id = id.trim_start_matches([' ', '/']);
        if !kind.is_empty() && !id.is_empty() {
            named.push((Some(kind.to_owned()), id.to_owned()));
        }
    }
    named.sort();
    named.dedup();
    named
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_record_is_named_by_its_id_or_by_type_and_id() {
        let said = |text: &str| {
            names(text)
                .into_iter()
                .map(|(kind, id)| format!("{}>{id}", kind.unwrap_or_default()))
                .collect::<Vec<_>>()
        };
        assert_eq!(said("4711"), [">4711"]);
        assert_eq!(said("product 4711"), [">product 4711", "product>4711"]);
        assert_eq!(said("product / 4711"), [">product / 4711", "product>4711"]);
        assert_eq!(said("product a/b c"), [">product a/b c", "product>a/b c"]);
        assert_eq!(
            said("headgate:record:product:4711").first().map(String::as_str),
            Some(">headgate:record:product:4711")
        );
        assert!(said("headgate:record:product:4711").contains(&"product>4711".to_owned()));
        assert_eq!(said("/4711"), [">/4711"], "nothing before the separator names no type");
    }
}
