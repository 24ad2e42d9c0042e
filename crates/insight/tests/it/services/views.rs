//! The leader counts saved views for all processes, and an alert begins and ends once.

use super::world::{World, lead, take_over};
use insight::{services::CountViews, store::saved_views};
use model::filter::JobFilter;
use model::id::UserId;
use model::job::JobStatus;
use model::patch::Change;
use model::saved_view::{NewSavedView, SavedView, SavedViewChanges};
use queue::{QueueError, maintenance::Service as _, store::leader::Term};
use serde_json::json;
use sqlx::PgPool;

async fn a_user(pool: &PgPool, email: &str) -> UserId {
    let id = UserId::generate();
    sqlx::query("insert into headgate.users (id, email, name, role) values ($1, $2, $2, 'support')")
        .bind(id)
        .bind(email)
        .execute(pool)
        .await
        .unwrap();
    id
}

fn failed(world: &World) -> JobFilter {
    JobFilter { integration_id: Some(world.lane), status: Some(JobStatus::Pending), ..JobFilter::default() }
}

async fn save(world: &World, owner: UserId, name: &str, is_shared: bool, alert_at: Option<i32>) -> SavedView {
    let new = NewSavedView {
        name: name.to_owned(),
        query: "status=pending".to_owned(),
        is_shared,
        is_pinned: false,
        alert_at,
    };
    let mut tx = world.pool.begin().await.unwrap();
    let view = saved_views::insert(&mut tx, Some(owner), &new, &failed(world)).await.unwrap();
    tx.commit().await.unwrap();
    view
}

async fn now(world: &World, viewer: UserId, view: &SavedView) -> SavedView {
    let mut conn = world.pool.acquire().await.unwrap();
    saved_views::get(&mut conn, Some(viewer), view.id).await.unwrap()
}

async fn count(world: &World, term: Term) {
    CountViews.run_once(&world.pool, term).await.unwrap();
}

