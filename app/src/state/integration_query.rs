//! Filter, order and grouping of the list of integrations: one type reads the address, for the server and the page.

use super::page_url::PageUrl;
use model::integration::IntegrationType;

/// The filter by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Only {
    #[default]
    All,
    Attention,
    Working,
    Paused,
}

impl Only {
    pub const ALL: [Self; 4] = [Self::All, Self::Attention, Self::Working, Self::Paused];

    /// The value in the address, and the label.
    pub const fn word(self) -> (&'static str, &'static str) {
        match self {
            Self::All => ("", "All"),
            Self::Attention => ("attention", "Need attention"),
            Self::Working => ("working", "With work"),
            Self::Paused => ("paused", "Paused"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    Name,
    #[default]
    State,
    Backlog,
    Eta,
    Accepted,
    Delivered,
    Limit,
    P95,
    Failing,
    Refused,
    Dead,
    Oldest,
}

impl Order {
    /// In the order of the columns.
    pub const ALL: [Self; 12] = [
        Self::Name,
        Self::State,
        Self::Backlog,
        Self::Eta,
        Self::Accepted,
        Self::Delivered,
        Self::Limit,
        Self::P95,
        Self::Failing,
        Self::Refused,
        Self::Dead,
        Self::Oldest,
    ];

    /// The word in the address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::State => "state",
            Self::Backlog => "backlog",
            Self::Eta => "eta",
            Self::Accepted => "in",
            Self::Delivered => "out",
            Self::Limit => "limit",
            Self::P95 => "p95",
            Self::Failing => "failing",
            Self::Refused => "429",
            Self::Dead => "dead",
            Self::Oldest => "oldest",
        }
    }
}

/// What the list is grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    App,
    Type,
}

impl Group {
    /// The word in the address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Type => "type",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntegrationQuery {
    /// Searched in names; lower case.
    pub text: String,
    pub app_id: String,
    pub kind: Option<IntegrationType>,
    pub only: Only,
    pub order: Order,
    /// Names from z to a, numbers from the smallest.
    pub is_reversed: bool,
    pub group: Option<Group>,
    /// From 1.
    pub page: usize,
}

impl IntegrationQuery {
    /// Reads an address; unknown values count as absent.
    pub fn of(url: &PageUrl) -> Self {
        let value = |name: &str| url.get(name).unwrap_or_default();
        Self {
            text: value("name").to_lowercase(),
            app_id: value("app_id").to_owned(),
            kind: value("type").parse().ok(),
            only: Only::ALL.into_iter().find(|only| value("only") == only.word().0).unwrap_or_default(),
            order: Order::ALL.into_iter().find(|order| value("sort") == order.as_str()).unwrap_or_default(),
            is_reversed: value("dir") == "reverse",
            group: [Group::App, Group::Type].into_iter().find(|group| value("group") == group.as_str()),
            page: value("page").parse().ok().filter(|page| (1..=100_000).contains(page)).unwrap_or(1),
        }
    }

    /// Whether it filters anything.
    pub fn narrows(&self) -> bool {
        !self.text.is_empty() || !self.app_id.is_empty() || self.kind.is_some() || self.only != Only::All
    }

    /// The address ordered by a column; the same column again reverses the order.
    pub fn ordered(&self, here: &PageUrl, by: Order) -> PageUrl {
        let url = here.clone().settled().without("page").without("dir").with("sort", by.as_str());
        if self.order == by && !self.is_reversed { url.with("dir", "reverse") } else { url }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_unknown_values_filter_nothing() {
        let url = PageUrl::parse(
            "/integrations?name=ERP&type=rest&only=paused&sort=backlog&dir=reverse&group=app&page=3",
        );
        let query = IntegrationQuery::of(&url);
        assert_eq!((query.text.as_str(), query.kind), ("erp", Some(IntegrationType::Rest)));
        assert_eq!((query.only, query.order, query.is_reversed), (Only::Paused, Order::Backlog, true));
        assert_eq!((query.group, query.page), (Some(Group::App), 3));
        let nonsense =
            IntegrationQuery::of(&PageUrl::parse("/integrations?type=x&only=x&sort=x&group=x&page=0"));
        assert_eq!(nonsense, IntegrationQuery { page: 1, ..IntegrationQuery::default() });
        assert!(!nonsense.narrows());
    }

    #[test]
    fn the_same_column_again_reverses_the_order_and_keeps_the_filter() {
        let here = PageUrl::parse("/integrations?name=erp&page=2&notice=paused");
        let query = IntegrationQuery::of(&here);
        let once = query.ordered(&here, Order::Backlog);
        assert_eq!(once.to_string(), "/integrations?name=erp&sort=backlog");
        let twice = IntegrationQuery::of(&once).ordered(&once, Order::Backlog);
        assert_eq!(twice.to_string(), "/integrations?name=erp&sort=backlog&dir=reverse");
        let thrice = IntegrationQuery::of(&twice).ordered(&twice, Order::Backlog);
        assert_eq!(thrice.to_string(), "/integrations?name=erp&sort=backlog");
    }
}
