//! What was typed into a form and refused, carried by the address: of a user, a key, a saved view, a re-sync, a breaker. A password or a key never is.

use super::page_url::PageUrl;
use serde::{Deserialize, Serialize};

/// What was wrong with it: a word, never free text, so that no crafted link can put words into our mouth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DraftFault {
    /// No address.
    Email,
    /// It is somebody's.
    EmailTaken,
    /// Empty, or too long.
    Name,
    /// Too short, too long, or one that everybody tries first.
    Password,
    /// The role needs an app, or is for all of them.
    App,
    /// Nobody could administer any more.
    LastOperator,
    /// A saved view's: empty, or too long.
    ViewName,
    /// Another view of the same owner has it.
    ViewTaken,
    /// No number, or one that is not counted to.
    ViewAlert,
    /// What it narrows to needs another filter.
    ViewQuery,
    /// It asks for a value that is masked.
    ViewMasked,
    /// As many are pinned as may be.
    ViewPins,
    /// As many are shared as may be.
    ViewShared,
    /// Nobody would see it.
    ViewOfNobody,
    /// A re-sync's: the integration takes no such records.
    RecordType,
    /// A held breaker's: over, or too far off.
    Until,
    /// There are as many as may be.
    ViewMany,
}

impl DraftFault {
    const ALL: [Self; 17] = [
        Self::Email,
        Self::EmailTaken,
        Self::Name,
        Self::Password,
        Self::App,
        Self::LastOperator,
        Self::ViewName,
        Self::ViewTaken,
        Self::ViewAlert,
        Self::ViewQuery,
        Self::ViewMasked,
        Self::ViewPins,
        Self::ViewShared,
        Self::ViewOfNobody,
        Self::RecordType,
        Self::Until,
        Self::ViewMany,
    ];

    /// The word in the address.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::EmailTaken => "email-taken",
            Self::Name => "name",
            Self::Password => "password",
            Self::App => "app",
            Self::LastOperator => "last-operator",
            Self::ViewName => "view-name",
            Self::ViewTaken => "view-taken",
            Self::ViewAlert => "view-alert",
            Self::ViewQuery => "view-query",
            Self::ViewMasked => "view-masked",
            Self::ViewPins => "view-pins",
            Self::ViewShared => "view-shared",
            Self::ViewOfNobody => "view-of-nobody",
            Self::RecordType => "record-type",
            Self::Until => "until",
            Self::ViewMany => "view-many",
        }
    }

    /// The field it stands at.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Email | Self::EmailTaken => "email",
            Self::Name => "name",
            Self::Password => "password",
            Self::App => "app_id",
            Self::LastOperator => "role",
            Self::RecordType => "record_type",
            Self::Until => "until",
            Self::ViewName | Self::ViewTaken => "view_name",
            Self::ViewAlert => "alert_at",
            Self::ViewQuery
            | Self::ViewMasked
            | Self::ViewPins
            | Self::ViewShared
            | Self::ViewOfNobody
            | Self::ViewMany => "view",
        }
    }

    /// In words, with what to do.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Email => "must be an e-mail address of up to 254 characters",
            Self::EmailTaken => "belongs to another user already",
            Self::Name => "must be 1 to 200 characters",
            Self::Password => "must be 8 to 128 characters, none of the most common ones, not the address",
            Self::App => {
                "producer and portal keys belong to one app; operator, support and auditor keys to none"
            }
            Self::LastOperator => "this is the last operator: make another one first",
            Self::ViewName => "must be 1 to 80 characters",
            Self::ViewTaken => "is the name of another view of its owner: choose another one",
            Self::ViewAlert => "must be a whole number from 1 to 10,000, or empty: it never alerts then",
            Self::ViewQuery => {
                "These filters cannot be listed: put another one beside them first, such as an integration."
            }
            Self::ViewMasked => {
                "One of these filters asks for a value of the payload that is masked, which no view keeps: take it out first."
            }
            Self::ViewPins => "12 views are pinned already: unpin one first, or save this one without a pin.",
            Self::ViewShared => {
                "There are 200 shared views already: delete one first, or keep this one private."
            }
            Self::ViewOfNobody => "Nobody owns this view, so nobody would see it: it has to stay shared.",
            Self::RecordType => "is none that this integration takes",
            Self::Until => "must lie in the future, at most 30 days from now",
            Self::ViewMany => "There are 50 views of yours already: delete one first.",
        }
    }

    /// The fault at a field of the API.
    pub fn at(pointer: &str) -> Option<Self> {
        match pointer {
            "/email" => Some(Self::Email),
            "/name" => Some(Self::Name),
            "/password" => Some(Self::Password),
            "/app_id" => Some(Self::App),
            "/record_type" => Some(Self::RecordType),
            "/until" => Some(Self::Until),
            _ => None,
        }
    }
}

