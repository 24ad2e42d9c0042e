//! A dead letter's row, and the columns it fills.

use super::Rights;
use crate::components::IntegrationLink;
use crate::ui::{Ago, CheckField, Link, data_label};
use chrono::{DateTime, Utc};
use leptos::{ev::Event, prelude::*};
use model::dead_letter::DeadLetter;
use model::id::DeadLetterId;
use model::rules::plain_cause;
use model::views::names::Names;
use std::collections::BTreeSet;

pub fn columns(rights: Rights) -> impl IntoView {
    view! {
        {rights
            .steer
            .then(|| {
                view! {
                    <th scope="col">
                        <span class="sr-only">"Select"</span>
                    </th>
                }
            })}
        <th scope="col">"Job"</th>
        <th scope="col" class="grow">
            <span class="block min-w-[200px]">"Error"</span>
        </th>
        <th scope="col">"Integration"</th>
        <th scope="col" class="n">"Attempts"</th>
        <th scope="col">"Failed"</th>
    }
}

#[component]
pub fn Row(
    letter: DeadLetter,
    names: Names,
    now: Signal<DateTime<Utc>>,
    rights: Rights,
    /// Rows whose box is checked.
    selected: RwSignal<BTreeSet<DeadLetterId>>,
    /// It was requeued or purged since the list was loaded; the row stays where it is.
    is_gone: Memo<bool>,
) -> impl IntoView {
    let (id, failed_at) = (letter.id, letter.failed_at);
    let on_change = move |event: Event| {
        let is_checked = event_target_checked(&event);
        selected.update(|ids| {
            if is_checked {
                ids.insert(id);
            } else {
                ids.remove(&id);
            }
        });
    };
    let about = letter.about();
    let error = plain_cause::sentence(&letter.error_message, None);
    view! {
        <tr>
            {rights
                .steer
                .then(|| {
                    view! {
                        <td class="tick" on:change=on_change>
                            <CheckField
                                name="ids[]"
                                value=letter.id.to_string()
                                label=format!("Select {about}")
                                bare=true
                                form="chosen"
                            />
                        </td>
                    }
                })}
            <td class="what">
                <Link href=format!("/jobs/{}", letter.job_id) class="font-medium hover:underline">
                    {about.clone()}
                </Link>
                " "
                <span class="type-label text-faint">{letter.job_type.clone()}</span>
            </td>
            <td class="grow rest" title=letter.error_message.clone()>
                {error}
            </td>
            <td class="where">
                <IntegrationLink id=letter.integration_id names=names />
            </td>
            <td class="n" {..data_label("attempts")}>{letter.attempts.len()}</td>
            <td class="when text-muted">
                {move || {
                    if is_gone.get() {
                        "requeued or purged".into_any()
                    } else {
                        view! { <Ago at=failed_at now=now /> }.into_any()
                    }
                }}
            </td>
        </tr>
    }
    .into_any()
}
