//! Who makes a request, with which role, for which app.

use crate::id::{ApiKeyId, AppId, UserId};
use crate::unknown_name::UnknownName;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// What a user or a key may do: `operator` everything; `support` reads, requeues and cancels; `auditor` reads everything; `producer` sends events and
/// jobs of its app and reads its jobs; `worker` is reserved: a key of it can be created, but may call nothing yet; `portal` reads its own app and
/// starts re-syncs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownName, parse_err_fn = UnknownName::of)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Role {
    /// Everything.
    Operator,
    /// Reads, requeues, cancels.
    Support,
    /// Reads everything, changes nothing.
    Auditor,
    /// Sends events and jobs of its app.
    Producer,
    /// Takes assignments of its app, or of all apps when bound to none. Reserved: no call gives assignments yet.
    Worker,
    /// Its own app: read and re-sync.
    Portal,
}

impl Role {
    /// All, in the order a form offers them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The credential of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum ActorKind {
    /// A signed-in person.
    User(UserId),
    /// A key of the API.
    ApiKey(ApiKeyId),
    /// The key of `HEADGATE_ADMIN_API_KEY`.
    AdminKey,
    /// The program itself (the demo, a command line).
    System,
}

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The credential.
    pub kind: ActorKind,
    /// For people: an e-mail address, a key's name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The one app it is bound to. `None`: all.
    pub app_id: Option<AppId>,
}

impl Actor {
    /// The apps whose data this actor may touch. A store function takes this, never an app id of the request.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.app_id.map_or(Scope::AllApps, Scope::App)
    }

    /// The signed-in user. `None`: a key.
    #[must_use]
    pub fn user_id(&self) -> Option<UserId> {
        match self.kind {
            ActorKind::User(id) => Some(id),
            ActorKind::ApiKey(_) | ActorKind::AdminKey | ActorKind::System => None,
        }
    }

    /// Owner of idempotency keys: stable over requests, never shared between credentials.
    #[must_use]
    pub fn owner(&self) -> String {
        match self.kind {
            ActorKind::User(id) => format!("user:{id}"),
            ActorKind::ApiKey(id) => format!("key:{id}"),
            ActorKind::AdminKey => "admin-key".to_owned(),
            ActorKind::System => "system".to_owned(),
        }
    }
}

/// The apps a read or a write may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Every app.
    AllApps,
    /// One app.
    App(AppId),
}

impl Scope {
    /// For a statement's `($1::uuid is null or app_id = $1)`.
    #[must_use]
    pub fn app_id(self) -> Option<AppId> {
        match self {
            Self::AllApps => None,
            Self::App(id) => Some(id),
        }
    }

    /// Whether data of this app may be touched.
    #[must_use]
    pub fn contains(self, app_id: AppId) -> bool {
        self.app_id().is_none_or(|own| own == app_id)
    }
}
