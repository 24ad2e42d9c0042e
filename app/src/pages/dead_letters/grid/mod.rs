//! Dead letters counted by integration and cause. A name leads to its page, a number to the list of just those.

mod links;

use self::links::{Links, line};
use crate::format;
use crate::state::grid_url;
use crate::state::page_url::PageUrl;
use crate::ui::{Card, Link, Table, Tone};
use leptos::prelude::*;
use model::dead_letter_grid::{DeadLetterGrid, GridRow};
use model::matched::AtLeast;
use model::views::names::Names;

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

/// The newer grid, with rows and columns where they are on screen, so that numbers do not move under the pointer; new ones come last.
pub fn in_the_order_of(shown: &DeadLetterGrid, newer: DeadLetterGrid) -> DeadLetterGrid {
    let place = |at: Option<usize>| at.unwrap_or(usize::MAX);
    let mut columns: Vec<usize> = (0..newer.causes.len()).collect();
    columns.sort_by_key(|at| {
        place(shown.causes.iter().position(|cause| cause.cause == newer.causes[*at].cause))
    });
    let causes = columns.iter().map(|at| newer.causes[*at].clone()).collect();
    let reordered = |row: &GridRow| GridRow {
        counts: columns.iter().map(|at| row.counts.get(*at).copied().unwrap_or_default()).collect(),
        ..row.clone()
    };
    let mut rows: Vec<GridRow> = newer.rows.iter().map(reordered).collect();
    rows.sort_by_key(|row| place(shown.rows.iter().position(|own| own.integration_id == row.integration_id)));
    DeadLetterGrid { causes, rows, ..newer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::dead_letter_grid::GridCause;
    use model::{failure::CauseId, id::IntegrationId};

    #[test]
    fn rows_and_columns_stay_where_they_are_and_new_ones_come_last() {
        let (one, other, new) =
            (IntegrationId::generate(), IntegrationId::generate(), IntegrationId::generate());
        let grid = |causes: &[u64], rows: &[(IntegrationId, &[i64])]| DeadLetterGrid {
            causes: causes
                .iter()
                .map(|id| GridCause { cause: CauseId(*id), error: String::new(), total: 0 })
                .collect(),
            rows: rows
                .iter()
                .map(|(id, counts)| GridRow { integration_id: *id, total: 0, counts: counts.to_vec() })
                .collect(),
            ..DeadLetterGrid::default()
        };
        let shown = grid(&[1, 2], &[(one, &[5, 3]), (other, &[4, 2])]);
        let newer = grid(&[3, 2, 1], &[(new, &[9, 0, 0]), (other, &[0, 2, 8]), (one, &[0, 3, 5])]);
        let placed = grid(&[1, 2, 3], &[(one, &[5, 3, 0]), (other, &[8, 2, 0]), (new, &[0, 0, 9])]);
        assert_eq!(in_the_order_of(&shown, newer), placed);
    }
}
