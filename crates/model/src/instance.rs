//! Which deployment a console is of: its name, and a colour by which people tell it from others.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// As `HEADGATE_INSTANCE` has it: `production` or `production#c0392b`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// 1 to 40 characters.
    pub name: String,
    /// A colour as CSS and SVG write it: `#` and six hexadecimal digits.
    pub colour: Option<String>,
}

const MAX_NAME_CHARS: usize = 40;

impl FromStr for Instance {
    type Err = InvalidInstance;

    fn from_str(text: &str) -> Result<Self, InvalidInstance> {
        let (name, colour) = match text.split_once('#') {
            Some((name, digits)) => (name, Some(format!("#{}", digits.trim()))),
            None => (text, None),
        };
        let name = name.trim();
        let is_name =
            !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS && !name.chars().any(char::is_control);
        let is_colour = |colour: &String| {
            colour.len() == 7 && colour.bytes().skip(1).all(|digit| digit.is_ascii_hexdigit())
        };
        if !is_name || !colour.as_ref().is_none_or(is_colour) {
            return Err(InvalidInstance);
        }
        Ok(Self { name: name.to_owned(), colour })
    }
}

/// As it is written in the setting.
impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.colour.as_deref().unwrap_or_default())
    }
}

/// Not a name, or not a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidInstance;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_colours_are_read_and_written() {
        let instance = |name: &str, colour: Option<&str>| {
            Ok(Instance { name: name.to_owned(), colour: colour.map(str::to_owned) })
        };
        for (text, read) in [
            ("production", instance("production", None)),
            ("production#c0392b", instance("production", Some("#c0392b"))),
            (" EU staging #C0392B ", instance("EU staging", Some("#C0392B"))),
            ("", Err(InvalidInstance)),
            ("#c0392b", Err(InvalidInstance)),
            ("production#red", Err(InvalidInstance)),
            ("production#c0392b#", Err(InvalidInstance)),
            ("pro\nduction", Err(InvalidInstance)),
        ] {
            assert_eq!(text.parse::<Instance>(), read, "{text:?}");
            if let Ok(instance) = read {
                assert_eq!(instance.to_string().parse(), Ok(instance));
            }
        }
        assert!("x".repeat(41).parse::<Instance>().is_err());
    }
}
