//! Masking of secrets in payloads: values with secret-looking names (`name.rs`: `password`, `apiKey`, `card_number`), and the fields that the
//! deployment or an integration of the app marks. Applied before anything leaves the server.
//!
//! A mask shows that there is a value, but neither its length nor its type. Null, true, false and empty values reveal nothing and are not masked.

mod error_search;
mod hidden_paths;
mod internals;
mod name;
mod sensitive;
mod text;

pub use error_search::FirstSecret;
pub use internals::may_know_workers;
pub use name::{authenticates, is_secret as is_secret_name};
pub use sensitive::{Masks, Sensitive};

use crate::{attributes::Attributes, json};
use serde_json::{Map, Value};

/// Shown instead of a value.
pub const MASK: &str = "[masked]";
/// Shown instead of a value that differs from the one it is compared with.
pub const MASK_OF_ANOTHER: &str = "[masked, another value]";
/// Maximum number of marked fields in one list.
pub const MAX_FIELDS: usize = 100;
/// Key in an integration's `metadata` of the list of marked fields.
pub const METADATA_KEY: &str = "masked_fields";

/// What is masked in addition to secret-looking names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masking {
    /// Names that are masked at any depth.
    anywhere: Vec<String>,
    /// Paths, as lists of names.
    paths: Vec<Vec<String>>,
}

/// Matches any name in a path.
const ANY: &str = "*";

impl Masking {
    /// Marks fields: `email`, or only the `email` of a `customer` (`customer.email`), at any depth, since requests contain a record's attributes
    /// further down. `*` matches any name; items of arrays have none. Case, `_` and `-` are ignored.
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

    /// Masks a document; returns the number of masked values.
    pub fn value(&self, value: &mut Value) -> usize {
        self.within(value, &[])
    }

    /// Masks a record's attributes.
    pub fn attributes(&self, attributes: &mut Attributes) -> usize {
        self.fields(attributes, &[])
    }

    /// Masks old and new attributes. The mask of a new value shows whether it differs from the old one.
    pub fn both(&self, before: &mut Attributes, after: &mut Attributes) -> usize {
        let (was, is) = (before.clone(), after.clone());
        self.attributes(before);
        let masked = self.attributes(after);
        mark_changes(&was, &is, after);
        masked
    }

    /// Masks values in a text, such as an error or the beginning of an answer. `None`: there is nothing to mask.
    #[must_use]
    pub fn text(&self, text: &str) -> Option<String> {
        text::masked(text, |name| self.hides(name) || self.ends_path(name))
    }

    fn hides(&self, name: &str) -> bool {
        name::is_secret(name) || (!self.anywhere.is_empty() && self.anywhere.contains(&name::plain(name)))
    }

    /// A text has no levels, so the last name of a path is enough (of `a.*`, that is `a`).
    fn ends_path(&self, name: &str) -> bool {
        !self.paths.is_empty() && {
            let plain = name::plain(name);
            self.paths.iter().any(|path| path.iter().rev().find(|name| *name != ANY) == Some(&plain))
        }
    }

    /// `begun`: the remaining steps of paths that lead here.
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
    let reveals_nothing = match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => matches!(text.as_str(), "" | MASK | MASK_OF_ANOTHER),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    };
    if reveals_nothing {
        return 0;
    }
    *value = Value::from(MASK);
    1
}

/// Marks masked values that differ from the old ones.
fn mark_changes(was: &Attributes, is: &Attributes, shown: &mut Attributes) {
    for (name, shown) in shown {
        if let (Some(was), Some(is)) = (was.get(name), is.get(name)) {
            mark_change(was, is, shown);
        }
    }
}

fn mark_change(was: &Value, is: &Value, shown: &mut Value) {
    match (was, is, shown) {
        (was, is, Value::String(shown)) if shown == MASK && !json::equal(was, is) => {
            MASK_OF_ANOTHER.clone_into(shown);
        }
        (Value::Object(was), Value::Object(is), Value::Object(shown)) => mark_changes(was, is, shown),
        (Value::Array(was), Value::Array(is), Value::Array(shown)) => {
            for ((was, is), shown) in was.iter().zip(is).zip(shown) {
                mark_change(was, is, shown);
            }
        }
        _ => {}
    }
}

/// Masks values with secret-looking names in a text that everybody with access to the page sees, such as errors in statistics.
#[must_use]
pub fn without_secrets(text: String) -> String {
    Masking::default().text(&text).unwrap_or(text)
}

/// The fields that an integration's `metadata` marks.
///
/// # Errors
/// A sentence, when it is not a list of up to [`MAX_FIELDS`] fields.
pub fn marked(metadata: &Map<String, Value>) -> Result<Vec<&str>, &'static str> {
    const WHAT: &str = "must be a list of up to 100 fields such as \"email\" or \"customer.iban\"";
    let Some(marked) = metadata.get(METADATA_KEY) else { return Ok(Vec::new()) };
    let fields = marked.as_array().filter(|fields| fields.len() <= MAX_FIELDS).ok_or(WHAT)?;
    fields.iter().map(|field| field.as_str().filter(|text| is_field(text)).ok_or(WHAT)).collect()
}

/// Whether a text can mark a field: 1 to 255 characters, no empty name between its dots.
#[must_use]
pub fn is_field(text: &str) -> bool {
    text.chars().count() <= 255
        && text.split('.').all(|part| part.trim() == ANY || !name::plain(part).is_empty())
        && text.trim() != ANY
}

#[cfg(test)]
mod tests;
