//! The material of many attempts in one statement: the integration as it is now, the record, its sent state, and the database's time. An
//! integration's settings are read only when they changed since they were last read.

use queue::mutex::lock;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use model::attributes::Attributes;
use model::id::{IntegrationId, JobId};
use model::integration::{IntegrationState, IntegrationType};
use sqlx::{PgConnection, PgPool, types::Json};

use super::integrations::{SealedSecrets, parse_stored};
use crate::database_time::DatabaseTime;

/// What one attempt needs.
#[derive(Clone)]
pub(crate) struct Material {
    pub(crate) time: DatabaseTime,
    pub(crate) state: IntegrationState,
    /// Whether the job waits for a paused re-sync: it belongs to one, and has no live change folded into it.
    pub(crate) is_resync_paused: bool,
    pub(crate) settings: Arc<Settings>,
    pub(crate) record: Option<KnownRecord>,
    pub(crate) sent: Option<SentState>,
    pub(crate) uncertain: Option<Uncertain>,
}

/// What of an integration decides its requests.
pub(crate) struct Settings {
    /// Changes with each change of the row.
    version: i64,
    pub(crate) integration_type: IntegrationType,
    pub(crate) endpoint_url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) secrets: SealedSecrets,
}

/// The settings of integrations as they were last read.
#[derive(Default)]
pub(crate) struct KnownSettings(Mutex<HashMap<IntegrationId, Arc<Settings>>>);

impl KnownSettings {
    /// Beyond so many the cache is emptied: integrations that are gone would stay in it.
    const MAX: usize = 10_000;

    fn get(&self, id: IntegrationId) -> Option<Arc<Settings>> {
        lock(&self.0).get(&id).map(Arc::clone)
    }

    fn set(&self, id: IntegrationId, settings: &Arc<Settings>) {
        let mut all = lock(&self.0);
        if all.len() >= Self::MAX {
            all.clear();
        }
        all.insert(id, Arc::clone(settings));
    }
}

/// The job whose material is read.
pub(crate) struct MaterialQuery {
    pub(crate) integration_id: IntegrationId,
    pub(crate) job_id: JobId,
    /// Type and id.
    pub(crate) record: Option<(String, String)>,
}

#[derive(Clone)]
pub(crate) struct KnownRecord {
    pub(crate) version: i64,
    pub(crate) attributes: Attributes,
    pub(crate) is_deleted: bool,
}

/// What the external system last accepted.
#[derive(Clone)]
pub(crate) struct SentState {
    pub(crate) version: i64,
    pub(crate) attributes: Attributes,
}

/// What may have arrived as well.
#[derive(Clone)]
pub(crate) struct Uncertain {
    /// None: all attributes, or a deletion.
    pub(crate) attributes: Option<Vec<String>>,
}

