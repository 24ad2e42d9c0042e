//! Names of the integrations of a list. They are read with the list, because the sampler's names may be a second older than a row.

use crate::id::{AppId, IntegrationId};
use crate::integration::IntegrationName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names by id. A missing integration was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Names(BTreeMap<IntegrationId, IntegrationName>);

impl Names {
    /// The integration's name. None: it was deleted.
    #[must_use]
    pub fn of(&self, id: IntegrationId) -> Option<&IntegrationName> {
        self.0.get(&id)
    }

    /// The name of an app that one of them belongs to.
    #[must_use]
    pub fn app(&self, id: AppId) -> Option<&str> {
        self.0.values().find(|name| name.app_id == id).map(|name| name.app_name.as_str())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (IntegrationId, &IntegrationName)> {
        self.0.iter().map(|(id, name)| (*id, name))
    }
}

impl From<BTreeMap<IntegrationId, IntegrationName>> for Names {
    fn from(names: BTreeMap<IntegrationId, IntegrationName>) -> Self {
        Self(names)
    }
}
