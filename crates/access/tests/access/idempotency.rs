use access::KeyedCall;
use access::idempotency::{CallState, answer, begin};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};
use std::time::Duration;

fn call(owner: &str) -> KeyedCall {
    KeyedCall { owner: owner.into(), method: "POST".into(), path: "/jobs".into(), key: "k1".into() }
}

async fn claim(conn: &mut PgConnection, call: &KeyedCall, body: &[u8]) -> CallState {
    begin(conn, call, body, Duration::from_secs(20)).await.unwrap()
}

async fn short_wait(pool: &PgPool) -> Transaction<'static, Postgres> {
    pool.begin_with("begin; set local lock_timeout = '50ms'").await.unwrap()
}

async fn done(pool: &PgPool, call: &KeyedCall) {
    let mut tx = pool.begin().await.unwrap();
    assert!(matches!(claim(&mut tx, call, b"body").await, CallState::First));
    answer(&mut tx, call, 201, b"{}").await.unwrap();
    tx.commit().await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_second_call_gets_the_first_ones_answer(pool: PgPool) {
    let call = call("key:1");
    done(&pool, &call).await;
    let mut tx = pool.begin().await.unwrap();
    match claim(&mut tx, &call, b"body").await {
        CallState::Done { status: 201, answer: Some(answer) } => assert_eq!(answer, b"{}"),
        state => panic!("{state:?}"),
    }
    assert!(matches!(claim(&mut tx, &call, b"other").await, CallState::OtherBody));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn keys_of_different_owners_do_not_collide(pool: PgPool) {
    done(&pool, &call("key:1")).await;
    done(&pool, &call("key:2")).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_call_is_in_progress_until_its_transaction_ends_and_a_rollback_leaves_nothing(pool: PgPool) {
    let call = call("key:1");
    let mut first = pool.begin().await.unwrap();
    assert!(matches!(claim(&mut first, &call, b"body").await, CallState::First));
    assert!(matches!(claim(&mut *short_wait(&pool).await, &call, b"body").await, CallState::InProgress));
    first.rollback().await.unwrap();
    assert!(matches!(claim(&mut *short_wait(&pool).await, &call, b"other").await, CallState::First));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn once_the_key_is_claimed_locks_are_waited_for_as_long_as_asked(pool: PgPool) {
    let mut tx = short_wait(&pool).await;
    claim(&mut tx, &call("key:1"), b"body").await;
    let wait: String = sqlx::query_scalar("show lock_timeout").fetch_one(&mut *tx).await.unwrap();
    assert_eq!(wait, "20s");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_key_is_free_again_after_24_hours(pool: PgPool) {
    let call = call("key:1");
    done(&pool, &call).await;
    let pass = "update headgate.idempotency_keys set created_at = created_at - interval '25 hours'";
    sqlx::query(pass).execute(&pool).await.unwrap();
    done(&pool, &call).await;
}
