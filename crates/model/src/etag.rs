//! Which version of a thing somebody has read, so that a change made of it overwrites nobody else's without a word (RFC 9110, 8.8.3 and
//! 13.1.1). Of what changes by itself, a breaker or a count, a version says nothing.

use chrono::{DateTime, Utc};

/// Something that is changed, and knows when it was.
pub trait Revised {
    /// When it was last changed: with each change another moment.
    fn updated_at(&self) -> DateTime<Utc>;

    /// Its entity tag, in quotes as a header has it.
    fn etag(&self) -> String {
        etag(self.updated_at())
    }
}

/// The tag of a thing that was last changed then.
#[must_use]
pub fn etag(updated_at: DateTime<Utc>) -> String {
    format!("\"{}\"", updated_at.timestamp_micros())
}

/// What a change asks of the thing it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IfMatch {
    /// That it is there.
    #[default]
    Any,
    /// That it has one of these tags still.
    OneOf(Vec<String>),
}

/// A header that asks for a version in a way that is not known: whoever wrote it wants to be refused where something changed, and must learn that
/// nothing would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be `*`, or etags as answers have them, in quotes, with commas between: \"1732383600123456\"")]
pub struct BadIfMatch;

/// It has been changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was changed since it was read")]
pub struct Changed;

impl IfMatch {
    /// As a header has it (RFC 9110, 13.1.1). A tag that was made weak matches like the one it was: proxies that compress an answer weaken its tag
    /// on the way, and what it names is the thing, not its bytes.
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

    /// As a form has it in a field: the version it was filled in for, empty where it knew none.
    #[must_use]
    pub fn of_form(tag: &str) -> Self {
        if tag.is_empty() { Self::Any } else { Self::OneOf(vec![tag.to_owned()]) }
    }

    /// # Errors
    /// When it has none of the tags any more.
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
    fn a_change_asks_for_the_version_it_was_made_of() {
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
    fn a_form_that_knew_no_version_asks_for_none() {
        let now = DateTime::from_timestamp_micros(1_732_383_600_123_456).unwrap();
        assert_eq!(IfMatch::of_form(""), IfMatch::Any);
        assert!(IfMatch::of_form(&etag(now)).check(now).is_ok());
        assert!(IfMatch::of_form("nonsense").check(now).is_err());
    }
}
