//! The integration every app has from the start: jobs that name none run there, and external workers take them.

use crate::error::Result;
use model::id::{AppId, IntegrationId};
use model::integration::DEFAULT_MAX_CONCURRENCY;
use sqlx::PgConnection;

const NAME: &str = "workers";

/// Creates an app's built-in integration and its lane, unless it has one. The app is new, or the caller has locked its row.
///
/// `signing_secret_sealed` is empty where the process has no key to encrypt one; a rotation then creates it.
pub async fn ensure(
    connection: &mut PgConnection,
    app_id: AppId,
    integration_id: IntegrationId,
    signing_secret_sealed: &[u8],
) -> Result<()> {
    sqlx::query!(
        r#"
        with made as (
            insert into headgate.integrations (id, app_id, name, integration_type, is_built_in, max_concurrency, signing_secret_sealed)
            select $1, $2, $3, 'external', true, $4, $5
            where not exists (select 1 from headgate.integrations where app_id = $2 and is_built_in)
            returning id, app_id, max_concurrency
        )
        insert into headgate.lanes (integration_id, app_id, is_external, max_concurrency)
        select id, app_id, true, max_concurrency from made
        "#,
        integration_id.0,
        app_id.0,
        NAME,
        DEFAULT_MAX_CONCURRENCY,
        signing_secret_sealed,
    )
    .execute(connection)
    .await?;
    Ok(())
}
