//! Who did what, when, from where, and what it was before; a line can be undone or repeated.

mod filters;
mod line;

use self::{filters::Filters, line::Line};
use crate::calls::audit::list_audit_log;
use crate::components::page_table::ConsolePage;
use crate::components::{EmptyList, LiveBadge, Loaded, NewerRows, PageHead};
use crate::format;
use crate::state::audit_filters::{cleared, is_narrowed};
use crate::state::page_url::{self, PageUrl};
use crate::state::{clock, refresh, revision};
use crate::ui::{Glyph, ListCard, PageLinks, Table};
use leptos::prelude::*;
use model::views::audit::AuditList;
use std::time::Duration;

#[component]
pub fn AuditLogPage() -> impl IntoView {
    let url = page_url::current();
    let list = revision::page_data(move || url.get().settled().query(), list_audit_log);
    view! {
        <Loaded
            title=ConsolePage::AuditLog.title()
            data=list
            show=move |list, _| view! { <Content list=list url=url.get_untracked() /> }.into_any()
        />
    }
    .into_any()
}

#[component]
fn Content(list: AuditList, url: PageUrl) -> impl IntoView {
    let AuditList { page, labels, as_of } = list;
    let now = clock::now_or(as_of);
    let settled = url.settled();
    let query = settled.query();
    let newer = refresh::every(Duration::from_secs(5), move || list_audit_log(query.clone()));
    let ids = |list: &AuditList| list.page.items.iter().map(|line| line.entry.id).collect::<Vec<_>>();
    let came = refresh::came(newer, page.items.first().map(|line| line.entry.id), ids);
    let shown = format::counted(page.items.len() as i64, "entry shown", "entries shown");
    let pages = PageLinks::by_cursor(&settled, page.next_cursor.as_deref(), shown);
    let is_empty = page.items.is_empty();
    // Filters that no index serves: none found among the lines searched so far.
    let no_match = if is_empty && page.next_cursor.is_some() {
        ("Nothing found yet", "No index covers these filters. Search on with the link below, or add filters.")
    } else {
        ("No entries match these filters", "Times are UTC; names must match exactly.")
    };
    let reload = settled.to_string();
    let back = reload.clone();
    let clear = is_narrowed(&settled).then(|| cleared(&settled).to_string());
    let filtered = settled.clone();
    let head = || {
        view! {
            <th scope="col">"When"</th>
            <th scope="col">"Who"</th>
            <th scope="col" class="grow">"What"</th>
            <th scope="col">"From"</th>
            <th scope="col"><span class="sr-only">"Actions"</span></th>
        }
    };
    view! {
        <PageHead title=ConsolePage::AuditLog.title() headline="Every change by people and API keys, with before and after. Entries are never changed; see Settings for retention.">
            <LiveBadge as_of=as_of />
        </PageHead>
        <ListCard
            title="Entries"
            sub="newest first"
            toolbar=move || {
                view! {
                    <Filters url=filtered />
                    <NewerRows count=came href=reload />
                }
            }
            is_empty=is_empty
            empty=move || {
                view! {
                    <EmptyList
                        clear=clear
                        no_match=no_match
                        glyph=Glyph::List
                        nothing=("Nothing yet", "Sign-ins and changes are listed here.")
                    />
                }
            }
            pages=pages
        >
            <Table label="Audit log" stacks=true head=head>
                {page
                    .items
                    .into_iter()
                    .map(|line| view! { <Line line=line labels=labels.clone() url=settled.clone() now=now back=back.clone() /> })
                    .collect_view()}
            </Table>
        </ListCard>
    }
    .into_any()
}
