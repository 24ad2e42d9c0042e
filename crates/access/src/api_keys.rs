//! API keys: `hg_<role>_<prefix>_<secret>`. The prefix finds the row, the hash of the whole key is compared.

use crate::access::Access;
use crate::audit::{self, Entry};
use crate::error::AccessError;
use crate::store::api_keys as store;
use crate::token;
use model::actor::{Actor, ActorKind};
use model::api_key::{ApiKey, ApiKeyWithSecret, NewApiKey};
use model::id::ApiKeyId;
use model::page::{Page, PageRequest};

const PREFIX_CHARS: usize = 10;
/// 256 bits.
const SECRET_CHARS: usize = 43;

/// Creates a key. The answer holds it, the database only its hash.
///
/// # Errors
/// Faults by field.
pub async fn create(
    access: &Access,
    actor: &Actor,
    new: &NewApiKey,
) -> Result<ApiKeyWithSecret, AccessError> {
    new.check()?;
    let prefix = token::alphanumeric(PREFIX_CHARS);
    let key = format!("hg_{}_{prefix}_{}", new.role, token::alphanumeric(SECRET_CHARS));
    let mut tx = access.pool().begin().await?;
    let api_key = store::insert(&mut tx, new, &prefix, &token::hash(&key)).await?;
    let entry = Entry::new("api_key.create").about(api_key.id).of_app(api_key.app_id).with(&api_key);
    audit::record(&mut tx, actor, entry).await?;
    tx.commit().await?;
    Ok(ApiKeyWithSecret { api_key, key })
}

/// All keys, newest first, revoked and expired ones too.
pub async fn list(access: &Access, page: PageRequest) -> Result<Page<ApiKey>, AccessError> {
    let rows = store::list(access.pool(), page).await?;
    Ok(Page::from_surplus(rows, page.limit, |key| key.id.0))
}

/// Revokes a key: from the next request on it is refused. `None`: it was revoked before, and nothing changes.
///
/// # Errors
/// Not found.
pub async fn revoke(access: &Access, actor: &Actor, id: ApiKeyId) -> Result<Option<ApiKey>, AccessError> {
    let mut tx = access.pool().begin().await?;
    let Some(api_key) = store::revoke(&mut tx, id).await? else {
        return if store::exists(&mut tx, id).await? { Ok(None) } else { Err(AccessError::NotFound) };
    };
    let entry = Entry::new("api_key.revoke").about(id).of_app(api_key.app_id).without(&api_key);
    audit::record(&mut tx, actor, entry).await?;
    tx.commit().await?;
    Ok(Some(api_key))
}

impl Access {
    /// The actor of the key in an `Authorization: Bearer` header. The admin key works without the database.
    pub async fn actor_of_key(&self, key: &str) -> Result<Option<Actor>, AccessError> {
        if let Some(admin) = self.actor_of_admin_key(key) {
            return Ok(Some(admin));
        }
        let mut parts = key.splitn(4, '_');
        let (Some("hg"), Some(_role), Some(prefix), Some(_secret)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Ok(None);
        };
        if prefix.len() != PREFIX_CHARS || !prefix.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Ok(None);
        }
        let Some(found) = store::find(self.pool(), prefix).await? else { return Ok(None) };
        if !token::is_same(&found.key_hash, &token::hash(key)) {
            return Ok(None);
        }
        let Ok(role) = found.role.parse() else { return Ok(None) };
        if found.is_stale {
            // The time is only shown to people, so a failure to write it must not refuse the key.
            if let Err(error) = store::touch(self.pool(), found.id).await {
                tracing::debug!(%error, "the time a key was last used could not be written");
            }
        }
        Ok(Some(Actor { kind: ActorKind::ApiKey(found.id), name: found.name, role, app_id: found.app_id }))
    }
}
