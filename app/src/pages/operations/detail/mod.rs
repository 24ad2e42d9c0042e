//! One bulk operation: what it does to which jobs, how far it is, what it skipped, and how to undo it.

mod breakdown;
mod skipped;
mod words;

use self::breakdown::Breakdown;
use self::skipped::Skipped;
use self::words::{pace, verdict};
use super::steps::Steps;
use crate::calls::error::CallError;
use crate::calls::operations::load_operation;
use crate::components::deployment::operation_words::{about, list_of, what_it_does};
use crate::components::page_table::ConsolePage;
use crate::components::{LiveBadge, Loaded, OperationBadge, OperationProgress, PageHead};
use crate::state::{clock, opened, page_url, revision};
use crate::ui::{Ago, Card, Fact, Facts, Link};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use model::id::OperationId;
use model::opened::Opened;
use model::operation::{BulkAction, Operation};
use model::rules::permission::Permission;
use model::views::operations::OperationPage;

#[component]
pub fn OperationDetailPage() -> impl IntoView {
    let params = use_params_map();
    let url = page_url::current();
    let asked = Memo::new(move |_| {
        let id = params.read().get("id").and_then(|id| id.parse::<OperationId>().ok());
        (id, url.with(|url| url.get("notice").map(str::to_owned)))
    });
    let page = revision::page_data(
        move || asked.get(),
        |(id, _)| async move {
            match id {
                Some(id) => load_operation(id).await,
                None => Err(CallError::NotFound),
            }
        },
    );
    view! {
        <Loaded
            title=ConsolePage::Operations.title()
            data=page
            show=|page, reader| {
                let may_steer = reader.is_some_and(|r| r.may(Permission::SteerJobs));
                view! { <Content page=page may_steer=may_steer /> }.into_any()
            }
        />
    }
    .into_any()
}

#[component]
fn Content(page: OperationPage, may_steer: bool) -> impl IntoView {
    let OperationPage { operation: first, names, as_of } = page;
    let id = first.id;
    let now = clock::now_or(as_of);
    // Also of an operation that has ended: somebody else can undo it.
    let pushed = opened::follow::<Operation>(Opened::Operation(id));
    let loaded = first.clone();
    let operation = Memo::new(move |_| {
        pushed
            .with(|pushed| {
                pushed.as_ref().filter(|pushed| pushed.at >= as_of).map(|pushed| pushed.now.clone())
            })
            .unwrap_or_else(|| loaded.clone())
    });
    let has_ended = Memo::new(move |_| operation.with(|o| o.finished_at.is_some()));
    let crumbs = || {
        view! {
            <Link href="/operations" class="type-label text-muted hover:underline">
                "Bulk operations"
            </Link>
        }
    };
    let badge =
        move || view! { <OperationBadge state=Signal::derive(move || operation.with(|o| o.state)) /> };
    let headline = Signal::derive(move || operation.with(|o| verdict(o, now.get())));
    let sentence = about(&first, &names);
    let is_deletion = first.action == BulkAction::Delete;
    let list =
        (first.named.is_none() && !is_deletion).then(|| list_of(first.subject, &first.filter).to_string());
    let (heading, pace) = (what_it_does(&first), pace(&first));
    let Operation { breakdown, sample, reason, requested_by, created_at, .. } = first;
    let reason = reason.unwrap_or_else(|| "none".to_owned());
    view! {
        <PageHead title=ConsolePage::Operations.title() heading=heading headline=headline crumbs=crumbs badge=badge>
            <LiveBadge as_of=as_of />
            {may_steer.then(|| view! { <Steps operation=operation now=now back=format!("/operations/{id}") /> })}
        </PageHead>
        <div class="stack">
            <Card title="Progress">
                <div class="px-4 pt-3">
                    <OperationProgress operation=operation />
                </div>
                <Facts>
                    <Fact name="Requested by">
                        {requested_by} ", " <Ago at=created_at now=now />
                    </Fact>
                    <Fact name="Reason">{reason}</Fact>
                    <Fact name="Rate">{pace}</Fact>
                    {move || {
                        let operation = operation.get();
                        let started = operation
                            .started_at
                            .map(|at| view! { <Fact name="Started"><Ago at=at now=now /></Fact> });
                        let ended = has_ended
                            .get()
                            .then_some(operation.finished_at)
                            .flatten()
                            .map(|at| view! { <Fact name="Ended"><Ago at=at now=now /></Fact> });
                        (started, ended)
                    }}
                    {move || operation.with(|o| o.undoes).map(|of| view! { <Related name="Undoes" id=of /> })}
                    {move || operation.with(|o| o.undone_by).map(|by| view! { <Related name="Undone by" id=by /> })}
                </Facts>
            </Card>
            <Card title="Scope" more=list.map(|href| (href, "Open list".to_owned()))>
                <p class="px-4 py-3 text-muted">{sentence}</p>
                {(!breakdown.is_empty()).then(|| view! { <Breakdown parts=breakdown names=names /> })}
                {(!sample.is_empty())
                    .then(|| {
                        view! {
                            <p class="px-4 py-3 type-label text-faint">
                                "For example "
                                {sample
                                    .into_iter()
                                    .map(|job| {
                                        let short: String = job.to_string().chars().take(8).collect();
                                        view! {
                                            <Link href=format!("/jobs/{job}") class="mr-2 underline">
                                                {format!("{short}…")}
                                            </Link>
                                        }
                                    })
                                    .collect_view()}
                            </p>
                        }
                    })}
            </Card>
            {move || operation.with(|o| (!o.skipped_reasons.is_empty()).then(|| view! { <Skipped operation=o.clone() /> }))}
        </div>
    }
    .into_any()
}

#[component]
fn Related(name: &'static str, id: OperationId) -> impl IntoView {
    let short: String = id.to_string().chars().take(8).collect();
    view! {
        <Fact name=name>
            <Link href=format!("/operations/{id}")>{format!("operation {short}…")}</Link>
        </Fact>
    }
    .into_any()
}
