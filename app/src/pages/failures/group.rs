//! One failure group: what it is, what helps, who is affected, and what can be done about it.

use super::{group_words, note_form::NoteForm};
use crate::{
    calls::failures::MarkFailure,
    format,
    state::{page_url::PageUrl, refresh},
    ui::{
        Ago, Button, ButtonKind, Card, Glyph, HiddenFields, Link, LinkButton, Pill, PostForm, SelectField,
        SelectOption, Table,
    },
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::failure::{AffectedIntegration, FailureDetail, FailureGroup, FailureState};
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
                <p class="type-label text-muted break-words">
                    "Newest error: " <code>{move || error.get()}</code>
                </p>
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

/// Snoozes it, marks it fixed, or reopens it.
#[component]
fn Marks(state: FailureState, hidden: HiddenFields) -> impl IntoView {
    let mark = ServerAction::<MarkFailure>::new();
    let snooze = ServerAction::<MarkFailure>::new();
    let is_closed = matches!(state, FailureState::Snoozed | FailureState::Fixed);
    let hours = [("1", "1 hour"), ("4", "4 hours"), ("24", "1 day"), ("72", "3 days"), ("168", "7 days")];
    let options = hours.into_iter().map(|(value, label)| SelectOption::new(value, label)).collect();
    let to_snooze = hidden.clone().with("mark", "snooze");
    let (mark_value, word) = if is_closed { ("reopen", "Reopen") } else { ("fix", "Mark fixed") };
    view! {
        <div class="flex flex-wrap items-end gap-2">
            <PostForm action=mark hidden=hidden.with("mark", mark_value)>
                <Button glyph=if is_closed { Glyph::Undo } else { Glyph::Check }>{word}</Button>
            </PostForm>
            {(state == FailureState::Open)
                .then(|| {
                    view! {
                        <PostForm action=snooze hidden=to_snooze class="flex flex-wrap items-end gap-2">
                            <SelectField name="hours" label="Snooze for" value="24" options=options />
                            <Button glyph=Glyph::Clock>"Snooze"</Button>
                        </PostForm>
                    }
                })}
        </div>
    }
    .into_any()
}

/// The integrations that have jobs of it.
#[component]
fn Affected(
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
    let jobs = format!("/jobs?integration_id={id}&fingerprint={fingerprint}");
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
            <td class="rest text-muted break-words">
                {note.map_or_else(|| "–".to_owned(), |note| note.text)}
            </td>
        </tr>
    }
    .into_any()
}
