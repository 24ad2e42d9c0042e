//! Rows of `sign_in_throttles`: GCRA in integer microseconds of the database's clock.

use sqlx::PgPool;
use std::time::Duration;

/// `burst` tries at once, then one in each period.
#[derive(Clone, Copy)]
pub(crate) struct Allowance {
    pub(crate) burst: i64,
    pub(crate) period: Duration,
}

/// Takes one try; otherwise returns the time until the next is free.
pub(crate) async fn take(
    pool: &PgPool,
    key: &str,
    allowance: Allowance,
) -> Result<Option<Duration>, sqlx::Error> {
    let emission = micros(allowance.period);
    let tolerance = emission * allowance.burst;
    // A conflict whose `where` fails returns no row; a first insert always passes.
    let taken = sqlx::query_scalar!(
        r#"
        with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us)
        insert into headgate.sign_in_throttles as t (key, tat_us)
        select $1, clock.us + $2 from clock
        on conflict (key) do update
            set tat_us = greatest(t.tat_us, excluded.tat_us - $2) + $2
            where greatest(t.tat_us, excluded.tat_us - $2) + $2 <= excluded.tat_us - $2 + $3
        returning tat_us
        "#,
        key,
        emission,
        tolerance,
    )
    .fetch_optional(pool)
    .await?;
    if taken.is_some() {
        return Ok(None);
    }
    Ok(Some(wait(pool, key, allowance).await?.unwrap_or_default().max(Duration::from_secs(1))))
}

/// Time until the next try is free. `None`: now.
pub(crate) async fn wait(
    pool: &PgPool,
    key: &str,
    allowance: Allowance,
) -> Result<Option<Duration>, sqlx::Error> {
    let emission = micros(allowance.period);
    let tolerance = emission * allowance.burst;
    let wait = sqlx::query_scalar!(
        r#"
        select tat_us + $2 - $3 - (extract(epoch from clock_timestamp()) * 1000000)::bigint as "wait!"
        from headgate.sign_in_throttles where key = $1
        "#,
        key,
        emission,
        tolerance,
    )
    .fetch_optional(pool)
    .await?;
    Ok(wait.and_then(|us| u64::try_from(us).ok()).filter(|us| *us > 0).map(Duration::from_micros))
}

pub(crate) async fn forget(pool: &PgPool, key: &str) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        delete from headgate.sign_in_throttles
        where key = $1 or tat_us < ((extract(epoch from clock_timestamp()) - 3600) * 1000000)::bigint
        "#,
        key
    )
    .execute(pool)
    .await?;
    Ok(())
}

pub(crate) async fn release(pool: &PgPool, key: &str, allowance: Allowance) -> Result<(), sqlx::Error> {
    let emission = micros(allowance.period);
    sqlx::query!("update headgate.sign_in_throttles set tat_us = tat_us - $2 where key = $1", key, emission)
        .execute(pool)
        .await?;
    Ok(())
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 1_000)
}
