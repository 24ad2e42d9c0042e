//! Rows past their retention are deleted, and no others; finding them reads no others.

use crate::touched::session;
use chrono::{TimeDelta, Utc};
use model::id::{WorkerId, first_id};
use model::retention::{Retained, Retentions};
use queue::QueueError;
use queue::store::leader::{self, Term};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use std::time::Duration;
use uuid::Uuid;

async fn lead(pool: &PgPool) -> Term {
    sqlx::query("update headgate.leader set expires_at = clock_timestamp() - interval '1 second'")
        .execute(pool)
        .await
        .unwrap();
    let mut connection = pool.acquire().await.unwrap();
    leader::acquire(&mut connection, WorkerId::generate(), Duration::from_secs(60)).await.unwrap().unwrap()
}

async fn delete_expired(pool: &PgPool, term: Term, kept: Retentions) -> Result<bool, QueueError> {
    let services = access::services(kept);
    services[0].run_once(pool, term).await
}

async fn number(pool: &PgPool, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(pool).await.unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn expired_rows_are_deleted_and_the_rest_stays(pool: PgPool) {
    sqlx::raw_sql(
        "insert into headgate.idempotency_keys (owner, method, path, key, body_hash, created_at)
        select 'o', 'POST', '/', k, '', clock_timestamp() - a
        from (values ('new', interval '23 hours'), ('old', interval '25 hours')) v (k, a);
        insert into headgate.users (id, email, name, role)
        values ('00000000-0000-7000-8000-000000000001', 'a@x.test', 'A', 'operator');
        insert into headgate.sessions (token_hash, user_id, expires_at)
        select h::bytea, '00000000-0000-7000-8000-000000000001', clock_timestamp() + a
        from (values ('new', interval '1 hour'), ('old', interval '-1 minute')) v (h, a);
        insert into headgate.sign_in_links (token_hash, user_id, expires_at, used_at)
        select h::bytea, '00000000-0000-7000-8000-000000000001', clock_timestamp() + a, null
        from (values ('new', interval '1 hour'), ('old', interval '-2 days')) v (h, a);
        insert into headgate.sign_in_throttles values ('new', (extract(epoch from now()) * 1000000)::bigint), ('old', 1)",
    )
    .execute(&pool)
    .await
    .unwrap();
    let (old, term) = (lead(&pool).await, lead(&pool).await);
    let left = "select (select count(*) from headgate.idempotency_keys) * 1000 + (select count(*) from headgate.sessions) * 100
        + (select count(*) from headgate.sign_in_links) * 10 + (select count(*) from headgate.sign_in_throttles)";
    assert!(matches!(delete_expired(&pool, old, Retentions::default()).await, Err(QueueError::TermOver)));
    assert_eq!(number(&pool, left).await, 2_222);
    assert!(!delete_expired(&pool, term, Retentions::default()).await.unwrap());
    assert_eq!(number(&pool, left).await, 1_111);
}

/// A line of the audit log of so many days ago.
async fn line(pool: &PgPool, days_ago: i64) {
    let first = first_id(Utc::now() - TimeDelta::days(days_ago)).as_u128();
    sqlx::query(
        "insert into headgate.audit_log (id, at, actor_kind, actor_id, actor_name, role, action, object_kind)
        values ($1, clock_timestamp() - make_interval(days => $2), 'user', 'u', 'U', 'operator', 'job.bulk_cancel', 'job')",
    )
    .bind(Uuid::from_u128(first | Uuid::now_v7().as_u128() & (u128::MAX >> 48)))
    .bind(i32::try_from(days_ago).unwrap())
    .execute(pool)
    .await
    .unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_audit_log_is_kept_for_its_retention(pool: PgPool) {
    let term = lead(&pool).await;
    for days_ago in [9, 11, 12] {
        line(&pool, days_ago).await;
    }
    let kept = Retentions::default().with(Retained::AuditLog, Duration::from_secs(10 * 24 * 60 * 60));
    assert!(!delete_expired(&pool, term, kept).await.unwrap());
    assert_eq!(number(&pool, "select count(*) from headgate.audit_log").await, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn finding_expired_lines_does_not_read_what_is_kept(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let term = lead(&pool).await;
    line(&pool, 400).await;
    sqlx::raw_sql(
        "insert into headgate.audit_log (id, actor_kind, actor_id, actor_name, role, action, object_kind)
        select ('fd990000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'user', 'u', 'U', 'operator', 'a', 'job'
        from generate_series(1, 20000) n",
    )
    .execute(&pool)
    .await
    .unwrap();
    plans.touched();
    assert!(!delete_expired(&pool, term, Retentions::default()).await.unwrap());
    let touched = plans.touched();
    assert!(touched.rows < 50, "{touched:?}");
    assert_eq!(number(&pool, "select count(*) from headgate.audit_log").await, 20_000);
}
