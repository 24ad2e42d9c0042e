//! What time it is: the database's answer, for moments that are compared with others of it. The time of day of a host may be off.

use crate::error::QueueError;
use chrono::{DateTime, Utc};
use sqlx::PgPool;

/// Now.
///
/// # Errors
/// When the database cannot be asked.
pub async fn now(pool: &PgPool) -> Result<DateTime<Utc>, QueueError> {
    Ok(sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(pool).await?)
}
