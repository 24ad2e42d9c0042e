//! The database's clock, for times that are compared with others of it: a host's clock may be off.

use crate::error::Result;
use chrono::{DateTime, Utc};
use sqlx::PgPool;

/// The database's time.
pub async fn now(pool: &PgPool) -> Result<DateTime<Utc>> {
    Ok(sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(pool).await?)
}
