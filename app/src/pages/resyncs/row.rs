//! A re-sync's row.

use crate::calls::resyncs::SteerResync;
use crate::components::{IntegrationLink, ResyncBadge, ResyncProgress};
use crate::state::page_url::PageUrl;
use crate::ui::{Ago, Button, ButtonKind, HiddenFields, LinkButton, PostForm, form_action};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::resync::{Resync, ResyncMode, ResyncState, ResyncStep};
use model::views::names::Names;

#[component]
pub fn Row(
    row: Memo<Resync>,
    names: Names,
    now: Signal<DateTime<Utc>>,
    may_steer: bool,
    back: String,
) -> impl IntoView {
    let first = row.get_untracked();
    let steer = form_action::<SteerResync>();
    let state = Memo::new(move |_| row.with(|r| r.state));
    let what = match (first.mode, &first.record_type) {
        (ResyncMode::Full, None) => "all records".to_owned(),
        (ResyncMode::Full, Some(kind)) => format!("all records of type {kind}"),
        (ResyncMode::Changed, None) => "records not in sync".to_owned(),
        (ResyncMode::Changed, Some(kind)) => format!("records of type {kind} not in sync"),
    };
    let id = first.id;
    let ask = PageUrl::parse(&back).with("cancel", id).to_string();
    let step = move |step: ResyncStep| {
        HiddenFields::default()
            .with("id", id.to_string())
            .with("step", step.as_str())
            .with("back", back.clone())
    };
    view! {
        <tr>
            <td class="what">
                <IntegrationLink id=first.integration_id names=names is_subject=true />
            </td>
            <td class="state">{move || view! { <ResyncBadge resync=row.get() /> }}</td>
            <td class="rest">{move || view! { <ResyncProgress resync=row.get() /> }}</td>
            <td class="where">{what}</td>
            <td class="when text-muted">
                <Ago at=first.created_at now=now />
            </td>
            <td class="first text-muted" data-label="by">{first.requested_by}</td>
            <td class="actions">
                <div class="flex justify-end gap-1.5">
                    {move || {
                        let steered = match state.get() {
                            ResyncState::Running => Some((ResyncStep::Pause, "Pause")),
                            ResyncState::Paused => Some((ResyncStep::Resume, "Resume")),
                            ResyncState::Completed | ResyncState::Cancelled => None,
                        };
                        steered
                            .filter(|_| may_steer)
                            .map(|(value, word)| {
                                view! {
                                    <PostForm action=steer hidden=step(value)>
                                        <Button>{word}</Button>
                                    </PostForm>
                                    <LinkButton href=ask.clone() kind=ButtonKind::Danger>
                                        "Cancel"
                                    </LinkButton>
                                }
                            })
                    }}
                </div>
            </td>
        </tr>
    }
    .into_any()
}
