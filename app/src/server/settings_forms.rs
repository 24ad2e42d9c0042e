//! The addresses and forms of the settings.

use crate::calls::error::CallError;
use crate::state::drawn;
use crate::state::form_draft::{Draft, DraftFault};
use crate::state::page_url::PageUrl;
use model::actor::Role;
use model::api_key::NewApiKey;
use model::etag::IfMatch;
use model::id::UserId;
use model::page::PageRequest;
use model::user::{NewUser, UserChanges};

/// The page of a list that the address asks for; its size is fixed.
pub fn page(url: &PageUrl) -> Result<PageRequest, CallError> {
    PageRequest::parse(None, url.get("cursor")).map_err(|error| CallError::Invalid(error.to_string()))
}

/// The user that the address edits or deletes.
pub fn chosen_user(url: &PageUrl) -> Option<UserId> {
    ["edit", "delete"].iter().find_map(|name| url.get(name)?.parse().ok())
}

/// A user to create, as typed. The password is in no address, so it is not part of it.
pub struct NewUserForm {
    pub email: String,
    pub name: String,
    pub role: Role,
}

impl NewUserForm {
    pub fn new_user(&self, password: String) -> NewUser {
        let name = Some(self.name.trim().to_owned()).filter(|name| !name.is_empty());
        NewUser { email: self.email.trim().to_owned(), name, role: self.role, password }
    }

    /// The address that shows the form with what was typed.
    pub fn draft(&self, url: PageUrl, faults: &[DraftFault]) -> PageUrl {
        let typed = [("email", self.email.trim()), ("name", &self.name), ("role", self.role.as_str())];
        Draft::on(url.with("new", "user"), &typed, faults)
    }
}

/// Changes of a user, as typed.
pub struct UserForm {
    pub id: UserId,
    pub name: String,
    pub role: Role,
    pub is_disabled: bool,
    /// Of the user that the form showed.
    pub etag: String,
    /// The values its fields were rendered with.
    pub drawn: String,
}

impl UserForm {
    pub fn changes(&self) -> UserChanges {
        UserChanges {
            name: Some(self.name.trim().to_owned()),
            role: Some(self.role),
            is_disabled: Some(self.is_disabled),
            password: None,
            if_match: IfMatch::from_form(&self.etag),
        }
    }

    /// The address that shows the form with what was changed in it.
    pub fn draft(&self, url: PageUrl, faults: &[DraftFault]) -> PageUrl {
        let is_disabled = if self.is_disabled { "true" } else { "" };
        let typed =
            [("name", self.name.as_str()), ("role", self.role.as_str()), ("is_disabled", is_disabled)];
        Draft::on(url.with("edit", self.id), &drawn::changed(&self.drawn, &typed), faults)
    }
}

/// A key to create, as typed.
pub struct NewKeyForm {
    pub name: String,
    pub role: Role,
    /// Empty: all apps.
    pub app_id: String,
    /// Empty: it does not expire.
    pub expires_in_days: String,
}

impl NewKeyForm {
    pub fn new_key(&self) -> NewApiKey {
        let days = self.expires_in_days.parse::<i64>().ok();
        NewApiKey {
            name: self.name.trim().to_owned(),
            role: self.role,
            app_id: self.app_id.parse().ok(),
            expires_in_seconds: days.and_then(|days| days.checked_mul(86_400)),
        }
    }

    /// The address that shows the form with what was typed.
    pub fn draft(&self, url: PageUrl, faults: &[DraftFault]) -> PageUrl {
        let typed =
            [("name", self.name.as_str()), ("role", self.role.as_str()), ("app_id", self.app_id.as_str())];
        Draft::on(url.with("new", "key"), &typed, faults)
    }
}
