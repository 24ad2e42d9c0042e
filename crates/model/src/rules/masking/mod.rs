//! What of a payload may not be shown: values whose names say that they are secret (`name.rs`: `password`, `apiKey`, `card_number`), and the
//! fields that the deployment or an integration of the app marks. Decided before anything leaves the server for a browser.
//!
//! A mask says that there is a value, never which: neither its length nor its type is left. Null, true, false and what is empty tell
//! nothing and stay.

mod guess;
mod in_errors;
mod inside;
mod name;
mod text;
mod whole;

pub use in_errors::AsShown;
pub use inside::may_know_workers;
pub use name::{authenticates, is_secret as is_secret_name};
pub use whole::{Masks, Sensitive};

use crate::{json, record::Attributes};
use serde_json::{Map, Value};

/// What stands in the place of a value.
pub const MASK: &str = "[masked]";
/// The same, of a value that differs from the one it is compared with.
pub const MASK_OF_ANOTHER: &str = "[masked, another value]";
/// Marked fields of one list.
pub const MOST_FIELDS: usize = 100;
/// In an integration's `metadata`: a list of the fields it marks.
pub const METADATA_KEY: &str = "masked_fields";

/// What is masked besides what its name gives away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masking {
    /// Names, masked wherever they stand.
    anywhere: Vec<String>,
    /// Paths, name by name.
    paths: Vec<Vec<String>>,
}

/// Stands in a path for every name.
const ANY: &str = "*";

impl Masking {
    /// Marks fields: `email`, or `email` of a `customer` alone (`customer.email`), wherever they stand: what is sent of a record has its
    /// attributes further down. `*` stands for any name, items of arrays need none.
    /// Upper and lower case, `_` and `-` make no difference.
    #[must_use]
    pub fn new<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        let mut masking = Self::default();
        for field in fields {
            let mut names: Vec<String> = field
                .split('.')
                .map(|part| if part.trim() == ANY { ANY.to_owned() } else { name::plain(part) })
                .filter(|part| !part.is_empty())
                .collect();
            match names.len() {
                0 => {}
                1 => masking.anywhere.append(&mut names),
                _ => masking.paths.push(names),
            }
        }
        masking
    }

    /// Masks a document; how many values that were.
    pub fn value(&self, value: &mut Value) -> usize {
        self.within(value, &[])
    }

    /// Masks a record's attributes.
    pub fn attributes(&self, attributes: &mut Attributes) -> usize {
        self.fields(attributes, &[])
    }

    /// Masks what was and what is; a value that differs says so, but not how.
    pub fn both(&self, before: &mut Attributes, after: &mut Attributes) -> usize {
        let (was, is) = (before.clone(), after.clone());
        self.attributes(before);
        let masked = self.attributes(after);
        tell_changes(&was, &is, after);
        masked
    }

    /// Masks a text that may hold such values: an answer's beginning, an error. None: there is nothing to mask.
    #[must_use]
    pub fn text(&self, text: &str) -> Option<String> {
        text::masked(text, |name| self.hides(name) || self.ends_path(name))
    }

    fn hides(&self, name: &str) -> bool {
        name::is_secret(name) || (!self.anywhere.is_empty() && self.anywhere.contains(&name::plain(name)))
    }

    /// A text has no levels: there the last name of a path is enough, and of one that ends in any name, what that would stand in.
    fn ends_path(&self, name: &str) -> bool {
        !self.paths.is_empty() && {
            let plain = name::plain(name);
            self.paths.iter().any(|path| path.iter().rev().find(|name| *name != ANY) == Some(&plain))
        }
    }

    /// `begun`: what is left of paths that lead here.
    fn within(&self, value: &mut Value, begun: &[&[String]]) -> usize {
        match value {
            Value::Object(fields) => self.fields(fields, begun),
            Value::Array(items) => items.iter_mut().map(|item| self.within(item, begun)).sum(),
            Value::String(text) if text::may_hold_fields(text) => match self.text(text) {
                Some(masked) => {
                    *text = masked;
                    1
                }
                None => 0,
            },
            _ => 0,
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>, begun: &[&[String]]) -> usize {
        let mut masked = 0;
        for (name, value) in fields {
            let plain = if self.paths.is_empty() { String::new() } else { name::plain(name) };
            let begin_here = self.paths.iter().map(Vec::as_slice);
            let below: Vec<&[String]> = begin_here
                .chain(begun.iter().copied())
                .filter_map(|path| path.split_first())
                .filter(|(first, _)| **first == ANY || **first == plain)
                .map(|(_, rest)| rest)
                .collect();
            masked += if self.hides(name) || below.iter().any(|rest| rest.is_empty()) {
                hide(value)
            } else {
                self.within(value, &below)
            };
        }
        masked
    }
}

fn hide(value: &mut Value) -> usize {
    let tells_nothing = match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => matches!(text.as_str(), "" | MASK | MASK_OF_ANOTHER),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    };
    if tells_nothing {
        return 0;
    }
    *value = Value::from(MASK);
    1
}

/// Says of masked values that they are others than they were.
fn tell_changes(was: &Attributes, is: &Attributes, shown: &mut Attributes) {
    for (name, shown) in shown {
        if let (Some(was), Some(is)) = (was.get(name), is.get(name)) {
            tell_change(was, is, shown);
        }
    }
}

fn tell_change(was: &Value, is: &Value, shown: &mut Value) {
    match (was, is, shown) {
        (was, is, Value::String(shown)) if shown == MASK && !json::equal(was, is) => {
            MASK_OF_ANOTHER.clone_into(shown);
        }
        (Value::Object(was), Value::Object(is), Value::Object(shown)) => tell_changes(was, is, shown),
        (Value::Array(was), Value::Array(is), Value::Array(shown)) => {
            for ((was, is), shown) in was.iter().zip(is).zip(shown) {
                tell_change(was, is, shown);
            }
        }
        _ => {}
    }
}

/// A text for all who may see a page, without what its names give away: errors that stand beside numbers.
#[must_use]
pub fn without_secrets(text: String) -> String {
    Masking::default().text(&text).unwrap_or(text)
}

/// What an integration's `metadata` marks.
///
/// # Errors
/// In words, when it is no list of up to [`MOST_FIELDS`] fields.
pub fn marked(metadata: &Map<String, Value>) -> Result<Vec<&str>, &'static str> {
    const WHAT: &str = "must be a list of up to 100 fields such as \"email\" or \"customer.iban\"";
    let Some(marked) = metadata.get(METADATA_KEY) else { return Ok(Vec::new()) };
    let fields = marked.as_array().filter(|fields| fields.len() <= MOST_FIELDS).ok_or(WHAT)?;
    fields.iter().map(|field| field.as_str().filter(|text| is_field(text)).ok_or(WHAT)).collect()
}

/// Whether it names a field: 1 to 255 characters, something between its dots.
#[must_use]
pub fn is_field(text: &str) -> bool {
    text.chars().count() <= 255
        && text.split('.').all(|part| part.trim() == ANY || !name::plain(part).is_empty())
        && text.trim() != ANY
}

#[cfg(test)]
mod tests;
