//! Entity tags, so that a change does not silently overwrite another (RFC 9110, 8.8.3 and 13.1.1). What changes by itself, such as a breaker or a
//! count, does not change the tag.

use chrono::{DateTime, Utc};

/// An object with an entity tag.
pub trait Revised {
    /// When it was last changed; different after each change.
    fn updated_at(&self) -> DateTime<Utc>;

    /// Its entity tag, in quotes as in a header.
    fn etag(&self) -> String {
        etag(self.updated_at())
    }
}

/// The entity tag of an object that was last changed at this time.
#[must_use]
pub fn etag(updated_at: DateTime<Utc>) -> String {
    format!("\"{}\"", updated_at.timestamp_micros())
}

/// Condition of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfMatch {
    /// The object exists.
    #[default]
    Any,
    /// The object still has one of these tags.
    OneOf(Vec<String>),
}

/// A malformed `If-Match` header. It is refused rather than ignored: its sender relies on the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be `*`, or etags as in answers: quoted and separated by commas, such as \"1732383600123456\"")]
pub struct BadIfMatch;

/// The object was changed since it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was changed since it was read")]
pub struct Changed;

impl IfMatch {
    /// Parses a header (RFC 9110, 13.1.1). A weak tag matches like a strong one: proxies that compress an answer weaken its tag, and the tag
    /// identifies the object, not the bytes.
    ///
    /// # Errors
    /// When it is neither `*` nor a list of tags.
    pub fn parse(text: &str) -> Result<Self, BadIfMatch> {
        if text.trim() == "*" {
            return Ok(Self::Any);
        }
        let tags = text.split(',').map(|tag| {
            let tag = tag.trim();
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            let opaque = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            opaque.filter(|opaque| !opaque.contains('"')).map(|_| tag.to_owned()).ok_or(BadIfMatch)
        });
        tags.collect::<Result<_, _>>().map(Self::OneOf)
    }

    /// Parses a form's hidden field: the tag of the version that the form shows, or empty.
    #[must_use]
    pub fn from_form(tag: &str) -> Self {
        if tag.is_empty() { Self::Any } else { Self::OneOf(vec![tag.to_owned()]) }
    }

    /// # Errors
    /// When the object no longer has one of the tags.
    pub fn check(&self, updated_at: DateTime<Utc>) -> Result<(), Changed> {
        match self {
            Self::OneOf(tags) if !tags.contains(&etag(updated_at)) => Err(Changed),
            Self::Any | Self::OneOf(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_only_made_to_the_version_it_names() {
        let now = DateTime::from_timestamp_micros(1_732_383_600_123_456).unwrap();
        let own = etag(now);
        assert_eq!(own, "\"1732383600123456\"");
        for (text, is_met) in [
            ("*", true),
            (own.as_str(), true),
            (&format!("\"1\", {own}"), true),
            (&format!("W/{own}"), true),
            ("\"1\"", false),
            ("W/\"1\"", false),
            ("\"\"", false),
        ] {
            assert_eq!(IfMatch::parse(text).unwrap().check(now).is_ok(), is_met, "{text}");
        }
        for text in ["", " ", "1732383600123456", "nonsense", "\"", "\"1", "\"1\" \"2\"", "*, *", "\"1\","] {
            assert_eq!(IfMatch::parse(text), Err(BadIfMatch), "{text}");
        }
    }

    #[test]
    fn a_form_without_a_tag_matches_any_version() {
        let now = DateTime::from_timestamp_micros(1_732_383_600_123_456).unwrap();
        assert_eq!(IfMatch::from_form(""), IfMatch::Any);
        assert!(IfMatch::from_form(&etag(now)).check(now).is_ok());
        assert!(IfMatch::from_form("nonsense").check(now).is_err());
    }
}
