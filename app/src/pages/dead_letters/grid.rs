//! Dead letters counted by integration and cause. A name leads to its page, a number to the list of just those.

use crate::{
    components::IntegrationLink,
    format,
    state::{grid_url, page_url::PageUrl},
    ui::{Card, Link, Table, Tone},
};
use leptos::prelude::*;
use model::views::names::Names;
use model::{
    dead_letter_grid::{DeadLetterGrid, GridCause, GridRow},
    failure::CauseId,
    id::IntegrationId,
    matched::AtLeast,
};

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

/// Links of the grid, and how its numbers are written.
#[derive(Clone)]
struct Links {
    here: PageUrl,
    is_least: bool,
}

impl Links {
    fn number(&self, n: i64) -> String {
        number(n, self.is_least)
    }

    fn letters(&self, n: i64) -> String {
        format!("{} {}", self.number(n), if n == 1 { "dead letter" } else { "dead letters" })
    }

    /// The filtered list of dead letters.
    fn list(&self, integration: Option<IntegrationId>, cause: Option<CauseId>) -> String {
        let list = grid_url::first_page(&self.here);
        let list = integration.map_or(list.clone(), |id| list.with("integration_id", id));
        cause.map_or(list.clone(), |cause| list.with("fingerprint", cause)).to_string()
    }

    /// The next ones by rank; after the last, the first ones again.
    fn next<T: std::fmt::Display>(&self, name: &str, rank: Option<T>) -> String {
        let here = self.here.clone().without("cursor");
        rank.map_or(here.clone().without(name), |rank| here.with(name, rank)).to_string()
    }

    fn to(&self, href: String, n: i64, says: String) -> AnyView {
        let number = self.number(n);
        view! {
            <Link href=href says=says class="hover:underline">
                {number}
            </Link>
        }
        .into_any()
    }

    fn column(&self, cause: &GridCause) -> AnyView {
        let group = PageUrl::parse("/failures").with("group", cause.cause);
        let group =
            ["app_id", "integration_id"].into_iter().fold(group, |group, name| match self.here.get(name) {
                Some(value) => group.with(name, value),
                None => group,
            });
        let words = line(cause);
        view! {
            <th scope="col" class="n" title=cause.error.clone()>
                <Link href=group.to_string() class="cause hover:underline">
                    {words}
                </Link>
            </th>
        }
        .into_any()
    }

    fn row(
        &self,
        row: &GridRow,
        causes: &[GridCause],
        names: Names,
        darkest: i64,
        has_other_causes: bool,
    ) -> AnyView {
        let id = row.integration_id;
        let name = names.of(id).map_or_else(|| "a deleted integration".to_owned(), |name| name.name.clone());
        let cells = row
            .counts
            .iter()
            .zip(causes)
            .map(|(n, cause)| {
                if *n == 0 {
                    return view! { <td class="n zero">"0"</td> }.into_any();
                }
                let says = format!("{} of {name}: {}", self.letters(*n), line(cause));
                let link = self.to(self.list(Some(id), Some(cause.cause)), *n, says);
                view! { <td class=format!("n {}", shade(*n, darkest))>{link}</td> }.into_any()
            })
            .collect_view();
        let others = self.number(row.others());
        let all =
            self.to(self.list(Some(id), None), row.total, format!("{} of {name}", self.letters(row.total)));
        view! {
            <tr>
                <th scope="row">
                    <IntegrationLink id=id names=names />
                </th>
                {cells}
                {has_other_causes.then(|| view! { <td class="n text-muted">{others}</td> })}
                <td class="n font-semibold">{all}</td>
            </tr>
        }
        .into_any()
    }
}

/// The first line of the error, short enough for the head of a column.
fn line(cause: &GridCause) -> String {
    const MAX_CHARS: usize = 60;
    let line = format::error_line(&cause.error);
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "no error recorded".to_owned(),
        None => line.to_owned(),
    }
}

/// Four shades on a logarithmic scale, so that a few are still seen next to thousands.
fn shade(n: i64, darkest: i64) -> &'static str {
    let size = |n: i64| ((n.max(0) + 1) as f64).ln();
    match size(n) / size(darkest.max(1)) {
        ..0.4 => "shade-1",
        0.4..0.6 => "shade-2",
        0.6..0.8 => "shade-3",
        _ => "shade-4",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_still_seen_next_to_thousands() {
        let shades: Vec<_> = [1, 30, 300, 9_000].into_iter().map(|n| shade(n, 9_000)).collect();
        assert_eq!(shades, ["shade-1", "shade-1", "shade-3", "shade-4"]);
        assert_eq!(shade(1, 1), "shade-4");
    }

    #[test]
    fn a_number_leads_to_the_first_page_of_just_those() {
        let here = PageUrl::parse("/dead-letters?app_id=a&cursor=c&causes_after=3.00000000000000ff&error=x");
        let links = Links { here, is_least: false };
        assert_eq!(
            links.list(None, Some(CauseId(255))),
            "/dead-letters?app_id=a&error=x&fingerprint=00000000000000ff"
        );
        assert_eq!(links.next(grid_url::CAUSES, None::<i64>), "/dead-letters?app_id=a&error=x");
        assert_eq!(links.number(0), "0");
        assert_eq!(Links { is_least: true, ..links }.number(12), "12+");
    }
}
