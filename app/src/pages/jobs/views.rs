//! Saved views above the list: pinned ones with their last count, those that alert, the others folded away.

use super::view_form::{EditView, PinOnly, SaveView};
use crate::{
    calls::{saved_views::list_views, session::Session},
    components::AlertPill,
    format,
    state::{clock, form_draft::Draft, page_url::PageUrl, refresh},
    ui::Link,
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::SavedViewId;
use model::rules::permission::Permission;
use model::saved_query::SavedQuery;
use model::saved_view::{SavedView, ViewCount};
use std::time::Duration;

/// The views, and forms for the one that is shown.
#[component]
pub fn Views(
    /// All that the reader may see.
    views: Vec<SavedView>,
    /// The page's address, which carries what was typed into a refused form.
    url: PageUrl,
    reader: Option<Session>,
    /// When the list was loaded.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let newest = refresh::every(Duration::from_secs(10), list_views);
    let now = clock::now_or(as_of);
    let query = SavedQuery::of_parameters(url.pairs());
    let shown = views.iter().find(|view| SavedQuery::is_same(&view.query, &query)).cloned();
    let shown_id = shown.as_ref().map(|view| view.id);
    let is_prominent =
        |view: &SavedView| view.is_pinned || view.alerting_since.is_some() || Some(view.id) == shown_id;
    let (prominent, others): (Vec<_>, Vec<_>) = views.into_iter().partition(is_prominent);
    let chips = move |views: Vec<SavedView>| {
        views
            .into_iter()
            .map(|view| view! { <Chip view=view shown=shown_id newest=newest now=now /> })
            .collect_view()
    };
    let more = format::counted(others.len() as i64, "more view", "more views");
    let may_save = reader.as_ref().is_some_and(|reader| reader.may(Permission::SaveViews));
    let may_change =
        shown.as_ref().zip(reader.as_ref()).is_some_and(|(view, reader)| view.may_be_changed_by(reader.role));
    let draft = Draft::of(&url);
    let back = url.settled();
    let form = match shown {
        Some(view) if may_save && may_change => {
            view! { <EditView view=view draft=draft back=back /> }.into_any()
        }
        Some(view) if may_save => view! { <PinOnly view=view back=back /> }.into_any(),
        None if may_save && !query.is_empty() => {
            view! { <SaveView query=query draft=draft back=back /> }.into_any()
        }
        Some(_) | None => ().into_any(),
    };
    view! {
        <div class="views">
            {(!prominent.is_empty() || !others.is_empty())
                .then(|| {
                    view! {
                        <nav aria-label="Saved views">
                            {(!prominent.is_empty()).then(|| view! { <ul>{chips(prominent)}</ul> })}
                            {(!others.is_empty())
                                .then(|| {
                                    view! {
                                        <details class="fold">
                                            <summary>{more}</summary>
                                            <ul>{chips(others)}</ul>
                                        </details>
                                    }
                                })}
                        </nav>
                    }
                })}
            {form}
        </div>
    }
    .into_any()
}

/// One view: its name, how many jobs match, and whether it alerts.
#[component]
fn Chip(
    view: SavedView,
    shown: Option<SavedViewId>,
    newest: RwSignal<Option<Vec<SavedView>>>,
    now: Signal<DateTime<Utc>>,
) -> impl IntoView {
    let (id, name) = (view.id, view.name.clone());
    let href = if view.query.is_empty() { "/jobs".to_owned() } else { format!("/jobs?{}", view.query) };
    let whose = match (view.is_own, &view.owner_name) {
        (true, _) if view.is_shared => Some("yours, shared".to_owned()),
        (true, _) => Some("private".to_owned()),
        (false, Some(owner)) => Some(format!("by {owner}")),
        (false, None) => None,
    };
    let row = refresh::row(view, move || {
        newest.with(|all| all.as_ref()?.iter().find(|view| view.id == id).cloned())
    });
    let is_alerting = Memo::new(move |_| row.with(|view| view.alerting_since.is_some()));
    let words = move || row.with(|view| in_words(view, now.get()));
    view! {
        <li>
            <Link href=href class="chip" is_current=Signal::stored(Some(id) == shown)>
                <span class="font-[550]">{name}</span>
                {move || {
                    words()
                        .map(|(count, about)| {
                            view! {
                                <span class="tabular-nums font-[650]">{count}</span>
                                <span class="text-muted">{about}</span>
                            }
                        })
                }}
                {move || is_alerting.get().then(|| view! { <AlertPill /> })}
            </Link>
            {whose.map(|whose| view! { <span class="type-caption text-muted">{whose}</span> })}
        </li>
    }
    .into_any()
}

/// The count and its age; `None` for a view that is not counted. A count that is not known yet is `…`, not 0.
fn in_words(view: &SavedView, now: DateTime<Utc>) -> Option<(String, String)> {
    let from =
        view.alert_at.map(|at| format!(", alerts at {}", format::count(at.into()))).unwrap_or_default();
    match view.count {
        Some(ViewCount { at, .. }) => {
            let count = view.count.map(|count| count.at_least().to_string())?;
            Some((count, format!("{}{from}", format::relative(at, now))))
        }
        None if !view.is_pinned && view.alert_at.is_none() => None,
        None if view.is_too_wide => Some(("…".to_owned(), format!("takes too long to count{from}"))),
        None => Some(("…".to_owned(), format!("not counted yet{from}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    #[test]
    fn a_view_that_was_not_counted_is_not_zero() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(1);
        let view = SavedView {
            id: SavedViewId::generate(),
            name: "Stuck".to_owned(),
            query: "status=failed".to_owned(),
            is_shared: false,
            is_own: true,
            owner_name: None,
            is_pinned: true,
            alert_at: None,
            count: None,
            is_too_wide: false,
            alerting_since: None,
            created_at: now,
            updated_at: now,
        };
        let words = |view: &SavedView| in_words(view, now).map(|(count, about)| format!("{count} {about}"));
        assert_eq!(words(&view).as_deref(), Some("… not counted yet"));
        assert_eq!(words(&SavedView { is_pinned: false, ..view.clone() }), None);
        let wide = SavedView { is_too_wide: true, alert_at: Some(2_000), ..view.clone() };
        assert_eq!(words(&wide).as_deref(), Some("… takes too long to count, alerts at 2,000"));
        let count = Some(ViewCount { n: 20_002, is_more: true, at: now - TimeDelta::seconds(4) });
        assert_eq!(words(&SavedView { count, ..view }).as_deref(), Some("10,000+ 4 s ago"));
    }
}
