//! How long a statement waits for a lock.

use sqlx::{AssertSqlSafe, PgConnection};
use std::time::Duration;

/// Lock time-out of every connection; a transaction may set its own.
pub const DEFAULT_LOCK_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn set_lock_timeout(
    connection: &mut PgConnection,
    timeout: Duration,
) -> Result<(), sqlx::Error> {
    let setting = format!("set lock_timeout = {}", timeout.as_millis());
    sqlx::raw_sql(AssertSqlSafe(setting)).execute(connection).await?;
    Ok(())
}
