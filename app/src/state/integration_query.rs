//! The list of integrations in the address: read by the server and the page, written by the page.

use super::page_url::PageUrl;
use model::integration_query::{Group, IntegrationQuery, IntegrationSelection, Only, Order};

/// Reads an address; unknown values count as absent.
pub fn parse(url: &PageUrl) -> IntegrationQuery {
    let value = |name: &str| url.get(name).unwrap_or_default();
    IntegrationQuery {
        text: value("name").to_lowercase(),
        app_id: value("app_id").to_owned(),
        kind: value("type").parse().ok(),
        only: Only::ALL.into_iter().find(|only| value("only") == only.as_str()).unwrap_or_default(),
        order: Order::ALL.into_iter().find(|order| value("sort") == order.as_str()).unwrap_or_default(),
        is_reversed: value("dir") == "reverse",
        group: Group::ALL.into_iter().find(|group| value("group") == group.as_str()),
        page: value("page").parse().ok().filter(|page| (1..=100_000).contains(page)).unwrap_or(1),
    }
}

/// The integrations that the address of a bulk action is for: the selected rows of a form (which has `back`), else all that match.
pub fn selection(url: &PageUrl) -> IntegrationSelection {
    let ids: Vec<_> = url.all("ids[]").into_iter().filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() && url.get("back").is_none() {
        IntegrationSelection::Matching(parse(url))
    } else {
        IntegrationSelection::Ids(ids)
    }
}

/// The address ordered by a column; the same column again reverses the order.
pub fn ordered(query: &IntegrationQuery, here: &PageUrl, by: Order) -> PageUrl {
    let url = here.clone().settled().without("page").without("dir").with("sort", by.as_str());
    if query.order == by && !query.is_reversed { url.with("dir", "reverse") } else { url }
}

/// The label of a filter by state.
pub const fn label(only: Only) -> &'static str {
    match only {
        Only::All => "All",
        Only::Attention => "Need attention",
        Only::Working => "With work",
        Only::Paused => "Paused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{id::IntegrationId, integration::IntegrationType};

    #[test]
    fn an_address_is_read_and_unknown_values_filter_nothing() {
        let url = PageUrl::parse(
            "/integrations?name=ERP&type=rest&only=paused&sort=backlog&dir=reverse&group=app&page=3",
        );
        let query = parse(&url);
        assert_eq!((query.text.as_str(), query.kind), ("erp", Some(IntegrationType::Rest)));
        assert_eq!((query.only, query.order, query.is_reversed), (Only::Paused, Order::Backlog, true));
        assert_eq!((query.group, query.page), (Some(Group::App), 3));
        let nonsense = parse(&PageUrl::parse("/integrations?type=x&only=x&sort=x&group=x&page=0"));
        assert_eq!(nonsense, IntegrationQuery { page: 1, ..IntegrationQuery::default() });
        assert!(!nonsense.narrows());
    }

    #[test]
    fn the_same_column_again_reverses_the_order_and_keeps_the_filter() {
        let here = PageUrl::parse("/integrations?name=erp&page=2&notice=paused");
        let query = parse(&here);
        let once = ordered(&query, &here, Order::Backlog);
        assert_eq!(once.to_string(), "/integrations?name=erp&sort=backlog");
        let twice = ordered(&parse(&once), &once, Order::Backlog);
        assert_eq!(twice.to_string(), "/integrations?name=erp&sort=backlog&dir=reverse");
        let thrice = ordered(&parse(&twice), &twice, Order::Backlog);
        assert_eq!(thrice.to_string(), "/integrations?name=erp&sort=backlog");
    }

    #[test]
    fn a_form_without_selected_rows_selects_nothing() {
        let id = IntegrationId::generate();
        let selected = |address: &str| selection(&PageUrl::parse(address));
        assert_eq!(
            selected(&format!("/integrations?back=%2Fintegrations&ids%5B%5D={id}")),
            IntegrationSelection::Ids(vec![id])
        );
        assert_eq!(selected("/integrations?back=%2Fintegrations"), IntegrationSelection::Ids(Vec::new()));
        let filter = PageUrl::parse("/integrations?name=erp");
        assert_eq!(selection(&filter), IntegrationSelection::Matching(parse(&filter)));
    }
}
