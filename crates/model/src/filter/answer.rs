//! HTTP status filters: one status, or a class.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{fmt, ops::RangeInclusive, str::FromStr};

/// `503`, or `5xx` for all from 500 to 599.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, example = "5xx", pattern = "^[1-5]([0-9]{2}|[xX]{2})$"))]
pub struct AnswerStatus(RangeInclusive<i16>);

/// Not a status or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an HTTP status such as 503, or 1xx to 5xx")]
pub struct BadAnswerStatus;

impl AnswerStatus {
    /// From the lowest to the highest.
    #[must_use]
    pub fn range(&self) -> (i16, i16) {
        (*self.0.start(), *self.0.end())
    }
}

impl fmt::Display for AnswerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.range();
        if first == last { write!(f, "{first}") } else { write!(f, "{}xx", first / 100) }
    }
}

impl FromStr for AnswerStatus {
    type Err = BadAnswerStatus;
    fn from_str(text: &str) -> Result<Self, BadAnswerStatus> {
        let text = text.trim();
        let is_class = text.len() == 3 && text.is_char_boundary(1) && text[1..].eq_ignore_ascii_case("xx");
        let range = if is_class {
            let class: i16 = text[..1].parse().map_err(|_| BadAnswerStatus)?;
            class * 100..=class * 100 + 99
        } else {
            let status: i16 = text.parse().map_err(|_| BadAnswerStatus)?;
            status..=status
        };
        if (100..=599).contains(range.start()) { Ok(Self(range)) } else { Err(BadAnswerStatus) }
    }
}

impl Serialize for AnswerStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AnswerStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_status_or_a_class() {
        for (text, range, shown) in
            [("503", (503, 503), "503"), ("5xx", (500, 599), "5xx"), (" 4XX ", (400, 499), "4xx")]
        {
            let status: AnswerStatus = text.parse().unwrap();
            assert_eq!((status.range(), status.to_string().as_str()), (range, shown));
        }
        for text in ["", "5x", "6xx", "0xx", "99", "600", "xxx", "5xxx", "äxx", "ä5"] {
            assert_eq!(text.parse::<AnswerStatus>(), Err(BadAnswerStatus), "{text}");
        }
    }
}
