//! The integrations that have jobs of a group.

use super::super::group_words;
use crate::format;
use crate::state::refresh;
use crate::ui::{Ago, Link, Table};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::failure::{AffectedIntegration, FailureDetail};

#[component]
pub fn Affected(
    first: Vec<AffectedIntegration>,
    newest: Memo<FailureDetail>,
    of: i64,
    now: Signal<DateTime<Utc>>,
) -> impl IntoView {
    let head = || {
        view! {
            <th scope="col" class="grow">"Integration"</th>
            <th scope="col" class="n">"To be retried"</th>
            <th scope="col" class="n">"Dead letters"</th>
            <th scope="col">"First"</th>
            <th scope="col">"Last"</th>
            <th scope="col">"Published note"</th>
        }
    };
    let shown = first.len();
    let more = (of > shown as i64)
        .then(|| format!("{shown} of {} integrations, most jobs first.", group_words::bounded(of)));
    (!first.is_empty()).then(|| {
        view! {
            <Table label="Affected integrations" stacks=true head=head>
                {first
                    .into_iter()
                    .map(|first| {
                        let id = first.integration_id;
                        let row = refresh::row(first, move || {
                            newest.with(|detail| detail.affected.iter().find(|one| one.integration_id == id).cloned())
                        });
                        view! { <AffectedRow row=row now=now /> }
                    })
                    .collect_view()}
            </Table>
            {more.map(|more| view! { <p class="px-4 py-2 type-label text-faint">{more}</p> })}
        }
    })
}

#[component]
fn AffectedRow(row: Memo<AffectedIntegration>, now: Signal<DateTime<Utc>>) -> impl IntoView {
    let AffectedIntegration { integration_id: id, name, app_name, fingerprint, first_at, note, .. } =
        row.get_untracked();
    let jobs = format!("/jobs?status=to_be_retried&integration_id={id}&fingerprint={fingerprint}");
    let letters = format!("/dead-letters?integration_id={id}&fingerprint={fingerprint}");
    let last_at = Memo::new(move |_| row.with(|row| row.last_at));
    view! {
        <tr>
            <td class="grow what">
                <Link href=format!("/integrations/{id}") class="font-medium hover:underline">
                    {name}
                </Link>
                " "
                <span class="type-label text-faint">{app_name}</span>
            </td>
            <td class="n" data-label="to be retried">
                <Link href=jobs class="hover:underline">{move || format::count(row.with(|row| row.to_be_retried))}</Link>
            </td>
            <td class="n" data-label="dead letters">
                <Link href=letters class="hover:underline">{move || format::count(row.with(|row| row.dead_letters))}</Link>
            </td>
            <td class="first text-muted" data-label="first">
                <Ago at=first_at now=now />
            </td>
            <td class="when text-muted" data-label="last">
                {move || view! { <Ago at=last_at.get() now=now /> }}
            </td>
            <td class="rest text-muted break-any">
                {note.map_or_else(|| "–".to_owned(), |note| note.text)}
            </td>
        </tr>
    }
    .into_any()
}
