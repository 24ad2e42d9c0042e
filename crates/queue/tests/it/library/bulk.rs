//! Many jobs at once.

use super::printing::{Print, kit, print};
use crate::support::World;
use futures::stream;
use model::job::EnqueueOutcome;
use queue::{Bulk, NewJob, QueueError};
use sqlx::PgPool;
use std::collections::HashSet;

/// The n-th of many jobs, of which every tenth is enqueued twice, far apart.
fn many(n: u32) -> NewJob<Print> {
    NewJob::new(print(n)).deduplication_id((n % 9_000).to_string())
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn ten_thousand_are_accepted_in_one_transaction_and_answered_in_order(pool: PgPool) {
    let kit = kit(&pool).await;
    let mut transaction = kit.client().begin().await.unwrap();
    let accepted = transaction.enqueue_many((0..10_000).map(many)).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(accepted.len(), 10_000);
    let created = accepted.iter().filter(|job| job.outcome == EnqueueOutcome::Created).count();
    assert_eq!((created, accepted.iter().map(|job| job.id).collect::<HashSet<_>>().len()), (9_000, 9_000));
    for first in 0..1_000 {
        assert_eq!(accepted[first].id, accepted[first + 9_000].id, "{first}");
    }
    // The newest payload of duplicates wins, and the order is that of the input.
    let pages: Vec<i64> =
        sqlx::query_scalar("select (payload ->> 'pages')::bigint from headgate.jobs order by created_at, id")
            .fetch_all(&pool)
            .await
            .unwrap();
    assert!(pages.iter().copied().eq((9_000..10_000).chain(1_000..9_000)), "{:?}…", &pages[..5]);
    World { pool: pool.clone(), app_id: kit.client().app_id() }.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_stream_is_accepted_portion_by_portion_up_to_a_fault(pool: PgPool) {
    let kit = kit(&pool).await;
    let client = kit.client();
    let bulk = client.enqueue_stream(stream::iter((0..2_500).map(many))).await.unwrap();
    assert_eq!((bulk, bulk.accepted()), (Bulk { created: 2_500, coalesced: 0 }, 2_500));

    let faulty = (2_400..6_000).map(|n| if n == 4_600 { many(n).priority(999) } else { many(n) });
    let error = client.enqueue_stream(stream::iter(faulty)).await.unwrap_err();
    assert_eq!(error.accepted, Bulk { created: 1_900, coalesced: 100 });
    assert!(matches!(error.source, QueueError::Invalid(_)));
    assert_eq!(error.to_string(), "the jobs after the first 2000 were not accepted");
    let live: i64 = sqlx::query_scalar("select count(*) from headgate.jobs").fetch_one(&pool).await.unwrap();
    assert_eq!(live, 4_400);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn enqueuing_nothing_does_nothing(pool: PgPool) {
    let kit = kit(&pool).await;
    assert!(kit.client().enqueue_many(&pool, Vec::<Print>::new()).await.unwrap().is_empty());
    assert_eq!(kit.client().enqueue_stream(stream::empty::<Print>()).await.unwrap(), Bulk::default());
}
