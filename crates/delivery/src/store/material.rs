//! What one attempt needs to know, in one statement: the integration as it is now, the record, what was last accepted of it, and the
//! database's time.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use model::{
    id::{IntegrationId, JobId},
    integration::{IntegrationState, IntegrationType},
    record::Attributes,
};
use sqlx::{PgPool, types::Json};

use super::integrations::{SealedSecrets, known};

/// What one attempt needs to know.
pub(crate) struct Material {
    pub(crate) now: DateTime<Utc>,
    pub(crate) integration_type: IntegrationType,
    pub(crate) state: IntegrationState,
    pub(crate) endpoint_url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) secrets: SealedSecrets,
    pub(crate) record: Option<KnownRecord>,
    pub(crate) sent: Option<SentState>,
    pub(crate) unsure: Option<Unsure>,
}

/// The record as it is now.
pub(crate) struct KnownRecord {
    pub(crate) version: i64,
    pub(crate) attributes: Attributes,
    pub(crate) is_deleted: bool,
}

/// What was last accepted.
pub(crate) struct SentState {
    pub(crate) version: i64,
    pub(crate) attributes: Attributes,
}

/// What may have arrived besides.
pub(crate) struct Unsure {
    /// None: all attributes, or a deletion.
    pub(crate) attributes: Option<Vec<String>>,
}

/// None: the integration is gone.
pub(crate) async fn read(
    pool: &PgPool,
    integration_id: IntegrationId,
    job_id: JobId,
    record: Option<(&str, &str)>,
) -> Result<Option<Material>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        select now as "now!", integration_type as "integration_type!", state as "state!", endpoint_url,
            headers as "headers!: Json<BTreeMap<String, String>>", signing_secret as "signing_secret!", previous_secret, credentials,
            version, attributes as "attributes: Json<Attributes>", deleted_at, sent_version,
            sent_attributes as "sent_attributes: Json<Attributes>", is_unsure as "is_unsure!", unsure_attributes,
            was_lost as "was_lost!"
        from headgate.delivery_material($1, $2, $3, $4)
        "#,
        integration_id as IntegrationId,
        job_id as JobId,
        record.map(|record| record.0),
        record.map(|record| record.1),
    )
    .fetch_optional(pool)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Material {
        now: row.now,
        integration_type: known(&row.integration_type)?,
        state: known(&row.state)?,
        endpoint_url: row.endpoint_url,
        headers: row.headers.0,
        secrets: SealedSecrets {
            signing_secret: row.signing_secret,
            previous_secret: row.previous_secret,
            credentials: row.credentials,
        },
        record: row.version.zip(row.attributes).map(|(version, attributes)| KnownRecord {
            version,
            attributes: attributes.0,
            is_deleted: row.deleted_at.is_some(),
        }),
        sent: row
            .sent_version
            .zip(row.sent_attributes)
            .map(|(version, attributes)| SentState { version, attributes: attributes.0 }),
        unsure: match (row.was_lost, row.is_unsure) {
            // An attempt of this job, or of the one before it, vanished: nobody knows what it had sent by then.
            (true, _) => Some(Unsure { attributes: None }),
            (false, true) => Some(Unsure { attributes: row.unsure_attributes }),
            (false, false) => None,
        },
    }))
}

/// Where the requests of an integration go just now.
pub(crate) struct Current {
    pub(crate) now: DateTime<Utc>,
    pub(crate) state: IntegrationState,
    /// A 429 asked for quiet until then.
    pub(crate) held_until: Option<DateTime<Utc>>,
    pub(crate) endpoint_url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) secrets: SealedSecrets,
}

/// What one more request needs to know when its items are known. None: the integration is gone.
pub(crate) async fn read_current(
    pool: &PgPool,
    integration_id: IntegrationId,
) -> Result<Option<Current>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        select clock_timestamp() as "now!", i.state, i.endpoint_url, i.headers as "headers!: Json<BTreeMap<String, String>>",
            i.signing_secret_sealed, i.credentials_sealed,
            case when i.previous_secret_until > clock_timestamp() then i.previous_secret_sealed end as previous_secret,
            case when l.held_until > clock_timestamp() then l.held_until end as held_until
        from headgate.integrations i
        join headgate.lanes l on l.integration_id = i.id
        where i.id = $1
        "#,
        integration_id as IntegrationId,
    )
    .fetch_optional(pool)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Current {
        now: row.now,
        state: known(&row.state)?,
        held_until: row.held_until,
        endpoint_url: row.endpoint_url,
        headers: row.headers.0,
        secrets: SealedSecrets {
            signing_secret: row.signing_secret_sealed,
            previous_secret: row.previous_secret,
            credentials: row.credentials_sealed,
        },
    }))
}