/// The fields of a refused form, and its faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft(PageUrl);

impl Draft {
    /// What the address carries.
    pub fn of(url: &PageUrl) -> Self {
        Self(url.clone())
    }

    /// The address with what was typed and what is wrong with it.
    pub fn on(url: PageUrl, typed: &[(&str, &str)], faults: &[DraftFault]) -> PageUrl {
        let url = typed.iter().fold(url, |url, (name, value)| url.with(&key(name), value));
        // An address keeps no empty values.
        let emptied: Vec<_> =
            typed.iter().filter(|(_, value)| value.is_empty()).map(|(name, _)| *name).collect();
        let url = if emptied.is_empty() { url } else { url.with(&key("emptied"), emptied.join(",")) };
        if faults.is_empty() {
            return url;
        }
        let words: Vec<_> = faults.iter().map(|fault| fault.as_str()).collect();
        url.with(&key("faults"), words.join(","))
    }

    /// Whether there is any.
    pub fn is_some(&self) -> bool {
        self.0.pairs().iter().any(|(name, _)| name.starts_with("draft["))
    }

    /// What was typed into a field: nothing, where it was emptied; none: it was left alone.
    pub fn value(&self, name: &str) -> Option<String> {
        let is_emptied =
            || self.0.get(&key("emptied")).is_some_and(|names| names.split(',').any(|own| own == name));
        self.0.get(&key(name)).map(str::to_owned).or_else(|| is_emptied().then(String::new))
    }

    /// Whether a box was ticked; none: it was left alone.
    pub fn ticked(&self, name: &str) -> Option<bool> {
        self.value(name).map(|value| value == "true")
    }

    /// What is wrong with a field.
    pub fn fault(&self, field: &str) -> Option<String> {
        let words = self.0.get(&key("faults"))?;
        let fault = words
            .split(',')
            .filter_map(|word| DraftFault::ALL.into_iter().find(|fault| fault.as_str() == word))
            .find(|fault| fault.field() == field)?;
        Some(fault.sentence().to_owned())
    }
}

fn key(name: &str) -> String {
    format!("draft[{name}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_and_what_is_wrong_come_back_and_leave_with_the_notice() {
        let faults = [DraftFault::EmailTaken, DraftFault::Password];
        let url = Draft::on(
            PageUrl::parse("/settings?new=user&notice=invalid"),
            &[("email", "a@b"), ("name", "")],
            &faults,
        );
        let draft = Draft::of(&PageUrl::parse(&url.to_string()));
        assert_eq!(draft.value("email").as_deref(), Some("a@b"));
        assert_eq!(draft.fault("email").as_deref(), Some("belongs to another user already"));
        assert!(draft.fault("password").is_some());
        assert_eq!(draft.fault("name"), None);
        assert_eq!((draft.value("name").as_deref(), draft.value("role")), (Some(""), None));
        assert_eq!(url.settled().to_string(), "/settings?new=user");
    }

    #[test]
    fn a_word_that_is_no_fault_says_nothing() {
        let draft = Draft::of(&PageUrl::parse("/settings?draft%5Bfaults%5D=%3Cscript%3E"));
        assert_eq!(draft.fault("email"), None);
    }
}
