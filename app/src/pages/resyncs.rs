//! Re-syncs: their progress, and when they will be done.

use crate::{
    calls::resyncs::{SteerResync, list_resyncs},
    components::{Confirm, IntegrationLink, LiveBadge, Loaded, PageHead, ResyncBadge, ResyncProgress},
    format,
    state::{clock, page_url, page_url::PageUrl, refresh, revision},
    ui::{
        Ago, Button, ButtonKind, Card, EmptyState, Glyph, HiddenFields, LinkButton, Pagination, PostForm,
        Table,
    },
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::views::{names::Names, resyncs::ResyncList};
use model::{
    id::ResyncId,
    resync::{Resync, ResyncMode, ResyncState, ResyncStep},
    rules::permission::Permission,
};
use std::time::Duration;

#[component]
pub fn ResyncsPage() -> impl IntoView {
    let url = page_url::current();
    let revision = revision::current();
    let list =
        Resource::new_blocking(move || (url.get().query(), revision.get()), |(query, _)| list_resyncs(query));
    view! {
        <Loaded
            title="Re-syncs"
            data=list
            show=move |list, reader| {
                let may_steer = reader.is_some_and(|r| r.may(Permission::Resync));
                view! { <Content list=list url=url.get_untracked() may_steer=may_steer /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(list: ResyncList, url: PageUrl, may_steer: bool) -> impl IntoView {
    let as_of = list.as_of;
    let now = clock::now_or(as_of);
    let query = url.query();
    let newer = refresh::every(Duration::from_secs(2), move || list_resyncs(query.clone()));
    let names = list.names;
    let settled = url.clone().settled();
    let older =
        list.page.next_cursor.clone().map(|cursor| settled.clone().with("cursor", cursor).to_string());
    let newest = url.get("cursor").map(|_| settled.clone().without("cursor").to_string());
    let shown = format::counted(list.page.items.len() as i64, "re-sync shown", "re-syncs shown");
    let is_empty = list.page.items.is_empty();
    let running = list.page.items.iter().filter(|r| r.state == ResyncState::Running).count() as i64;
    let headline = match running {
        0 => "No re-sync is running.".to_owned(),
        n => format!("**{}** running", format::counted(n, "re-sync is", "re-syncs are")),
    };
    let asked = url.get("cancel").and_then(|id| id.parse::<ResyncId>().ok());
    let question = asked.and_then(|id| list.page.items.iter().find(|r| r.id == id).cloned());
    let rows: Vec<_> = list.page.items;
    let back = settled.without("cancel").to_string();
    let steer_back = StoredValue::new(back.clone());
    let head = || {
        view! {
            <th scope="col">"Integration"</th>
            <th scope="col">"State"</th>
            <th scope="col">"Progress"</th>
            <th scope="col">"What"</th>
            <th scope="col">"Started"</th>
            <th scope="col">"By"</th>
            <th scope="col"><span class="sr-only">"Actions"</span></th>
        }
    };
    view! {
        <PageHead title="Re-syncs" headline=headline>
            <LiveBadge as_of=as_of />
        </PageHead>
        <Card title="All re-syncs" sub="newest first">
            {if is_empty {
                view! {
                    <EmptyState
                        glyph=Glyph::Sync
                        title="No re-sync yet"
                        text="Open an integration and press Re-sync to send its whole catalog, or what is not in sync."
                    >
                        <LinkButton href="/integrations">"Integrations"</LinkButton>
                    </EmptyState>
                }
                    .into_any()
            } else {
                view! {
                    <Table label="Re-syncs" stacks=true head=head>
                        {rows
                            .into_iter()
                            .map(|first| {
                                let id = first.id;
                                let names = names.clone();
                                let row = refresh::row(first, move || {
                                    newer.with(|list| list.as_ref()?.page.items.iter().find(|r| r.id == id).cloned())
                                });
                                view! { <Row row=row names=names now=now may_steer=may_steer back=steer_back.get_value() /> }
                            })
                            .collect_view()}
                    </Table>
                }
                    .into_any()
            }}
            {(!is_empty || newest.is_some()).then(|| view! { <Pagination newest=newest older=older shown=shown /> })}
        </Card>
        {question.filter(|_| may_steer).map(|resync| view! { <CancelQuestion resync=resync back=back /> })}
    }
    .into_any()
}

#[component]
fn Row(
    row: Memo<Resync>,
    names: Names,
    now: Signal<DateTime<Utc>>,
    may_steer: bool,
    back: String,
) -> impl IntoView {
    let first = row.get_untracked();
    let steer = ServerAction::<SteerResync>::new();
    let state = Memo::new(move |_| row.with(|r| r.state));
    let what = match (first.mode, &first.record_type) {
        (ResyncMode::Full, None) => "everything".to_owned(),
        (ResyncMode::Full, Some(kind)) => format!("every {kind}"),
        (ResyncMode::Changed, None) => "what is not in sync".to_owned(),
        (ResyncMode::Changed, Some(kind)) => format!("{kind} not in sync"),
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

#[component]
fn CancelQuestion(resync: Resync, back: String) -> impl IntoView {
    let steer = ServerAction::<SteerResync>::new();
    let waiting = (resync.total - resync.done - resync.failed).max(0);
    let jobs = format::counted(waiting, "waiting job", "waiting jobs");
    let hidden = HiddenFields::default()
        .with("id", resync.id.to_string())
        .with("step", ResyncStep::Cancel.as_str())
        .with("back", back.clone());
    view! {
        <Confirm
            action=steer
            hidden=hidden
            title=format!("Cancel this re-sync and its {jobs}?")
            text="What was sent stays sent. Records that changed meanwhile are sent with their next change."
            button_text=format!("Cancel {jobs}")
            close=back
        />
    }
    .into_any()
}
