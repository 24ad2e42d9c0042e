//! Failures of one integration by cause, and the notes published about them.

use crate::format;
use crate::ui::{Ago, Card, Link};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::failure::{FailureGroup, FailureNote};
use model::id::IntegrationId;
use model::rules::plain_cause;

#[component]
pub fn Failures(
    id: IntegrationId,
    /// Its largest groups, with its own numbers.
    groups: Vec<FailureGroup>,
    /// Notes its app sees now.
    notes: Vec<FailureNote>,
    /// All its jobs to be retried and dead letters.
    of: i64,
    /// Ages are relative to it.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
) -> impl IntoView {
    let all = format!("/failures?integration_id={id}&state=all");
    let is_empty = groups.is_empty();
    view! {
        <Card title="Failures by cause" sub="to be retried and dead letters" more=(all.clone(), "All failures".to_owned())>
            {is_empty.then(|| view! { <p class="px-4 pt-1 pb-4 text-muted">"No failures."</p> })}
            <ul class="grid gap-2 px-4 pt-1 pb-4 empty:hidden" aria-label="Failures by cause">
                {groups
                    .into_iter()
                    .map(|group| {
                        let share = share(group.jobs(), of);
                        let cause = group.words().cause;
                        let error = plain_cause::sentence(&group.error, group.response_status);
                        let says = format!("{}{share}, last ", format::counted(group.jobs(), "job", "jobs"));
                        view! {
                            <li class="break-any">
                                <Link href=format!("{all}&group={}", group.fingerprint) class="font-medium hover:underline">
                                    {cause}
                                </Link>
                                <p class="type-label text-muted">
                                    {says} <Ago at=group.last_at now=now />
                                </p>
                                <p class="type-label text-faint">{error}</p>
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
            {notes
                .into_iter()
                .map(|note| {
                    view! {
                        <p class="px-4 pb-3 type-label break-any">
                            <span class="text-muted">"Published note: "</span>
                            {note.text}
                        </p>
                    }
                })
                .collect_view()}
        </Card>
    }
    .into_any()
}

/// The group's share of all failures. Empty where the group's count is newer than the total.
fn share(part: i64, whole: i64) -> String {
    if whole <= 0 || part > whole {
        return String::new();
    }
    format!(", {} of all failures", format::percent(part as f64 / whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_of_a_total_that_includes_it() {
        assert_eq!(share(1, 2), format!(", {} of all failures", format::percent(0.5)));
        assert_eq!((share(3, 2), share(0, 0)), (String::new(), String::new()));
    }
}
