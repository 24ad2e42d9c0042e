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
    /// Whether a row says so, and not only that a worker vanished with the job.
    pub(crate) is_stored: bool,
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
        select clock_timestamp() as "now!", i.integration_type, i.state, i.endpoint_url,
            i.headers as "headers: Json<BTreeMap<String, String>>", i.signing_secret_sealed as signing_secret,
            case when i.previous_secret_until > clock_timestamp() then i.previous_secret_sealed end as previous_secret,
            i.credentials_sealed as credentials,
            r.version as "version?", r.attributes as "attributes?: Json<Attributes>", r.deleted_at as "deleted_at?",
            s.version as "sent_version?", s.attributes as "sent_attributes?: Json<Attributes>",
            u.integration_id is not null as "is_unsure!", u.attributes as "unsure_attributes?",
            coalesce(j.lost_leases, 0) > 0 as "was_lost!"
        from headgate.integrations i
        left join headgate.records r on r.app_id = i.app_id and r.record_type = $2 and r.record_id = $3
        left join headgate.sent_records s on s.integration_id = i.id and s.record_type = $2 and s.record_id = $3
        left join headgate.unsure_records u on u.integration_id = i.id and u.record_type = $2 and u.record_id = $3
        left join headgate.jobs j on j.id = $4
        where i.id = $1
        "#,
        integration_id as IntegrationId,
        record.map(|record| record.0),
        record.map(|record| record.1),
        job_id as JobId,
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
            // A worker vanished with this job: nobody knows what it had sent by then.
            (true, is_stored) => Some(Unsure { attributes: None, is_stored }),
            (false, true) => Some(Unsure { attributes: row.unsure_attributes, is_stored: true }),
            (false, false) => None,
        },
    }))
}
