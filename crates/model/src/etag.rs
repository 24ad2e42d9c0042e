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

fn etag(updated_at: DateTime<Utc>) -> String {
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

/// It has been changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was changed since it was read")]
pub struct Changed;

impl IfMatch {
    /// As a header has it, or a form's field. Nothing and `*` ask for nothing; a weak tag matches nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "" | "*" => Self::Any,
            tags => Self::OneOf(tags.split(',').map(|tag| tag.trim().to_owned()).collect()),
        }
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
            ("", true),
            ("*", true),
            (own.as_str(), true),
            (&format!("\"1\", {own}"), true),
            ("\"1\"", false),
            (&format!("W/{own}"), false),
            ("1732383600123456", false),
            ("nonsense", false),
        ] {
            assert_eq!(IfMatch::parse(text).check(now).is_ok(), is_met, "{text}");
        }
    }
}
