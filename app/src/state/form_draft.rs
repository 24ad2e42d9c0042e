//! The input of a refused form, carried in the address: of a user, an API key, a saved view, a re-sync, a breaker. Passwords and keys
//! never are.

use super::page_url::PageUrl;
use serde::{Deserialize, Serialize};

/// What is wrong: a word of this list, never free text, so that no crafted link can show a text of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DraftFault {
    /// Not an e-mail address.
    Email,
    /// Another user has it.
    EmailTaken,
    /// Empty, or too long.
    Name,
    /// Too short, too long, or a common one.
    Password,
    /// The role needs an app, or must not have one.
    App,
    /// No operator would be left.
    LastOperator,
    /// Empty, or too long.
    ViewName,
    /// Another view of the same owner has the name.
    ViewTaken,
    /// Not a number, or larger than views are counted.
    ViewAlert,
    /// Its filters need another one.
    ViewQuery,
    /// A filter asks for a masked value.
    ViewMasked,
    /// The maximum is pinned already.
    ViewPins,
    /// The maximum is shared already.
    ViewShared,
    /// A view without an owner cannot be private.
    ViewOfNobody,
    /// The integration does not take such records.
    RecordType,
    /// The end of a hold is in the past, or too far in the future.
    Until,
    /// The reader has the maximum of views already.
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

    /// The field that shows it.
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

    /// What is wrong, and what to do.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Email => "must be an e-mail address of up to 254 characters",
            Self::EmailTaken => "already belongs to another user",
            Self::Name => "must be 1 to 200 characters",
            Self::Password => "must be 8 to 128 characters, not a common password, not the address",
            Self::App => {
                "producer and portal keys belong to one app; operator, support and auditor keys to none"
            }
            Self::LastOperator => "this is the last operator: add another one first",
            Self::ViewName => "must be 1 to 80 characters",
            Self::ViewTaken => "is the name of another view of the same owner: choose another one",
            Self::ViewAlert => "must be a whole number from 1 to 10,000, or empty for no alert",
            Self::ViewQuery => {
                "These filters are too broad for a list: add another one first, such as an integration."
            }
            Self::ViewMasked => {
                "One of these filters has a masked payload value, which views do not keep: remove it first."
            }
            Self::ViewPins => "12 views are pinned already: unpin one first, or save this one without a pin.",
            Self::ViewShared => {
                "There are 200 shared views already: delete one first, or keep this one private."
            }
            Self::ViewOfNobody => "Nobody owns this view, so nobody would see it: it has to stay shared.",
            Self::RecordType => "is not a type that this integration takes",
            Self::Until => "must be in the future, at most 30 days from now",
            Self::ViewMany => "You have 50 views already: delete one first.",
        }
    }

    /// The fault for a JSON pointer of the API.
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft(PageUrl);

impl Draft {
    pub fn of(url: &PageUrl) -> Self {
        Self(url.clone())
    }

    /// The address with the typed values and the faults.
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

    /// Whether the address carries a draft.
    pub fn is_some(&self) -> bool {
        self.0.pairs().iter().any(|(name, _)| name.starts_with("draft["))
    }

    /// What was typed into a field: empty when it was emptied, none when it was not changed.
    pub fn value(&self, name: &str) -> Option<String> {
        let is_emptied =
            || self.0.get(&key("emptied")).is_some_and(|names| names.split(',').any(|own| own == name));
        self.0.get(&key(name)).map(str::to_owned).or_else(|| is_emptied().then(String::new))
    }

    /// Whether a checkbox was set; none when it was not changed.
    pub fn checked(&self, name: &str) -> Option<bool> {
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
    fn typed_values_and_faults_come_back_and_leave_with_the_notice() {
        let faults = [DraftFault::EmailTaken, DraftFault::Password];
        let url = Draft::on(
            PageUrl::parse("/settings?new=user&notice=invalid"),
            &[("email", "a@b"), ("name", "")],
            &faults,
        );
        let draft = Draft::of(&PageUrl::parse(&url.to_string()));
        assert_eq!(draft.value("email").as_deref(), Some("a@b"));
        assert_eq!(draft.fault("email").as_deref(), Some("already belongs to another user"));
        assert!(draft.fault("password").is_some());
        assert_eq!(draft.fault("name"), None);
        assert_eq!((draft.value("name").as_deref(), draft.value("role")), (Some(""), None));
        assert_eq!(url.settled().to_string(), "/settings?new=user");
    }

    #[test]
    fn an_unknown_fault_is_ignored() {
        let draft = Draft::of(&PageUrl::parse("/settings?draft%5Bfaults%5D=%3Cscript%3E"));
        assert_eq!(draft.fault("email"), None);
    }
}
