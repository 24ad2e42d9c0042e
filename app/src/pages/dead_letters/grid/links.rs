//! The cells of the grid: each number is a link to what it counts.

use super::number;
use crate::components::IntegrationLink;
use crate::state::grid_url;
use crate::state::page_url::PageUrl;
use crate::ui::Link;
use leptos::prelude::*;
use model::dead_letter_grid::{GridCause, GridRow};
use model::failure::CauseId;
use model::id::IntegrationId;
use model::rules::plain_cause;
use model::views::names::Names;

/// Links of the grid, and how its numbers are written.
#[derive(Clone)]
pub struct Links {
    pub here: PageUrl,
    /// Only the newest were counted.
    pub is_least: bool,
}

impl Links {
    pub fn number(&self, n: i64) -> String {
        number(n, self.is_least)
    }

    pub fn letters(&self, n: i64) -> String {
        format!("{} {}", self.number(n), if n == 1 { "dead letter" } else { "dead letters" })
    }

    /// The filtered list of dead letters.
    pub fn list(&self, integration: Option<IntegrationId>, cause: Option<CauseId>) -> String {
        let list = grid_url::first_page(&self.here);
        let list = integration.map_or(list.clone(), |id| list.with("integration_id", id));
        cause.map_or(list.clone(), |cause| list.with("fingerprint", cause)).to_string()
    }

    /// The next ones by rank; after the last, the first ones again.
    pub fn next<T: std::fmt::Display>(&self, name: &str, rank: Option<T>) -> String {
        let here = self.here.clone().without("cursor");
        rank.map_or(here.clone().without(name), |rank| here.with(name, rank)).to_string()
    }

    pub fn to(&self, href: String, n: i64, says: String) -> AnyView {
        let number = self.number(n);
        view! {
            <Link href=href says=says class="hover:underline">
                {number}
            </Link>
        }
        .into_any()
    }

    pub fn column(&self, cause: &GridCause) -> AnyView {
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

    pub fn row(
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

/// The cause for the head of a column.
pub fn line(cause: &GridCause) -> String {
    plain_cause::short(&cause.error, None)
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