/// Kind, name and reason of the alerts in the feed.
async fn feed(world: &World) -> Vec<(String, String, String)> {
    sqlx::query_as(
        "select kind, name, reason from headgate.system_events where kind in ('alert', 'calm') order by id",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap()
}

/// An alert lasts at least a minute.
async fn a_minute_passes(world: &World) {
    sqlx::query("update headgate.saved_view_counts set alerting_since = alerting_since - interval '61 s'")
        .execute(&world.pool)
        .await
        .unwrap();
}

async fn none_left(world: &World) {
    sqlx::query("delete from headgate.jobs").execute(&world.pool).await.unwrap();
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn views_without_pin_and_alert_are_not_counted(pool: PgPool) {
    let (world, term) = (World::new(&pool).await, lead(&pool).await);
    let ada = a_user(&pool, "ada@x.test").await;
    world.pending(world.lane, 3, 0).await;
    let view = save(&world, ada, "Waiting", false, None).await;
    count(&world, term).await;
    assert_eq!(now(&world, ada, &view).await.count, None);
    let mut conn = pool.acquire().await.unwrap();
    saved_views::pin(&mut conn, ada, view.id, true).await.unwrap();
    assert_eq!(now(&world, ada, &view).await.count, None, "unknown so far, and not zero");
    count(&world, term).await;
    let counted = now(&world, ada, &view).await.count.unwrap();
    assert_eq!((counted.n, counted.is_more), (3, false));
    saved_views::pin(&mut conn, ada, view.id, false).await.unwrap();
    assert_eq!(now(&world, ada, &view).await.count, None, "an old count is not shown as if it were kept");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_alert_begins_once_and_ends_once_with_two_processes(pool: PgPool) {
    let (world, first) = (World::new(&pool).await, lead(&pool).await);
    let ada = a_user(&pool, "ada@x.test").await;
    let view = save(&world, ada, "Waiting", true, Some(3)).await;
    world.pending(world.lane, 2, 0).await;
    count(&world, first).await;
    assert_eq!(now(&world, ada, &view).await.alerting_since, None);
    world.pending(world.lane, 1, 0).await;
    // Both count at the same time, and then the process that takes over.
    tokio::join!(count(&world, first), count(&world, first));
    let since = now(&world, ada, &view).await.alerting_since.unwrap();
    let second = take_over(&pool).await;
    count(&world, second).await;
    assert_eq!(now(&world, ada, &view).await.alerting_since, Some(since));
    let begun = ("alert".to_owned(), "Waiting".to_owned(), "3 jobs match, alert at 3".to_owned());
    assert_eq!(feed(&world).await, std::slice::from_ref(&begun));
    // The former leader writes nothing any more.
    none_left(&world).await;
    a_minute_passes(&world).await;
    let late = CountViews.run_once(&world.pool, first).await;
    assert!(matches!(late, Err(QueueError::TermOver)), "{late:?}");
    tokio::join!(count(&world, second), count(&world, second));
    assert_eq!(now(&world, ada, &view).await.alerting_since, None);
    let over = ("calm".to_owned(), "Waiting".to_owned(), "0 jobs match, alert at 3".to_owned());
    assert_eq!(feed(&world).await, [begun, over]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_alert_of_a_view_that_asks_for_a_payload_value_has_no_number(pool: PgPool) {
    let (world, term) = (World::new(&pool).await, lead(&pool).await);
    let ada = a_user(&pool, "ada@x.test").await;
    let view = save(&world, ada, "Lamps", true, Some(2)).await;
    let payload = serde_json::from_value(json!({"sku": "lamp"})).unwrap();
    let filter = JobFilter { payload: Some(payload), ..failed(&world) };
    let query =
        SavedViewChanges { query: Some("payload.sku=lamp".to_owned()), ..SavedViewChanges::default() };
    let mut conn = pool.acquire().await.unwrap();
    saved_views::change(&mut conn, Some(ada), view.id, &query, Some(&filter)).await.unwrap();
    world.pending(world.lane, 3, 0).await;
    world.run(r#"update headgate.jobs set payload = '{"sku": "lamp"}'"#).await;
    count(&world, term).await;
    none_left(&world).await;
    a_minute_passes(&world).await;
    count(&world, term).await;
    let event = |kind: &str| (kind.to_owned(), "Lamps".to_owned(), "alert at 2".to_owned());
    assert_eq!(feed(&world).await, [event("alert"), event("calm")]);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_private_alert_is_visible_to_its_owner_only(pool: PgPool) {
    let (world, term) = (World::new(&pool).await, lead(&pool).await);
    let (ada, ben) = (a_user(&pool, "ada@x.test").await, a_user(&pool, "ben@x.test").await);
    save(&world, ada, "Mine", false, Some(1)).await;
    world.pending(world.lane, 1, 0).await;
    count(&world, term).await;
    assert_eq!(saved_views::alerting(&pool, Some(ada)).await.unwrap().len(), 1);
    assert!(saved_views::alerting(&pool, Some(ben)).await.unwrap().is_empty());
    assert!(saved_views::alerting(&pool, None).await.unwrap().is_empty());
    assert!(feed(&world).await.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_changed_filter_resets_the_count_and_a_removed_threshold_the_alert(pool: PgPool) {
    let (world, term) = (World::new(&pool).await, lead(&pool).await);
    let ada = a_user(&pool, "ada@x.test").await;
    let view = save(&world, ada, "Waiting", true, Some(1)).await;
    world.pending(world.lane, 1, 0).await;
    count(&world, term).await;
    let mut conn = pool.acquire().await.unwrap();
    let other = JobFilter { status: Some(JobStatus::Failed), ..failed(&world) };
    let query = SavedViewChanges { query: Some("status=failed".to_owned()), ..SavedViewChanges::default() };
    let (before, after) =
        saved_views::change(&mut conn, Some(ada), view.id, &query, Some(&other)).await.unwrap();
    assert_eq!((before.count.map(|count| count.n), after.count), (Some(1), None));
    assert!(after.alerting_since.is_some(), "until it is counted again");
    let never = SavedViewChanges { alert_at: Change::Clear, ..SavedViewChanges::default() };
    let (_, after) = saved_views::change(&mut conn, Some(ada), view.id, &never, None).await.unwrap();
    assert_eq!((after.alert_at, after.alerting_since), (None, None));
    let kinds: Vec<_> = feed(&world).await.into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["alert", "calm"]);
}
