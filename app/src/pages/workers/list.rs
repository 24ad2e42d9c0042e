//! All worker processes, live.

use super::{question::Question, row::Row, services::Services, verdict};
use crate::calls::workers::load_workers;
use crate::components::page_table::ConsolePage;
use crate::components::{LiveBadge, Loaded, PageHead};
use crate::state::page_url::{self, PageUrl};
use crate::state::{refresh, revision};
use crate::ui::{Card, EmptyState, Glyph, Notice, Table, Tone};
use leptos::prelude::*;
use model::{id::WorkerId, rules::permission::Permission, views::workers};
use std::time::Duration;

#[component]
pub fn WorkersPage() -> impl IntoView {
    let url = page_url::current();
    let asked = Memo::new(move |_| url.with(|url| url.get("notice").map(str::to_owned)));
    let page = revision::page_data(move || asked.get(), |_| load_workers());
    view! {
        <Loaded
            title=ConsolePage::Workers.title()
            data=page
            show=move |page, reader| {
                let may_drain = reader.is_some_and(|r| r.may(Permission::Configure));
                view! { <Content first=page url=url may_drain=may_drain /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(first: workers::WorkersPage, url: Memo<PageUrl>, may_drain: bool) -> impl IntoView {
    let as_of = first.as_of;
    let newer = refresh::every(Duration::from_secs(2), load_workers);
    let page = Memo::new(move |_| newer.get().unwrap_or_else(|| first.clone()));
    let headline = Signal::derive(move || page.with(|page| verdict::headline(&page.workers)));
    let warnings = Memo::new(move |_| page.with(|page| verdict::warnings(&page.workers)));
    let mixed = Memo::new(move |_| page.with(|page| verdict::mixed_versions(&page.workers)));
    let ids = Memo::new(move |_| page.with(|page| page.workers.iter().map(|w| w.id).collect::<Vec<_>>()));
    let is_empty = Memo::new(move |_| ids.with(Vec::is_empty));
    let head = move || {
        view! {
            <th scope="col">"Process"</th>
            <th scope="col">"State"</th>
            <th scope="col" class="n">"Slots in use"</th>
            <th scope="col" class="n" title="Time since its last heartbeat">"Heartbeat"</th>
            <th scope="col">"Version"</th>
            <th scope="col">"Started"</th>
            <th scope="col">"Work"</th>
            {may_drain.then(|| view! { <th scope="col"><span class="sr-only">"Actions"</span></th> })}
        }
    };
    view! {
        <PageHead title=ConsolePage::Workers.title() headline=headline>
            <LiveBadge as_of=as_of />
        </PageHead>
        <For
            each=move || warnings.get()
            key=Clone::clone
            children=|text| view! { <Notice tone=Tone::Failed glyph=Glyph::Alert text=text /> }
        />
        {move || mixed.get().map(|text| view! { <Notice tone=Tone::Waiting glyph=Glyph::Info text=text /> })}
        <div class="stack">
            <Card title="Processes" sub="newest first">
                <Table label="Processes" stacks=true head=head>
                    <For
                        each=move || ids.get()
                        key=|id| *id
                        children=move |id| {
                            let seen = move |page: &workers::WorkersPage| {
                                page.workers.iter().find(|w| w.id == id).cloned().map(|worker| (worker, page.as_of))
                            };
                            let first = page.with_untracked(seen)?;
                            let row = refresh::row(first, move || page.with(seen));
                            Some(view! { <Row row=row may_drain=may_drain /> })
                        }
                    />
                </Table>
                {move || {
                    is_empty
                        .get()
                        .then(|| {
                            view! {
                                <EmptyState
                                    glyph=Glyph::Monitor
                                    title="No workers"
                                    text="A process appears with its first heartbeat and disappears when it is stopped."
                                />
                            }
                        })
                }}
            </Card>
            <Services page=page />
        </div>
        {move || {
            let id = url.with(|url| url.get("drain").and_then(|id| id.parse::<WorkerId>().ok()))?;
            let worker = page.with_untracked(|page| page.workers.iter().find(|w| w.id == id).cloned())?;
            may_drain.then(|| view! { <Question worker=worker /> })
        }}
    }
    .into_any()
}
