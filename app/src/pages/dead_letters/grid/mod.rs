//! Dead letters counted by integration and cause. A name leads to its page, a number to the list of just those.

mod links;

use self::links::{Links, line};
use crate::format;
use crate::state::grid_url;
use crate::state::page_url::PageUrl;
use crate::ui::{Card, Link, Table, Tone};
use leptos::prelude::*;
use model::views::names::Names;
use model::{dead_letter_grid::DeadLetterGrid, matched::AtLeast};

/// The grid, worst integration and most frequent cause first.
#[component]
pub fn Grid(
    grid: DeadLetterGrid,
    /// Names of the integrations.
    names: Names,
    url: PageUrl,
) -> impl IntoView {
    let links = Links { here: url.settled(), is_least: grid.is_least };
    let sub = if grid.is_least {
        "of the newest; click a number to list them".to_owned()
    } else {
        "click a number to list them".to_owned()
    };
    let others = grid.other_integrations();
    let has_others = others.iter().sum::<i64>() > 0;
    let has_other_causes = grid.other_causes() > 0;
    let other_integrations = grid.integrations_total - grid.rows.len() as i64;
    let other_causes = grid.causes_total - grid.causes.len() as i64;
    let next_integrations = links.next(grid_url::INTEGRATIONS, grid.next_integrations);
    let next_causes = links.next(grid_url::CAUSES, grid.next_causes);
    let darkest = grid.rows.iter().flat_map(|row| row.counts.iter().copied()).max().unwrap_or_default();
    let head = {
        let (links, causes) = (links.clone(), grid.causes.clone());
        move || {
            view! {
                <th scope="col">"Integration"</th>
                {causes.iter().map(|cause| links.column(cause)).collect_view()}
                {has_other_causes
                    .then(|| {
                        let words = format::counted(other_causes, "other cause", "other causes");
                        view! {
                            <th scope="col" class="n">
                                <Link href=next_causes.clone() keep_scroll=true class="underline">
                                    {words}
                                </Link>
                            </th>
                        }
                    })}
                <th scope="col" class="n">"All"</th>
            }
        }
    };
    let rows = grid
        .rows
        .iter()
        .map(|row| links.row(row, &grid.causes, names.clone(), darkest, has_other_causes))
        .collect_view();
    let rest = has_others.then(|| {
        let words = format::counted(other_integrations, "other integration", "other integrations");
        let shown = grid.causes.len();
        let all: i64 = others.iter().sum();
        let cells = others
            .into_iter()
            .take(shown + usize::from(has_other_causes))
            .map(|n| view! { <td class="n text-muted">{links.number(n)}</td> })
            .collect_view();
        view! {
            <tr>
                <th scope="row">
                    <Link href=next_integrations keep_scroll=true class="underline">
                        {words}
                    </Link>
                </th>
                {cells}
                <td class="n text-muted">{links.number(all)}</td>
            </tr>
        }
    });
    let totals = grid
        .causes
        .iter()
        .map(|cause| {
            let says = format!("{} of {}, all integrations", links.letters(cause.total), line(cause));
            view! { <td class="n">{links.to(links.list(None, Some(cause.cause)), cause.total, says)}</td> }
        })
        .collect_view();
    let other_total = links.number(grid.other_causes());
    let all = links.number(grid.total);
    view! {
        <Card title="By integration and cause" sub=sub>
            <div class=format!("crosstab {}", Tone::Failed.class())>
                <Table label="Dead letters by integration and cause" head=head>
                    {rows}
                    {rest}
                    <tr class="total">
                        <th scope="row">"All integrations"</th>
                        {totals}
                        {has_other_causes.then(|| view! { <td class="n text-muted">{other_total}</td> })}
                        <td class="n">{all}</td>
                    </tr>
                </Table>
            </div>
        </Card>
    }
    .into_any()
}

/// Where only the newest were counted, a number is a lower bound.
pub fn number(n: i64, is_least: bool) -> String {
    if is_least && n > 0 { AtLeast { n, is_more: true }.to_string() } else { format::count(n) }
}
