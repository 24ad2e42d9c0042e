//! Changes that were folded into a job while it waited; one request sends them all.

use crate::format;
use crate::ui::{Card, Instant};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{event::EventType, job::FoldedChange};

/// The newest of them, newest first.
#[component]
pub fn FoldedIn(
    /// How many there were.
    folded: i32,
    /// Those that are kept, oldest first.
    changes: Vec<FoldedChange>,
    /// Decides which times are today's.
    now: DateTime<Utc>,
) -> impl IntoView {
    let sub = format::counted(folded.into(), "further change", "further changes");
    let rest = rest(folded.into(), changes.len());
    view! {
        <Card title="Folded in" sub=sub>
            <p class="px-4 pb-2 text-muted">"They came in while the job waited. One request sends them all."</p>
            {(!changes.is_empty())
                .then(|| {
                    let changes = changes.into_iter().rev();
                    view! {
                        <ol class="related" reversed>
                            {changes
                                .map(|FoldedChange { kind, at }| {
                                    let kind = kind.map_or("change", EventType::as_str);
                                    view! {
                                        <li>
                                            {kind} <span class="text-muted"><Instant at=at now=now /></span>
                                        </li>
                                    }
                                })
                                .collect_view()}
                        </ol>
                    }
                })}
            {rest.map(|rest| view! { <p class="px-4 pb-3 text-muted">{rest}</p> })}
        </Card>
    }
    .into_any()
}

/// How many are only counted, in words.
fn rest(folded: i64, shown: usize) -> Option<String> {
    let shown = i64::try_from(shown).unwrap_or(i64::MAX);
    match folded - shown {
        ..=0 => None,
        _ if shown == 0 => Some("Only the count is kept.".to_owned()),
        before => {
            let earlier = format::counted(before, "earlier one", "earlier ones");
            Some(format!("And {earlier}, without details."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rest;

    #[test]
    fn what_is_not_listed_is_counted() {
        assert_eq!(rest(3, 3), None);
        assert_eq!(rest(500, 20).as_deref(), Some("And 480 earlier ones, without details."));
        assert_eq!(rest(2, 0).as_deref(), Some("Only the count is kept."));
    }
}
