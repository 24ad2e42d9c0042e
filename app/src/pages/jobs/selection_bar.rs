//! Actions on selected jobs, or on all that match: the buttons below the list, each with its count.

use super::offered::Offered;
use crate::{
    calls::bulk::Bulk,
    format,
    state::{base_path, page_url::PageUrl, selection::Selection},
    ui::{Button, ButtonKind, FormAction, Glyph, HiddenFields, Link, LinkButton, PostForm},
};
use leptos::{ev::MouseEvent, prelude::*};
use model::matched::{AtLeast, Matched};
use uuid::Uuid;

/// How rows are selected, by the address: `selected=page`, `selected=all`, or one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selected {
    Rows,
    Page,
    All,
}

impl Selected {
    pub(super) fn of(url: &PageUrl) -> Self {
        match url.get("ticked") {
            Some("page") => Self::Page,
            Some("all") => Self::All,
            _ => Self::Rows,
        }
    }
}

/// The bar below the list.
#[component]
pub fn SelectionBar(
    /// The list, without a question in its address.
    here: PageUrl,
    /// Selected rows of all pages.
    selection: Selection,
    /// The page's rows.
    page: StoredValue<Vec<Uuid>>,
    /// How many match; `None` when counting takes too long, or the list is not filtered.
    matched: Option<Matched>,
    /// Whether the list is filtered: all rows of an unfiltered one cannot be selected.
    has_filter: bool,
    /// What to offer for the selected rows.
    of_selected: Memo<Offered>,
    /// What to offer for all that match.
    of_all: Offered,
    bulk: FormAction<Bulk>,
) -> impl IntoView {
    let selected = Selected::of(&here);
    let rows = here.without("ticked");
    let all = rows.clone().without("cursor").with("ticked", "all");
    let select_all = match matched {
        Some(matched) if is_one(matched.all) => "Select the one that matches".to_owned(),
        Some(matched) => format!("Select all {} that match", matched.all),
        None => "Select all that match".to_owned(),
    };
    if selected == Selected::All && has_filter {
        return view! { <AllSelected here=rows matched=matched offered=of_all /> }.into_any();
    }
    let whole_page = rows.clone().with("ticked", "page").to_string();
    let tick_page = move |event: MouseEvent| {
        event.prevent_default();
        page.with_value(|page| selection.set_all(page, true));
    };
    let on_page = page.with_value(Vec::len);
    let says = move || {
        if of_selected.get() == Offered::default() {
            return "These jobs can be neither requeued nor cancelled.".to_owned();
        }
        let elsewhere = page.with_value(|page| selection.elsewhere(page)).len();
        match (selection.len(), elsewhere) {
            (0, _) => "Selected jobs:".to_owned(),
            (n, 0) => format!("{} selected:", format::counted(n as i64, "job", "jobs")),
            (n, m) => format!(
                "{} selected, {} of them on other pages:",
                format::counted(n as i64, "job", "jobs"),
                format::count(m as i64)
            ),
        }
    };
    let elsewhere = move || page.with_value(|page| selection.elsewhere(page));
    let may_requeue = Memo::new(move |_| of_selected.get().requeue);
    let may_cancel = Memo::new(move |_| of_selected.get().cancel);
    view! {
        <PostForm
            action=bulk
            id="chosen"
            class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line"
            hidden=HiddenFields::default()
                .with("subject", "jobs")
                .with("action", "requeue")
                .with("back", rows.to_string())
        >
            <For each=elsewhere key=|id| *id let:id>
                <input type="hidden" name="ids[]" value=id.to_string() />
            </For>
            <span class="type-label text-muted mr-1" aria-live="polite">{says}</span>
            {move || may_requeue.get().then(|| view! { <Button glyph=Glyph::Undo key="r">"Requeue"</Button> })}
            {move || {
                may_cancel
                    .get()
                    .then(|| {
                        view! {
                            <Button
                                kind=ButtonKind::Danger
                                method="get"
                                to=base_path::current().join("/jobs")
                                name="confirm"
                                value="cancel"
                            >
                                "Cancel"
                            </Button>
                        }
                    })
            }}
            <span class="flex flex-wrap gap-2 ml-auto type-label">
                {move || {
                    (!selection.is_empty())
                        .then(|| {
                            view! {
                                <button type="button" class="text-accent hover:underline" on:click=move |_| selection.clear()>
                                    "Clear selection"
                                </button>
                            }
                        })
                }}
                <span on:click=tick_page>
                    <Link href=whole_page keep_scroll=true class="text-accent hover:underline">
                        {format!("Select {}", if on_page == 1 { "the one on this page".to_owned() } else { format!("all {on_page} on this page") })}
                    </Link>
                </span>
                {has_filter
                    .then(|| {
                        view! {
                            <Link href=all.to_string() keep_scroll=true class="text-accent hover:underline">
                                {select_all}
                            </Link>
                        }
                    })}
            </span>
        </PostForm>
    }
    .into_any()
}

fn is_one(n: AtLeast) -> bool {
    n.n == 1 && !n.is_more
}

/// All that match are selected, on every page, including jobs that are created in the meantime.
#[component]
fn AllSelected(here: PageUrl, matched: Option<Matched>, offered: Offered) -> impl IntoView {
    let ask = |action: &str| {
        here.clone().without("cursor").with("ticked", "all").with("confirm", action).to_string()
    };
    let words = |verb: &str, n: Option<String>| n.map_or_else(|| verb.to_owned(), |n| format!("{verb} {n}"));
    let says = match matched {
        Some(matched) if is_one(matched.all) => "The one that matches is selected.".to_owned(),
        Some(matched) => format!("All {} that match are selected, on every page.", matched.all),
        None => "All that match are selected, on every page.".to_owned(),
    };
    // None of those that were counted, although there may be some: then the button has no number.
    let number = |n: AtLeast| (n.n > 0).then(|| n.to_string());
    let requeue = matched.and_then(|matched| number(matched.requeue));
    let cancel = matched.and_then(|matched| number(matched.cancel));
    view! {
        <div class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line">
            <span class="type-label mr-1" aria-live="polite">
                {says}
            </span>
            {offered
                .requeue
                .then(|| {
                    view! {
                        <LinkButton href=ask("requeue") glyph=Glyph::Undo>
                            {words("Requeue", requeue)}
                        </LinkButton>
                    }
                })}
            {offered
                .cancel
                .then(|| {
                    view! {
                        <LinkButton href=ask("cancel") kind=ButtonKind::Danger>
                            {words("Cancel", cancel)}
                        </LinkButton>
                    }
                })}
            <span class="ml-auto type-label">
                <Link href=here.to_string() keep_scroll=true class="text-accent hover:underline">
                    "Select row by row"
                </Link>
            </span>
        </div>
    }
    .into_any()
}
