//! Users.

use crate::actor::Role;
use crate::app::{NAME, is_name};
use crate::etag::{IfMatch, Revised};
use crate::id::UserId;
use crate::limits;
use crate::patch::not_null;
use crate::problem::Faults;
use crate::text::is_control;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A person who signs in. The password's hash never leaves the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct User {
    /// UUIDv7.
    pub id: UserId,
    /// Unique, case-insensitive.
    pub email: String,
    /// For people.
    pub name: String,
    /// `operator`, `support` or `auditor`.
    pub role: Role,
    /// Whether a password is set; without one, only a one-time link can be used to sign in.
    pub has_password: bool,
    /// Whether signing in is refused.
    pub is_disabled: bool,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it was last changed.
    pub updated_at: DateTime<Utc>,
    /// When the user last signed in.
    pub last_sign_in_at: Option<DateTime<Utc>>,
}

/// `POST /users`
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewUser {
    /// Up to 254 characters.
    pub email: String,
    /// Taken from the address when absent.
    #[serde(default)]
    pub name: Option<String>,
    /// `operator`, `support` or `auditor`.
    pub role: Role,
    /// 8 to 128 characters, none of the most common ones.
    pub password: String,
}

/// `PATCH /users/{id}`: an absent field is not changed. A new role or password, or disabling, ends the user's sessions.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UserChanges {
    /// 1 to 200 characters.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub name: Option<String>,
    /// `operator`, `support` or `auditor`.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = Role, required = false))]
    pub role: Option<Role>,
    /// Whether signing in is refused.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = bool, required = false))]
    pub is_disabled: Option<bool>,
    /// 8 to 128 characters, none of the most common ones.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false))]
    pub password: Option<String>,
    /// Version that is to be changed; not part of the body.
    #[serde(skip)]
    pub if_match: IfMatch,
}

impl Revised for User {
    fn updated_at(&self) -> DateTime<Utc> {
        self.updated_at
    }
}

impl NewUser {
    /// Checks all but the password, whose rules are in the crate `access`.
    ///
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        faults.require(is_email(&self.email), "/email", "must be an e-mail address of up to 254 characters");
        check_name_and_role(&mut faults, self.name.as_deref(), Some(self.role));
        faults.into_result()
    }
}

impl UserChanges {
    /// Checks all but the password.
    ///
    /// # Errors
    /// Every fault, by field.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Faults::default();
        check_name_and_role(&mut faults, self.name.as_deref(), self.role);
        faults.into_result()
    }
}

fn check_name_and_role(faults: &mut Faults, name: Option<&str>, role: Option<Role>) {
    faults.require(name.is_none_or(is_name), "/name", NAME);
    faults.require(
        role.is_none_or(|role| matches!(role, Role::Operator | Role::Support | Role::Auditor)),
        "/role",
        "must be operator, support or auditor: the other roles are for keys",
    );
}

/// One `@` with something on both sides, no white space, up to 254 characters. Whether mail arrives is not checked.
#[must_use]
pub fn is_email(email: &str) -> bool {
    limits::EMAIL_CHARS.contains(&email.chars().count())
        && !email.chars().any(|c| c.is_whitespace() || is_control(c))
        && email
            .split_once('@')
            .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_two_sides() {
        for (email, is_one) in [
            ("ada@example.test", true),
            ("operator@localhost", true),
            ("ada", false),
            ("@x", false),
            ("a@", false),
            ("a@b@c", false),
            ("a b@c", false),
            ("a\0@c", false),
        ] {
            assert_eq!(is_email(email), is_one, "{email}");
        }
    }
}
