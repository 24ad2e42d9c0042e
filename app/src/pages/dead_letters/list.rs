//! Dead letters, newest first: filter, select, requeue, purge.

use super::{
    bin::{self, Bin},
    grid::{self, Grid},
    question::Question,
};
use crate::{
    calls::{
        bulk::{Bulk, preview},
        dead_letters::{list_bin, list_dead_letters},
        error::CallError,
    },
    components::{EmptyList, FilterBar, FilterSentence, IntegrationLink, LiveBadge, Loaded, PageHead},
    format,
    state::{base_path, clock, grid_url, page_url, page_url::PageUrl, revision, url_filters},
    ui::{
        Ago, Button, ButtonKind, Card, CheckField, Glyph, HiddenFields, Link, LinkButton, Pagination,
        PostForm, Remount, Table, Tone, data_label,
    },
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::views::{
    bulk::BulkPreview,
    dead_letters::{self, DeadLetterList},
    names::Names,
};
use model::{
    dead_letter::DeadLetter,
    dead_letter_grid::DeadLetterGrid,
    operation::{BulkAction, BulkSubject},
    rules::permission::Permission,
};
use serde::{Deserialize, Serialize};

#[component]
pub fn DeadLettersPage() -> impl IntoView {
    let url = page_url::current();
    let revision = revision::current();
    let page = Resource::new_blocking(
        move || {
            let action = url.with(|url| url.get("confirm").and_then(|word| word.parse::<BulkAction>().ok()));
            (action, url.get().query(), revision.get())
        },
        |(action, query, _)| async move {
            if PageUrl::parse(&format!("/?{query}")).get("show") == Some(bin::SHOWN) {
                return list_bin(query).await.map(Shown::Bin);
            }
            let question = match action {
                Some(action) => {
                    Some((action, preview(BulkSubject::DeadLetters, action, query.clone()).await))
                }
                None => None,
            };
            list_dead_letters(query).await.map(|list| Shown::List(Box::new(list), question))
        },
    );
    view! {
        <Loaded
            title="Dead letters"
            data=page
            show=move |shown, reader| {
                let may = move |permission| reader.as_ref().is_some_and(|r| r.may(permission));
                let rights = Rights { steer: may(Permission::SteerJobs), purge: may(Permission::Purge) };
                let here = url.get_untracked();
                match shown {
                    Shown::Bin(bin) => view! { <Bin bin=bin url=here may_steer=rights.steer /> }.into_any(),
                    Shown::List(list, question) => view! {
                        <Content list=*list url=here.clone() rights=rights />
                        {question.map(|(action, answer)| view! { <Question action=action answer=answer url=here /> })}
                    }
                        .into_any(),
                }
            }
        />
    }
    .into_any()
}

/// The list, or the bin.
#[derive(Clone, Serialize, Deserialize)]
enum Shown {
    List(Box<DeadLetterList>, Option<(BulkAction, Result<BulkPreview, CallError>)>),
    Bin(dead_letters::Bin),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rights {
    steer: bool,
    purge: bool,
}

#[component]
fn Content(list: DeadLetterList, url: PageUrl, rights: Rights) -> impl IntoView {
    let DeadLetterList { page, grid, names, choices, as_of } = list;
    let now = clock::now_or(as_of);
    let settled = url.clone().settled();
    let has_filter = !url_filters::active(&url).is_empty();
    let is_empty = page.items.is_empty();
    // Filters that no index serves: none found among those searched so far.
    let has_more = is_empty && page.next_cursor.is_some();
    let no_match = if has_more {
        ("None found so far", "No index serves these filters: search on with the link below, or add filters.")
    } else {
        ("No dead letter matches these filters", "There may be others: clear the filters to see all.")
    };
    let older = page.next_cursor.clone().map(|cursor| settled.clone().with("cursor", cursor).to_string());
    let newest = url.get("cursor").map(|_| settled.clone().without("cursor").to_string());
    let matched = grid.as_ref().map(|grid| grid::number(grid.total, grid.is_least));
    let shown = match matched {
        Some(matched) => format!("{} of {matched} shown", format::count(page.items.len() as i64)),
        None => format::counted(page.items.len() as i64, "dead letter shown", "dead letters shown"),
    };
    let ask = |action: &str| settled.clone().with("confirm", action).to_string();
    let (requeue_all, purge_all) = (ask("requeue"), ask("purge"));
    let headline = headline(if is_empty { None } else { grid.as_ref() }, has_filter);
    let grid = grid.filter(DeadLetterGrid::is_worth_showing);
    // A change of filters starts the grid from its first page.
    let filtered = grid_url::first_page(&url);
    let export = export_of(&url);
    let all = if has_filter { "all that match" } else { "all" };
    view! {
        <PageHead title="Dead letters" headline=headline>
            <LiveBadge as_of=as_of />
            <LinkButton href="/dead-letters?show=bin" kind=ButtonKind::Quiet glyph=Glyph::Trash>
                "Bin"
            </LinkButton>
            {(!is_empty)
                .then(|| {
                    view! {
                        // `external`: it is a file, and the router must not look for a page at that address.
                        <a href=export rel="external" download="dead-letters.csv" class="underline type-label">
                            "Export CSV"
                        </a>
                    }
                })}
            {(rights.steer && !is_empty)
                .then(|| view! { <LinkButton href=requeue_all glyph=Glyph::Undo>{format!("Requeue {all}")}</LinkButton> })}
            {(rights.purge && !is_empty)
                .then(|| {
                    view! {
                        <LinkButton href=purge_all kind=ButtonKind::Danger glyph=Glyph::Trash>
                            {format!("Purge {all}")}
                        </LinkButton>
                    }
                })}
        </PageHead>
        <div class="stack">
            {grid.map(|grid| view! { <Grid grid=grid names=names.clone() url=url.clone() /> })}
            <Card title="List" sub="newest first, each kept until it is requeued or purged">
                <FilterBar url=filtered.clone() path="/dead-letters" choices=choices names=names.clone() />
                <FilterSentence url=filtered noun="dead letters" names=names.clone() />
                {if is_empty {
                    view! {
                        <EmptyList
                            clear=has_filter.then(|| url_filters::cleared(&url).to_string())
                            no_match=no_match
                            glyph=Glyph::Check
                            tone=Tone::Delivered
                            nothing=("No dead letters", "Every job was delivered, waits for its first attempt, or will be retried.")
                        />
                    }
                        .into_any()
                } else {
                    let rows = move || {
                        page.items
                            .iter()
                            .cloned()
                            .map(|letter| view! { <Row names=names.clone() letter=letter now=now rights=rights /> })
                            .collect_view()
                    };
                    view! {
                        <Table label="Dead letters" stacks=true head=move || head(rights)>
                            <Remount key=as_of>{rows.clone()}</Remount>
                        </Table>
                        <SelectedActions rights=rights back=settled.to_string() />
                    }
                        .into_any()
                }}
                {(!is_empty || has_more || newest.is_some()).then(|| view! { <Pagination newest=newest older=older shown=shown /> })}
            </Card>
        </div>
    }
    .into_any()
}

/// How many there are, and what to do.
fn headline(grid: Option<&DeadLetterGrid>, has_filter: bool) -> String {
    let Some(grid) = grid else { return "Jobs that will not be tried again by themselves.".to_owned() };
    let n = grid::number(grid.total, grid.is_least);
    let letters = if grid.total == 1 { "dead letter" } else { "dead letters" };
    let causes = format::counted(grid.causes_total, "cause", "causes");
    if has_filter {
        format!("**{n} {letters}** with these filters, of **{causes}**")
    } else {
        format!("**{n} {letters}** of **{causes}**: fix the cause, then requeue")
    }
}

/// The same list as a CSV file.
fn export_of(url: &PageUrl) -> String {
    let file = url_filters::active(url)
        .into_iter()
        .fold(PageUrl::parse("/api/v1/dead-letters/export"), |file, (name, value)| file.with(&name, value));
    base_path::current().join(&file.to_string())
}

fn head(rights: Rights) -> impl IntoView {
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
fn Row(letter: DeadLetter, names: Names, now: Signal<DateTime<Utc>>, rights: Rights) -> impl IntoView {
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

/// Actions on selected rows. Purging leads to its question with a GET, so that the question has an address and a count.
#[component]
fn SelectedActions(rights: Rights, back: String) -> impl IntoView {
    let bulk = ServerAction::<Bulk>::new();
    let hidden =
        HiddenFields::default().with("subject", "dead_letters").with("action", "requeue").with("back", back);
    rights.steer.then(|| {
        view! {
            <PostForm
                action=bulk
                id="chosen"
                class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line"
                hidden=hidden
            >
                <span class="type-label text-muted mr-1">"Selected:"</span>
                <Button glyph=Glyph::Undo key="r">"Requeue"</Button>
                {rights
                    .purge
                    .then(|| {
                        view! {
                            <Button
                                kind=ButtonKind::Danger
                                glyph=Glyph::Trash
                                method="get"
                                to=base_path::current().join("/dead-letters")
                                name="confirm"
                                value="purge"
                            >
                                "Purge"
                            </Button>
                        }
                    })}
            </PostForm>
        }
    })
}
