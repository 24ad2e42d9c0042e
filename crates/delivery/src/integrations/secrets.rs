//! An integration's secrets, each sealed for its row and column.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use model::{actor::Scope, id::IntegrationId, integration::IntegrationWithSecret};
use sqlx::PgConnection;

use crate::http::signature::SigningSecret;
use crate::secrets::{Place, SealError};
use crate::store::integrations::{RowLock, SealedSecrets};
use crate::{Delivery, DeliveryError, MasterKey, Secret, store};

/// Headers that authenticate requests.
pub(crate) type Credentials = BTreeMap<String, String>;

fn place(id: IntegrationId, column: &'static str) -> Place {
    Place { table: "integrations", row: id.0, column }
}

const SIGNING_SECRET: &str = "signing_secret_sealed";
const PREVIOUS_SECRET: &str = "previous_secret_sealed";
const CREDENTIALS: &str = "credentials_sealed";

/// Each adds a signature to every request, and many servers accept no more than 8 kB of headers.
const MAX_PREVIOUS_SECRETS: usize = 8;

pub(super) fn seal_signing_secret(
    key: &MasterKey,
    id: IntegrationId,
    secret: &SigningSecret,
) -> Result<Vec<u8>, SealError> {
    key.seal(place(id, SIGNING_SECRET), secret.as_bytes())
}

pub(super) fn seal_credentials(
    key: &MasterKey,
    id: IntegrationId,
    headers: &Credentials,
) -> Result<Vec<u8>, SealError> {
    let json = serde_json::to_vec(headers).map_err(|_| SealError::NotSealed)?;
    key.seal(place(id, CREDENTIALS), &json)
}

/// The secrets that sign now, newest first.
pub(crate) fn open_signing_secrets(
    key: &MasterKey,
    id: IntegrationId,
    sealed: &SealedSecrets,
    now: DateTime<Utc>,
) -> Result<Vec<SigningSecret>, SealError> {
    let current = key.open(place(id, SIGNING_SECRET), &sealed.signing_secret);
    let previous = sealed.still_signing(now).map(|sealed| key.open(place(id, PREVIOUS_SECRET), sealed));
    std::iter::once(current).chain(previous).map(|opened| opened.map(SigningSecret::from_bytes)).collect()
}

pub(crate) fn open_credentials(
    key: &MasterKey,
    id: IntegrationId,
    sealed: &SealedSecrets,
) -> Result<Secret<Credentials>, SealError> {
    let Some(sealed) = &sealed.credentials else { return Ok(Secret::new(Credentials::new())) };
    let json = key.open(place(id, CREDENTIALS), sealed)?;
    serde_json::from_slice(json.expose()).map(Secret::new).map_err(|_| SealError::Damaged)
}

impl Delivery {
    /// Checks on the oldest secret that the master key is the one it was sealed with: with another one, every attempt at every job would
    /// fail.
    ///
    /// # Errors
    /// [`DeliveryError::Sealed`] when it is another one.
    pub async fn check_master_key(&self) -> Result<(), DeliveryError> {
        if let Some((id, sealed)) = store::integrations::oldest_signing_secret(&self.pool).await? {
            self.key.open(place(id, SIGNING_SECRET), &sealed)?;
        }
        Ok(())
    }

    /// Makes a new signing secret, which is returned this once. The previous one signs as well for 24 hours, so that receivers can change
    /// over, however often the secret is rotated meanwhile.
    ///
    /// # Errors
    /// `NotFound`; `too-many-secrets` when as many sign as a request has room for; [`DeliveryError::Sealed`] when the stored secret cannot be
    /// decrypted.
    pub async fn rotate_secret(
        &self,
        conn: &mut PgConnection,
        scope: Scope,
        id: IntegrationId,
    ) -> Result<IntegrationWithSecret, DeliveryError> {
        store::integrations::lock(conn, scope, id, RowLock::Change).await?;
        let sealed = store::integrations::secrets(&mut *conn, id).await?;
        if sealed.still_signing(Utc::now()).count() >= MAX_PREVIOUS_SECRETS {
            return Err(DeliveryError::Conflict {
                code: "too-many-secrets",
                detail: format!(
                    "{MAX_PREVIOUS_SECRETS} previous secrets of the last 24 hours still sign: wait until one of them expires."
                ),
            });
        }
        // Sealed again for the other column: a value can be decrypted in its own column alone.
        let previous = if sealed.signing_secret.is_empty() {
            // Made by a program without a master key: there is no previous secret.
            None
        } else {
            let current = self.key.open(place(id, SIGNING_SECRET), &sealed.signing_secret)?;
            Some(self.key.seal(place(id, PREVIOUS_SECRET), current.expose())?)
        };
        let secret = SigningSecret::generate();
        let new = seal_signing_secret(&self.key, id, &secret)?;
        store::integrations::rotate_secret(conn, id, &new, previous.as_deref()).await?;
        let integration = store::integrations::get(conn, scope, id).await?;
        Ok(IntegrationWithSecret { integration, signing_secret: secret.shown() })
    }
}
