//! Links to the pages a role may open, some with a number.

use crate::calls::session::Session;
use crate::components::page_table::{ConsolePage, Group};
use crate::format;
use crate::state::page_url;
use crate::ui::{Icon, Link};
use leptos::prelude::*;
use model::{rules::permission::Permission, views::overview::NavCounts};

#[component]
pub fn Navigation(
    counts: Memo<NavCounts>,
    /// `None`: without one, pages that every role of the console may open.
    session: Option<Session>,
) -> impl IntoView {
    let may = |needed| {
        needed == Permission::OpenConsole || session.as_ref().is_some_and(|session| session.may(needed))
    };
    Group::ALL
        .into_iter()
        .filter_map(|group| {
            let shown: Vec<_> = group.pages().filter(|page| may(page.permission())).collect();
            (!shown.is_empty()).then(|| {
                let entries = shown.into_iter().map(|page| view! { <Entry page=page counts=counts /> });
                view! {
                    {group.heading().map(|heading| view! { <h2>{heading}</h2> })}
                    <ul>{entries.collect_view()}</ul>
                }
            })
        })
        .collect_view()
        .into_any()
}

/// The number next to a page's link.
#[derive(Clone, Copy)]
struct Count {
    read: fn(NavCounts) -> i64,
    /// It should be zero.
    is_hot: bool,
    /// From here on it is shown as `n+`.
    max: i64,
}

impl Count {
    fn of(page: ConsolePage) -> Option<Self> {
        let (read, is_hot, max): (fn(NavCounts) -> i64, _, _) = match page {
            ConsolePage::Integrations => (|n| n.integrations, false, i64::MAX),
            ConsolePage::Workers => (|n| n.workers, false, i64::MAX),
            ConsolePage::Failures => (|n| n.failures, true, model::failure::MAX_COUNTED_GROUPS),
            ConsolePage::DeadLetters => (|n| n.dead_letters, true, i64::MAX),
            _ => return None,
        };
        Some(Self { read, is_hot, max })
    }
}

#[component]
fn Entry(page: ConsolePage, counts: Memo<NavCounts>) -> impl IntoView {
    let url = page_url::current();
    let href = page.path();
    let count = Count::of(page);
    let is_current = Memo::new(move |_| {
        let here = url.with(|url| url.path().to_owned());
        here == href || (href != "/" && here.strip_prefix(href).is_some_and(|rest| rest.starts_with('/')))
    });
    view! {
        <li>
            <Link href=href class="nav" is_current=is_current>
                <Icon glyph=page.glyph() size="w-[15px] h-[15px]" />
                {page.title()}
                {move || {
                    let Count { read, is_hot, max } = count?;
                    let n = read(counts.get());
                    (n > 0)
                        .then(|| {
                            view! {
                                <span class=if is_hot { "count hot" } else { "count" }>{format::up_to(n, max)}</span>
                            }
                        })
                }}
            </Link>
        </li>
    }
    .into_any()
}
