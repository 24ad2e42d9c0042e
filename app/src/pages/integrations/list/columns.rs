//! The columns of the list of integrations. Each sorts.

use crate::state::integration_query;
use crate::state::page_url::PageUrl;
use crate::ui::Link;
use leptos::prelude::*;
use model::integration_query::{IntegrationQuery, Order};

/// Columns sort; clicking the sorted one again reverses the order.
pub fn columns(query: &IntegrationQuery, here: &PageUrl, may_select: bool) -> impl IntoView + use<> {
    let column = |order: Order| {
        let (label, title, is_number) = words(order);
        let sorted = (query.order == order).then_some(match (order == Order::Name, query.is_reversed) {
            (true, false) | (false, true) => "ascending",
            (true, true) | (false, false) => "descending",
        });
        let mark = match sorted {
            Some("ascending") => " ↑",
            Some(_) => " ↓",
            None => "",
        };
        let href = integration_query::ordered(query, here, order).to_string();
        view! {
            <th scope="col" class=if is_number { "n" } else { "" } aria-sort=sorted title=title>
                <Link href=href keep_scroll=true class="hover:text-ink">
                    {label}
                    <span aria-hidden="true">{mark}</span>
                </Link>
            </th>
        }
    };
    view! {
        {may_select
            .then(|| {
                view! {
                    <th scope="col">
                        <span class="sr-only">"Select"</span>
                    </th>
                }
            })}
        {Order::ALL.map(column).into_iter().collect_view()}
    }
}

/// A column's label, tooltip, and whether it has numbers.
const fn words(order: Order) -> (&'static str, &'static str, bool) {
    match order {
        Order::Name => ("Integration", "By name", false),
        Order::State => ("State", "Worst first", false),
        Order::Backlog => ("Backlog", "Pending jobs, now and over the last hour", true),
        Order::Eta => ("Clears in", "Until the backlog is empty; ≥: bound by the rate limit", true),
        Order::Accepted => ("In / min", "Jobs accepted in the last minute, estimated", true),
        Order::Delivered => ("Out / min", "Jobs completed in the last minute", true),
        Order::Limit => ("Limit", "Use of the tightest rate limit", false),
        Order::P95 => ("p95", "95th percentile of attempt duration, last 5 minutes", true),
        Order::Failing => ("Failing", "Share of failed attempts, last minute", true),
        Order::Refused => ("429", "Share of 429 responses, last 5 minutes", true),
        Order::Dead => ("Dead", "Dead letters", true),
        Order::Oldest => ("Oldest", "Age of the oldest claimable job", true),
    }
}
