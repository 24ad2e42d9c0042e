//! Results of the command palette's search.

use crate::{found::Found, id::IntegrationId, integration::IntegrationState};
use serde::{Deserialize, Serialize};

/// What a text was found in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResults {
    /// Objects with this id.
    pub things: Vec<Found>,
    /// Integrations whose name or app name contains the text.
    pub integrations: Vec<FoundIntegration>,
    /// Saved views whose name contains the text: name, and query string of the list of jobs.
    pub views: Vec<(String, String)>,
}

/// An integration found by its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundIntegration {
    /// Its id.
    pub id: IntegrationId,
    /// Its name.
    pub name: String,
    /// Its app's name.
    pub app_name: String,
    /// Whether it is active, paused or disabled.
    pub state: IntegrationState,
}
