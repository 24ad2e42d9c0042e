//! A dead letter's row, and the columns it fills.

use super::Rights;
use crate::components::IntegrationLink;
use crate::format;
use crate::ui::{Ago, CheckField, Link, data_label};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::dead_letter::DeadLetter;
use model::views::names::Names;

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
        <th scope="col">"Given up"</th>
    }
}

#[component]
pub fn Row(letter: DeadLetter, names: Names, now: Signal<DateTime<Utc>>, rights: Rights) -> impl IntoView {
    let about = letter.about();
    let error = format::error_line(&letter.error_message).to_owned();
    view! {
        <tr>
            {rights
                .steer
                .then(|| {
                    view! {
                        <td class="tick">
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
                <Ago at=letter.failed_at now=now />
            </td>
        </tr>
    }
    .into_any()
}
