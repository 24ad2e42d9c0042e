//! One failure group: what it is, what helps, who is affected, and what can be done about it.

mod affected;
mod marks;

use self::{affected::Affected, marks::Marks};
use super::{group_words, note_form::NoteForm};
use crate::format;
use crate::state::page_url::PageUrl;
use crate::state::refresh;
use crate::ui::{ButtonKind, Card, Glyph, HiddenFields, LinkButton, Pill};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::failure::{FailureDetail, FailureGroup, FailureState};
use model::rules::plain_cause;
use model::text::shown;
use model::views::failures::FailureList;

/// The card above the list.
#[component]
pub fn Group(
    detail: FailureDetail,
    /// The list, loaded again.
    newer: RwSignal<Option<FailureList>>,
    /// The page with the group in its address.
    here: PageUrl,
    /// Ages are relative to it.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
    /// Whether the reader may act on it.
    may_steer: bool,
) -> impl IntoView {
    let newest = refresh::row(detail.clone(), move || newer.with(|list| list.as_ref()?.group.clone()));
    let FailureDetail { group, cause, remedy, affected } = detail;
    let state = Memo::new(move |_| newest.with(|detail| group_words::state(&detail.group)));
    let error = Memo::new(move |_| newest.with(|detail| detail.group.error.clone()));
    let cause_now = Memo::new(move |_| {
        newest.with(|detail| plain_cause::sentence(&detail.group.error, detail.group.response_status))
    });
    let is_whole = Memo::new(move |_| error.with(|error| plain_cause::is_whole(error)));
    let waits = Memo::new(move |_| newest.with(|detail| detail.group.jobs()));
    let dead = Memo::new(move |_| newest.with(|detail| detail.group.dead_letters));
    let trend = Signal::derive(move || newest.with(|detail| group_words::trend(&detail.group)));
    let fingerprint = group.fingerprint.to_string();
    let close = here.clone().without("group").to_string();
    let jobs = filtered("/jobs", &here).with("fingerprint", &fingerprint).to_string();
    let letters = filtered("/dead-letters", &here).with("fingerprint", &fingerprint).to_string();
    let since = Signal::derive(move || newest.with(|detail| since(&detail.group, now.get_untracked())));
    let hidden = HiddenFields::default().with("fingerprint", &fingerprint).with("back", here.to_string());
    let note_text = affected.iter().find_map(|one| one.note.as_ref().map(|note| note.text.clone()));
    let note_fields =
        ["app_id", "integration_id"].into_iter().fold(hidden.clone(), |hidden, name| match here.get(name) {
            Some(value) => hidden.with(name, value),
            None => hidden,
        });
    let retry = here.with("confirm", "requeue").to_string();
    let integrations = group.integrations;
    view! {
        <Card title=cause sub=trend more=(close, "Close".to_owned())>
            <div class="flex flex-col gap-3 px-4 pt-1 pb-4">
                <p class="flex flex-wrap items-center gap-2">
                    <Pill
                        tone=Signal::derive(move || state.get().0)
                        glyph=Signal::derive(move || state.get().1)
                        label=Signal::derive(move || state.get().2.to_owned())
                    />
                    <span>{remedy}</span>
                    <span class="text-muted">{move || since.get()}</span>
                </p>
                <p class="type-label text-muted break-any">
                    "Newest error: " {move || cause_now.get()}
                </p>
                {move || {
                    (!is_whole.get())
                        .then(|| {
                            view! {
                                <details class="fold">
                                    <summary>"Error in full"</summary>
                                    <pre class="code" tabindex="0" role="group" aria-label="Newest error in full">
                                        {move || error.with(|error| shown(error).into_owned())}
                                    </pre>
                                </details>
                            }
                        })
                }}
                <p class="flex flex-wrap items-center gap-2">
                    <LinkButton href=jobs>
                        {move || format!("Jobs: {}", format::count(waits.get()))}
                    </LinkButton>
                    <LinkButton href=letters>{move || format!("Dead letters: {}", format::count(dead.get()))}</LinkButton>
                    {move || (may_steer && waits.get() > 0)
                        .then(|| {
                            view! {
                                <LinkButton href=retry.clone() kind=ButtonKind::Primary glyph=Glyph::Undo>
                                    "Retry the group"
                                </LinkButton>
                            }
                        })}
                </p>
                {may_steer.then(|| view! { <Marks state=group.state hidden=hidden /> })}
                {(may_steer && !affected.is_empty())
                    .then(|| view! { <NoteForm hidden=note_fields integrations=integrations note=note_text /> })}
            </div>
            <Affected first=affected newest=newest of=integrations now=now />
        </Card>
    }
    .into_any()
}

/// How it was marked, and whether it failed since.
fn since(group: &FailureGroup, now: DateTime<Utc>) -> String {
    match (group.state, group.snoozed_until, group.fixed_at) {
        (FailureState::Snoozed, Some(until), _) => {
            format!("Snoozed until {} UTC.", format::clock(until, now))
        }
        (FailureState::Fixed, _, Some(at)) => {
            format!("Marked fixed at {} UTC; no failure since.", format::clock(at, now))
        }
        _ if group.came_back() => "It failed again after it was marked fixed.".to_owned(),
        _ => String::new(),
    }
}

/// A list with the page's app and integration.
fn filtered(path: &str, here: &PageUrl) -> PageUrl {
    ["app_id", "integration_id"].into_iter().fold(PageUrl::parse(path), |url, name| match here.get(name) {
        Some(value) => url.with(name, value),
        None => url,
    })
}
