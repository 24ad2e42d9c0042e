//! Apps: the tenants.

use crate::etag::{IfMatch, Revised};
use crate::id::AppId;
use crate::limits::NAME_CHARS;
use crate::patch::not_null;
use crate::problem::Faults;
use crate::text;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A tenant of the platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct App {
    /// UUIDv7.
    pub id: AppId,
    /// For people, 1 to 200 characters.
    pub name: String,
    /// For URLs and scripts: lower case letters, digits and hyphens, unique.
    pub slug: String,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
}

/// `POST /apps`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewApp {
    /// 1 to 200 characters.
    pub name: String,
    /// Made from the name when absent.
    #[serde(default)]
    pub slug: Option<String>,
}

/// `PATCH /apps/{id}`: absent leaves a field; neither can be null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AppChanges {
    /// 1 to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub name: Option<String>,
    /// Lower case letters, digits and hyphens.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub slug: Option<String>,
    /// Version that is to be changed; not part of the body.
    #[serde(skip)]
    pub if_match: IfMatch,
}

impl Revised for App {
    fn updated_at(&self) -> DateTime<Utc> {
        self.updated_at
    }
}

impl NewApp {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        check(Some(&self.name), self.slug.as_deref())
    }
}

impl AppChanges {
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        check(self.name.as_deref(), self.slug.as_deref())
    }
}

fn check(name: Option<&str>, slug: Option<&str>) -> Result<(), Faults> {
    let mut faults = Faults::default();
    if let Some(name) = name {
        faults.require(is_name(name), "/name", NAME);
    }
    if let Some(slug) = slug {
        faults.require(
            is_slug(slug),
            "/slug",
            "must be 1 to 63 lower case letters, digits and hyphens, no hyphen at either end",
        );
    }
    faults.into_result()
}

/// What a name must be, as a sentence.
pub const NAME: &str =
    "must be 1 to 200 characters without control characters, those of text direction among them";

/// A name for people: 1 to 200 characters, not blank, no control characters.
#[must_use]
pub fn is_name(name: &str) -> bool {
    NAME_CHARS.contains(&name.chars().count()) && !name.trim().is_empty() && !name.contains(text::is_control)
}

fn is_slug(slug: &str) -> bool {
    (1..=63).contains(&slug.len())
        && slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !slug.starts_with('-')
        && !slug.ends_with('-')
}

/// A slug from a name: `Nordwind GmbH` becomes `nordwind-gmbh`. Empty when the name has no usable character.
#[must_use]
pub fn slug_of(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 50 {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_made_from_names() {
        for (name, slug) in
            [("Nordwind GmbH", "nordwind-gmbh"), ("  Acme!! ", "acme"), ("日本", ""), ("A--B", "a-b")]
        {
            assert_eq!(slug_of(name), slug);
        }
    }

    #[test]
    fn every_fault_is_named() {
        let faults = NewApp { name: " ".into(), slug: Some("-No".into()) }.check().unwrap_err();
        assert_eq!(faults.0.iter().map(|f| f.pointer.as_str()).collect::<Vec<_>>(), ["/name", "/slug"]);
    }
}
