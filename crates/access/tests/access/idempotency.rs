use access::idempotency::{Call, Turn, answer, begin};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};
use std::time::Duration;

fn call(owner: &str) -> Call {
    Call { owner: owner.into(), method: "POST".into(), path: "/jobs".into(), key: "k1".into() }
}

async fn turn(conn: &mut PgConnection, call: &Call, body: &[u8]) -> Turn {
    begin(conn, call, body, Duration::from_secs(20)).await.unwrap()
}

async fn impatient(pool: &PgPool) -> Transaction<'static, Postgres> {
    pool.begin_with("begin; set local lock_timeout = '50ms'").await.unwrap()
}

async fn done(pool: &PgPool, call: &Call) {
    let mut tx = pool.begin().await.unwrap();
    assert!(matches!(turn(&mut tx, call, b"body").await, Turn::First));
    answer(&mut tx, call, 201, b"{}").await.unwrap();
    tx.commit().await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_second_call_gets_the_first_ones_answer(pool: PgPool) {
    let call = call("key:1");
    done(&pool, &call).await;
    let mut tx = pool.begin().await.unwrap();
    match turn(&mut tx, &call, b"body").await {
        Turn::Done { status: 201, answer: Some(answer) } => assert_eq!(answer, b"{}"),
        turn => panic!("{turn:?}"),
    }
    assert!(matches!(turn(&mut tx, &call, b"other").await, Turn::OtherBody));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn keys_of_one_owner_never_meet_anothers(pool: PgPool) {
    done(&pool, &call("key:1")).await;
    done(&pool, &call("key:2")).await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_call_is_in_progress_until_its_transaction_ends_and_leaves_nothing_when_that_is_undone(
    pool: PgPool,
) {
    let call = call("key:1");
    let mut first = pool.begin().await.unwrap();
    assert!(matches!(turn(&mut first, &call, b"body").await, Turn::First));
    assert!(matches!(turn(&mut *impatient(&pool).await, &call, b"body").await, Turn::InProgress));
    first.rollback().await.unwrap();
    assert!(matches!(turn(&mut *impatient(&pool).await, &call, b"other").await, Turn::First));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn who_has_the_turn_waits_for_other_locks_as_long_as_it_says(pool: PgPool) {
    let mut tx = impatient(&pool).await;
    turn(&mut tx, &call("key:1"), b"body").await;
    let wait: String = sqlx::query_scalar("show lock_timeout").fetch_one(&mut *tx).await.unwrap();
    assert_eq!(wait, "20s");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn yesterdays_answer_frees_the_key(pool: PgPool) {
    let call = call("key:1");
    done(&pool, &call).await;
    let pass = "update headgate.idempotency_keys set created_at = created_at - interval '25 hours'";
    sqlx::query(pass).execute(&pool).await.unwrap();
    done(&pool, &call).await;
}
