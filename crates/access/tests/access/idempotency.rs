use access::idempotency::{Call, Turn, answer, begin, release};
use sqlx::PgPool;

fn call(owner: &str) -> Call {
    Call { owner: owner.into(), method: "POST".into(), path: "/jobs".into(), key: "k1".into() }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_second_call_gets_the_first_ones_answer(pool: PgPool) {
    let call = call("key:1");
    assert!(matches!(begin(&pool, &call, b"body").await.unwrap(), Turn::First));
    assert!(matches!(begin(&pool, &call, b"body").await.unwrap(), Turn::InProgress));
    assert!(matches!(begin(&pool, &call, b"other").await.unwrap(), Turn::OtherBody));
    answer(&pool, &call, 201, Some(b"{}")).await.unwrap();
    match begin(&pool, &call, b"body").await.unwrap() {
        Turn::Done { status: 201, answer: Some(answer) } => assert_eq!(answer, b"{}"),
        turn => panic!("{turn:?}"),
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn keys_of_one_owner_never_meet_anothers(pool: PgPool) {
    assert!(matches!(begin(&pool, &call("key:1"), b"a").await.unwrap(), Turn::First));
    assert!(matches!(begin(&pool, &call("key:2"), b"b").await.unwrap(), Turn::First));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_refused_call_may_be_made_again(pool: PgPool) {
    let call = call("key:1");
    begin(&pool, &call, b"wrong").await.unwrap();
    release(&pool, &call).await.unwrap();
    assert!(matches!(begin(&pool, &call, b"right").await.unwrap(), Turn::First));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_vanished_holder_and_yesterdays_answer_free_the_key(pool: PgPool) {
    let call = call("key:1");
    begin(&pool, &call, b"a").await.unwrap();
    let pass = "update headgate.idempotency_keys set created_at = created_at - interval '3 minutes'";
    sqlx::query(pass).execute(&pool).await.unwrap();
    assert!(matches!(begin(&pool, &call, b"a").await.unwrap(), Turn::First));
    answer(&pool, &call, 200, None).await.unwrap();
    assert!(matches!(begin(&pool, &call, b"a").await.unwrap(), Turn::Done { answer: None, .. }));
    let pass = "update headgate.idempotency_keys set created_at = created_at - interval '25 hours'";
    sqlx::query(pass).execute(&pool).await.unwrap();
    assert!(matches!(begin(&pool, &call, b"b").await.unwrap(), Turn::First));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn of_many_at_once_one_goes_first(pool: PgPool) {
    let turns = (0..8).map(|_| {
        let pool = pool.clone();
        tokio::spawn(async move { begin(&pool, &call("key:1"), b"a").await.unwrap() })
    });
    let mut first = 0;
    for turn in turns.collect::<Vec<_>>() {
        first += i32::from(matches!(turn.await.unwrap(), Turn::First));
    }
    assert_eq!(first, 1);
}