/// None: the integration is gone. On a connection of [`queue::store::connections::for_lookups`].
pub(crate) async fn read(
    conn: &mut PgConnection,
    known_settings: &KnownSettings,
    queries: &[MaterialQuery],
) -> Result<Vec<Option<Material>>, sqlx::Error> {
    let integrations: Vec<uuid::Uuid> = queries.iter().map(|one| one.integration_id.0).collect();
    let jobs: Vec<uuid::Uuid> = queries.iter().map(|one| one.job_id.0).collect();
    let types: Vec<Option<&str>> =
        queries.iter().map(|one| one.record.as_ref().map(|record| record.0.as_str())).collect();
    let ids: Vec<Option<&str>> =
        queries.iter().map(|one| one.record.as_ref().map(|record| record.1.as_str())).collect();
    // Kept here until the answer comes: another read may replace them in the cache meanwhile.
    let mut settings: HashMap<IntegrationId, Arc<Settings>> = HashMap::new();
    for one in queries {
        if !settings.contains_key(&one.integration_id)
            && let Some(known) = known_settings.get(one.integration_id)
        {
            settings.insert(one.integration_id, known);
        }
    }
    let versions: Vec<Option<i64>> =
        queries.iter().map(|one| settings.get(&one.integration_id).map(|known| known.version)).collect();
    let rows = sqlx::query!(
        r#"
        select g.n as "n!", clock_timestamp() as "now!", i.version as "settings_version!", i.state,
            case when i.is_new then i.integration_type end as integration_type,
            case when i.is_new then i.endpoint_url end as endpoint_url,
            case when i.is_new then i.headers end as "headers: Json<BTreeMap<String, String>>",
            case when i.is_new then i.signing_secret_sealed end as signing_secret,
            case when i.is_new then i.previous_secrets end as "previous_secrets: Vec<Option<Vec<u8>>>",
            case when i.is_new then i.previous_until end as "previous_until: Vec<Option<DateTime<Utc>>>",
            case when i.is_new then i.credentials_sealed end as credentials,
            r.version as "version?", r.attributes as "attributes?: Json<Attributes>", r.deleted_at as "deleted_at?",
            s.version as "sent_version?", s.attributes as "sent_attributes?: Json<Attributes>",
            u.integration_id is not null as "is_uncertain!", u.attributes as "uncertain_attributes?",
            coalesce(j.may_have_arrived, false) as "was_lost!", coalesce(j.is_paused, false) as "is_paused!"
        from (
            select generate_series(1, cardinality($1::uuid[])) as n, unnest($1::uuid[]) as integration_id, unnest($2::uuid[]) as job_id,
                unnest($3::text[]) as record_type, unnest($4::text[]) as record_id, unnest($5::bigint[]) as known_version
        ) g
        cross join lateral (
            select v.version is distinct from g.known_version as is_new, i.id, i.app_id, v.version, i.state,
                i.integration_type, i.endpoint_url, i.headers, i.signing_secret_sealed, i.credentials_sealed,
                array_append(i.older_secrets_sealed, i.previous_secret_sealed) as previous_secrets,
                array_append(i.older_secrets_until, i.previous_secret_until) as previous_until
            from headgate.integrations i
            -- The transaction that wrote the row last: changes with each change of it.
            cross join lateral (select i.xmin::text::bigint as version) v
            where i.id = g.integration_id
            offset 0
        ) i
        left join lateral (
            select r.version, r.attributes, r.deleted_at from headgate.records r
            where r.app_id = i.app_id and r.record_type = g.record_type and r.record_id = g.record_id
            offset 0
        ) r on true
        left join lateral (
            select s.version, s.attributes from headgate.sent_records s
            where s.integration_id = i.id and s.record_type = g.record_type and s.record_id = g.record_id
            offset 0
        ) s on true
        left join lateral (
            select u.integration_id, u.attributes from headgate.uncertain_records u
            where u.integration_id = i.id and u.record_type = g.record_type and u.record_id = g.record_id
            offset 0
        ) u on true
        left join lateral (
            select j.may_have_arrived,
                -- The condition of the claim.
                case when j.follows_batch and j.successor is null
                    then (select b.is_paused from headgate.batches b where b.id = j.batch_id)
                end as is_paused
            from headgate.jobs j where j.id = g.job_id offset 0
        ) j on true
        "#,
        &integrations,
        &jobs,
        &types as &[Option<&str>],
        &ids as &[Option<&str>],
        &versions as &[Option<i64>],
    )
    .fetch_all(conn)
    .await?;

    let mut materials: Vec<Option<Material>> = queries.iter().map(|_| None).collect();
    for row in rows {
        let Some(at) = usize::try_from(row.n - 1).ok().filter(|at| *at < queries.len()) else { continue };
        let id = queries[at].integration_id;
        let settings = match settings.get(&id) {
            Some(known) if known.version == row.settings_version => Arc::clone(known),
            _ => {
                let name = row.integration_type.as_deref().unwrap_or_default();
                let new = Arc::new(Settings {
                    version: row.settings_version,
                    integration_type: parse_stored(name)?,
                    endpoint_url: row.endpoint_url,
                    headers: row.headers.map(|headers| headers.0).unwrap_or_default(),
                    secrets: SealedSecrets {
                        signing_secret: row.signing_secret.unwrap_or_default(),
                        previous_secrets: row.previous_secrets.unwrap_or_default(),
                        previous_until: row.previous_until.unwrap_or_default(),
                        credentials: row.credentials,
                    },
                });
                known_settings.set(id, &new);
                new
            }
        };
        materials[at] = Some(Material {
            time: DatabaseTime::read_now(row.now),
            state: parse_stored(&row.state)?,
            is_resync_paused: row.is_paused,
            settings,
            record: row.version.zip(row.attributes).map(|(version, attributes)| KnownRecord {
                version,
                attributes: attributes.0,
                is_deleted: row.deleted_at.is_some(),
            }),
            sent: row
                .sent_version
                .zip(row.sent_attributes)
                .map(|(version, attributes)| SentState { version, attributes: attributes.0 }),
            uncertain: match (row.was_lost, row.is_uncertain) {
                // A worker lost this job, or the one before it: what it had sent by then is not known.
                (true, _) => Some(Uncertain { attributes: None }),
                (false, true) => Some(Uncertain { attributes: row.uncertain_attributes }),
                (false, false) => None,
            },
        });
    }
    Ok(materials)
}

/// Where the requests of an integration go now.
pub(crate) struct Current {
    pub(crate) time: DatabaseTime,
    pub(crate) state: IntegrationState,
    /// The integration is quiet until then, after a 429.
    pub(crate) quiet_until: Option<DateTime<Utc>>,
    pub(crate) endpoint_url: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) secrets: SealedSecrets,
}

/// What one more request of known items needs. None: the integration is gone.
pub(crate) async fn read_current(
    pool: &PgPool,
    integration_id: IntegrationId,
) -> Result<Option<Current>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        select clock_timestamp() as "now!", i.state, i.endpoint_url, i.headers as "headers!: Json<BTreeMap<String, String>>",
            i.signing_secret_sealed, i.credentials_sealed,
            array_append(i.older_secrets_sealed, i.previous_secret_sealed) as "previous_secrets!: Vec<Option<Vec<u8>>>",
            array_append(i.older_secrets_until, i.previous_secret_until) as "previous_until!: Vec<Option<DateTime<Utc>>>",
            case when l.quiet_until > clock_timestamp() then l.quiet_until end as held_until
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
        time: DatabaseTime::read_now(row.now),
        state: parse_stored(&row.state)?,
        quiet_until: row.held_until,
        endpoint_url: row.endpoint_url,
        headers: row.headers.0,
        secrets: SealedSecrets {
            signing_secret: row.signing_secret_sealed,
            previous_secrets: row.previous_secrets,
            previous_until: row.previous_until,
            credentials: row.credentials_sealed,
        },
    }))
}
