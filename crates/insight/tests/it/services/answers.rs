//! Responses of external systems by status: collected by the engine, folded by the leader, read folded or not.

use super::delete_expired;
use super::world::{World, lead};
use crate::support::{self, Script, World as Jobs, failed};
use insight::store::stats::answers::{self, answers};
use insight::store::stats::latency::fold;
use model::actor::Scope;
use model::id::{AppId, IntegrationId};
use model::rules::verdict::Verdict;
use model::stats::{Answers, Window};
use queue::QueueError;
use queue::store::counts::latency::{Spans, append};
use sqlx::PgPool;
use std::collections::{BTreeMap, HashMap};

fn sums(answers: &Answers) -> BTreeMap<i16, i64> {
    let mut sums = BTreeMap::new();
    for status in answers.buckets.iter().flat_map(|bucket| &bucket.statuses) {
        *sums.entry(status.status).or_insert(0) += status.count;
    }
    sums
}

async fn append_answers(pool: &PgPool, lane: IntegrationId, statuses: &[i16]) {
    let mut spans = Spans::default();
    statuses.iter().for_each(|status| spans.was_answered(*status));
    append(pool, &HashMap::from([(lane, spans)])).await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn answers_are_the_same_before_and_after_folding(pool: PgPool) {
    let world = World::new(&pool).await;
    let other = world.another_lane().await;
    let term = lead(&pool).await;
    append_answers(&pool, world.lane, &[200, 200, 429, 0]).await;
    append_answers(&pool, other, &[500]).await;
    let expected = BTreeMap::from([(0, 1), (200, 2), (429, 1)]);
    for _ in 0..2 {
        for &window in Window::ALL {
            let read = answers(&pool, Scope::App(world.app), world.lane, window).await.unwrap();
            assert_eq!(read.buckets.len(), usize::try_from(window.seconds() / read.step_seconds).unwrap());
            assert_eq!(sums(&read), expected, "{window:?}");
        }
        let recent = answers::recent(&pool, None).await.unwrap();
        assert_eq!((recent[&world.lane], recent[&other]), ((4, 1), (1, 0)));
        fold(&pool, term).await.unwrap();
    }
    append_answers(&pool, world.lane, &[200]).await;
    fold(&pool, term).await.unwrap();
    assert_eq!(sums(&answers(&pool, Scope::AllApps, world.lane, Window::Hour).await.unwrap())[&200], 3);
    let foreign = answers(&pool, Scope::App(AppId::generate()), world.lane, Window::Hour).await;
    assert!(matches!(foreign, Err(QueueError::NotFound)));

    world.run("update headgate.answers set bucket_at = bucket_at - interval '26 hours'").await;
    delete_expired(&pool, term).await.unwrap();
    assert_eq!(world.number("select count(*) from headgate.answers where step_seconds = 60").await, 0);
    assert!(world.number("select count(*) from headgate.answers where step_seconds = 3600").await > 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_running_engine_counts_the_answers_of_its_attempts(pool: PgPool) {
    let jobs = Jobs::new(&pool).await;
    let lane = jobs.lane().await;
    jobs.accept_plain(lane, 5).await;
    let verdict = || Verdict::GiveUp { pauses_integration: false };
    let refuse = Script::new(move |_| Box::pin(async move { failed(verdict()) }));
    let engine = support::start(&pool, support::config(), refuse);
    support::until_recorded(&engine, 5).await;
    // What it collected is written at shutdown at the latest.
    engine.shutdown().await;
    let read = answers(&pool, Scope::AllApps, lane, Window::Hour).await.unwrap();
    assert_eq!(sums(&read), BTreeMap::from([(503, 5)]));
}
