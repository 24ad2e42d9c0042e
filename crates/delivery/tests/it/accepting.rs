//! Events become records, and records jobs.

use chrono::{DateTime, TimeDelta, Utc};
use delivery::DeliveryError;
use model::actor::Scope;
use model::app::NewApp;
use model::event::{Accepted, Event, EventType};
use model::id::AppId;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

use crate::support::{World, faults, object};

const UNREACHABLE: &str = "https://shop.invalid/hook";

fn accepted(accepted: i64, records_changed: i64, jobs_created: i64, jobs_coalesced: i64) -> Accepted {
    let unchanged = accepted - records_changed;
    Accepted { accepted, records_changed, jobs_created, jobs_coalesced, unchanged, repeated: 0, stale: 0 }
}

async fn record(world: &World, id: &str) -> (i64, Option<Value>) {
    let record = world.delivery.record(world.scope, world.app, "product", id).await.unwrap().record;
    (record.version, record.deleted_at.is_none().then_some(Value::Object(record.attributes)))
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn events_change_records_and_make_one_job_each(pool: PgPool) {
    let world = World::new(pool).await;
    let shop = world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    let first = world.accept([
        json!({"type": "record.created", "attributes": {"a": 1}}),
        json!({"record_id": "2", "attributes": {"b": 1}}),
        json!({"attributes": {"c": null}}),
        json!({"attributes": {"c": null}}),
    ]);
    assert_eq!(first.await, accepted(4, 3, 2, 1));
    assert_eq!(record(&world, "1").await, (2, Some(json!({"a": 1, "c": null}))));

    assert_eq!(world.set(json!({"a": 1})).await, accepted(1, 0, 0, 0));
    assert_eq!(world.set(json!({"a": {"x": [1, 2.5]}})).await, accepted(1, 1, 0, 1));
    assert_eq!(world.set(json!({"a": {"x": [1, 2.5]}})).await, accepted(1, 0, 0, 0));
    assert_eq!(
        world.accept([json!({"type": "record.replaced", "attributes": {"z": 1}})]).await,
        accepted(1, 1, 0, 1)
    );
    assert_eq!(record(&world, "1").await, (4, Some(json!({"z": 1}))));
    // The attributes of a deletion are ignored.
    let deleted = json!({"type": "record.deleted", "attributes": {"a": 5, "name": "gone"}});
    assert_eq!(world.accept([deleted]).await, accepted(1, 1, 0, 1));
    assert_eq!(world.accept([json!({"type": "record.deleted"})]).await, accepted(1, 0, 0, 0));
    assert_eq!(record(&world, "1").await, (5, None));
    assert_eq!(world.set(json!({"again": true})).await, accepted(1, 1, 0, 1));
    assert_eq!(record(&world, "1").await, (6, Some(json!({"again": true}))));
    assert_eq!(
        world.accept([json!({"type": "record.deleted", "record_id": "nobody"})]).await,
        accepted(1, 0, 0, 0)
    );

    let jobs = world.jobs(shop).await;
    assert_eq!(jobs.len(), 2);
    let job = jobs.iter().find(|job| job.record_id.as_deref() == Some("1")).unwrap();
    assert_eq!((job.folded, job.max_attempts), (5, 10));
    assert!(!job.correlation_id.is_empty());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_most_urgent_event_names_the_job(pool: PgPool) {
    let world = World::new(pool).await;
    let shop =
        world.integration(json!({"endpoint_url": UNREACHABLE, "timeout_ms": 1234, "max_attempts": 3})).await;
    world.accept([json!({"attributes": {"a": 1}, "correlation_id": "order-7"})]).await;
    world.accept([json!({"type": "attribute.update", "attributes": {"a": 2}})]).await;
    world.accept([json!({"attributes": {"a": 3}})]).await;
    let job = world.jobs(shop).await.remove(0);
    assert_eq!(job.job_type, EventType::AttributeUpdate.as_str());
    assert_eq!((job.max_attempts, job.correlation_id.as_str()), (3, "order-7"));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_go_to_interested_integrations_alone(pool: PgPool) {
    let world = World::new(pool).await;
    let all = world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    let orders = world.integration(json!({"endpoint_url": UNREACHABLE, "record_types": ["order"]})).await;
    let external = world.integration(json!({"integration_type": "external"})).await;
    let disabled = world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    let paused = world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    let mut conn = world.pool.acquire().await.unwrap();
    let off = serde_json::from_value(json!({"state": "disabled"})).unwrap();
    world.delivery.update_integration(&mut conn, world.scope, disabled, off).await.unwrap();
    world.delivery.pause_integration(&mut conn, world.scope, paused, Some("holiday")).await.unwrap();
    drop(conn);
    let both = world
        .accept([json!({"attributes": {"a": 1}}), json!({"record_type": "order", "attributes": {"b": 1}})]);
    assert_eq!(both.await, accepted(2, 2, 5, 0));
    for (integration, jobs) in [(all, 2), (orders, 1), (external, 0), (disabled, 0), (paused, 2)] {
        assert_eq!(world.jobs(integration).await.len(), jobs);
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_request_is_stored_whole_or_not_at_all(pool: PgPool) {
    let world = World::new(pool).await;
    let events = |fields: Vec<Value>| fields.into_iter().map(|one| world.event(one)).collect::<Vec<_>>();
    let good = json!({"attributes": {"a": 1}});
    let accept = |fields| world.delivery.accept_events(world.scope, events(fields));
    let bad = vec![good.clone(), json!({"record_id": ""}), json!({"attributes": {"x/y": ["ok", "\u{0}"]}})];
    assert_eq!(faults(accept(bad).await), ["/1/record_id", "/2/attributes/x~1y/1"]);
    let single = world.delivery.accept_event(world.scope, world.event(json!({"attributes": {"x": "\u{0}"}})));
    assert_eq!(faults(single.await), ["/attributes/x"]);

    let half = "x".repeat(500_000);
    let large = vec![good.clone(), json!({"attributes": {"b": half}}), json!({"attributes": {"c": half}})];
    let error = accept(large).await.unwrap_err();
    assert!(
        matches!(&error, DeliveryError::TooLarge(faults) if faults.0[0].pointer == "/2/attributes"),
        "{error:?}"
    );
    assert!(error.to_string().contains("limit: record 1 MB"));
    assert_eq!(faults(accept(vec![good.clone(); 1_001]).await), [""]);

    let foreign = json!({"app_id": AppId::generate()});
    for scope in [world.scope, Scope::AllApps] {
        let error = world
            .delivery
            .accept_events(scope, events(vec![good.clone(), foreign.clone()]))
            .await
            .unwrap_err();
        assert!(
            matches!(error, DeliveryError::NotFound { what: "app", pointer: Some(at) } if at == "/1/app_id")
        );
    }
    assert!(world.delivery.record(world.scope, world.app, "product", "1").await.is_err());
    assert_eq!(accept(vec![good; 1_000]).await.unwrap(), accepted(1_000, 1, 0, 0));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn numbers_that_postgres_writes_another_way_are_no_change(pool: PgPool) {
    let world = World::new(pool).await;
    let numbers: Value = serde_json::from_str(
        r#"{"a": 1e17, "b": 1.0, "c": 1e-9, "d": 12345678901234567890123, "e": -0.0, "f": 18446744073709551615, "g": 1.5e300}"#,
    )
    .unwrap();
    assert_eq!(world.set(numbers.clone()).await.records_changed, 1);
    assert_eq!(world.set(numbers.clone()).await.records_changed, 0);
    assert_eq!(
        world.accept([json!({"type": "record.replaced", "attributes": numbers})]).await.records_changed,
        0
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn requests_that_make_the_same_records_at_once_lose_nothing(pool: PgPool) {
    let world = std::sync::Arc::new(World::new(pool).await);
    let shop = world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    let mut requests = tokio::task::JoinSet::new();
    for request in 0..8 {
        let world = world.clone();
        requests.spawn(async move {
            let events = (0..20).map(|n| {
                // Half of them in the opposite order.
                let n = if request % 2 == 0 { n } else { 19 - n };
                json!({"record_id": n.to_string(), "attributes": {format!("by_{request}"): n}})
            });
            world.accept(events).await
        });
    }
    let mut sum = Accepted::default();
    while let Some(one) = requests.join_next().await {
        let one = one.unwrap();
        sum.jobs_created += one.jobs_created;
        sum.jobs_coalesced += one.jobs_coalesced;
        sum.records_changed += one.records_changed;
    }
    assert_eq!((sum.records_changed, sum.jobs_created, sum.jobs_coalesced), (160, 20, 140));
    assert_eq!(world.jobs(shop).await.len(), 20);
    for id in ["0", "7", "19"] {
        let (version, attributes) = record(&world, id).await;
        assert_eq!((version, object(attributes.unwrap()).len()), (8, 8));
    }
    let total = world.status(shop).await.records_total;
    assert_eq!(total, 20);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn many_large_records_are_changed_in_portions(pool: PgPool) {
    let world = World::new(pool).await;
    let large = "x".repeat(900_000);
    for n in 0..24 {
        world.accept([json!({"record_id": n.to_string(), "attributes": {"large": large}})]).await;
    }
    let small = (0..24).map(|n| json!({"record_id": n.to_string(), "attributes": {"small": n}}));
    assert_eq!(world.accept(small).await, accepted(24, 24, 0, 0));
    let (version, attributes) = record(&world, "23").await;
    assert_eq!((version, attributes.unwrap()["small"].clone()), (2, json!(23)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn requests_that_come_at_once_are_each_answered_as_if_they_had_come_alone(pool: PgPool) {
    let world = World::new(pool).await;
    let shop = world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    world.accept([json!({"record_id": "large", "attributes": {"x": "y".repeat(900_000)}})]).await;
    // The only connection is taken until all of them wait: they are accepted together.
    let narrow = PgPoolOptions::new()
        .max_connections(1)
        .connect_with((*world.pool.connect_options()).clone())
        .await
        .unwrap();
    let connection = narrow.acquire().await.unwrap();
    let delivery = world.delivery.clone().with_pool(narrow);
    let send = |fields: Value, app: Option<AppId>| {
        let (delivery, mut event) = (delivery.clone(), world.event(fields));
        event.app_id = app.unwrap_or(event.app_id);
        tokio::spawn(async move { delivery.accept_event(Scope::AllApps, event).await })
    };
    let good: Vec<_> = (0..20)
        .map(|n| send(json!({"record_id": format!("r-{}", n % 10), "attributes": {"n": n}}), None))
        .collect();
    let unknown = send(json!({}), Some(AppId::generate()));
    let too_large = send(json!({"record_id": "large", "attributes": {"z": "y".repeat(200_000)}}), None);
    let more = send(json!({"record_id": "r-0", "attributes": {"last": true}}), None);
    tokio::task::yield_now().await;
    drop(connection);
    let mut sums = (0, 0, 0);
    for one in good {
        let one = one.await.unwrap().unwrap();
        assert_eq!((one.accepted, one.records_changed), (1, 1));
        sums = (sums.0 + one.accepted, sums.1 + one.jobs_created, sums.2 + one.jobs_coalesced);
    }
    assert_eq!(sums, (20, 10, 10));
    assert!(matches!(unknown.await.unwrap(), Err(DeliveryError::NotFound { what: "app", .. })));
    let refused = faults(too_large.await.unwrap());
    assert!(refused.iter().any(|fault| fault.starts_with("/attributes")), "{refused:?}");
    assert_eq!(more.await.unwrap().unwrap(), accepted(1, 1, 0, 1));
    assert_eq!(world.jobs(shop).await.len(), 11);
    assert_eq!(record(&world, "r-0").await, (3, Some(json!({"n": 10, "last": true}))));
}

/// Only the requests that change a locked record wait for it, whether they came together with others or before them.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_locked_record_delays_no_other_request(pool: PgPool) {
    let world = World::new(pool).await;
    world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    world.accept([json!({"record_id": "locked", "attributes": {"n": 0}})]).await;
    let mut holding = world.pool.begin().await.unwrap();
    sqlx::query("select from headgate.records where record_id = 'locked' for update")
        .execute(&mut *holding)
        .await
        .unwrap();
    let few = PgPoolOptions::new()
        .max_connections(8)
        .connect_with((*world.pool.connect_options()).clone())
        .await
        .unwrap();
    // All connections are taken until all requests wait: they come together.
    let mut connections = Vec::new();
    for _ in 0..8 {
        connections.push(few.acquire().await.unwrap());
    }
    let delivery = world.delivery.clone().with_pool(few);
    let send = |id: String, n: i64| {
        let (delivery, event) =
            (delivery.clone(), world.event(json!({"record_id": id, "attributes": {"n": n}})));
        tokio::spawn(async move { delivery.accept_event(Scope::AllApps, event).await.unwrap() })
    };
    let mut others = vec![send("r-0".to_owned(), 0)];
    // More than may wait at once.
    let waits: Vec<_> = (1..=6).map(|n| send("locked".to_owned(), n)).collect();
    others.extend((1..10).map(|n| send(format!("r-{n}"), n)));
    tokio::task::yield_now().await;
    drop(connections);
    for other in others {
        assert_eq!(other.await.unwrap(), accepted(1, 1, 1, 0));
    }
    // Requests that come while the record is still locked.
    for n in 10..13 {
        assert_eq!(send(format!("r-{n}"), n).await.unwrap(), accepted(1, 1, 1, 0));
    }
    assert!(waits.iter().all(|one| !one.is_finished()));
    holding.rollback().await.unwrap();
    for one in waits {
        assert_eq!(one.await.unwrap(), accepted(1, 1, 0, 1));
    }
    assert_eq!(record(&world, "locked").await.0, 7);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn records_and_sent_state_are_deleted_with_their_app_or_integration(pool: PgPool) {
    let world = World::new(pool).await;
    let receiver = crate::support::Receiver::start().await;
    let shop = world.integration(json!({"endpoint_url": receiver.url})).await;
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    assert_eq!(world.number("select count(*) from headgate.sent_records").await, 1);
    sqlx::query("delete from headgate.integrations where id = $1")
        .bind(shop)
        .execute(&world.pool)
        .await
        .unwrap();
    assert_eq!(world.number("select count(*) from headgate.sent_records").await, 0);
    sqlx::query("delete from headgate.apps").execute(&world.pool).await.unwrap();
    assert_eq!(world.number("select count(*) from headgate.records").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_event_with_a_known_id_changes_nothing_for_a_day(pool: PgPool) {
    let world = World::new(pool).await;
    world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    let event = |n: i64| json!({"id": "e-1", "attributes": {"a": n}});
    assert_eq!(world.accept([event(1), json!({"id": "e-2", "attributes": {"b": 1}})]).await.repeated, 0);
    // In another request, alone or with others, and twice in one.
    let repeated = Accepted { accepted: 1, repeated: 1, ..Accepted::default() };
    assert_eq!(world.accept([event(2)]).await, repeated);
    let among =
        world.accept([event(3), json!({"id": "e-3", "attributes": {"b": 2}}), json!({"id": "e-3"})]).await;
    assert_eq!((among.accepted, among.records_changed, among.repeated), (3, 1, 2));
    assert_eq!(record(&world, "1").await, (3, Some(json!({"a": 1, "b": 2}))));
    // The same id of another app is another event.
    let mut conn = world.pool.acquire().await.unwrap();
    let other = NewApp { name: "Other".into(), slug: None };
    let other = world.delivery.create_app(&mut conn, other).await.unwrap();
    let theirs = Event { app_id: other.id, ..world.event(event(7)) };
    let accepted = world.delivery.accept_event(Scope::AllApps, theirs).await.unwrap();
    assert_eq!(accepted.records_changed, 1);
    let pass = "update headgate.event_ids set accepted_at = accepted_at - interval '25 hours'";
    sqlx::query(pass).execute(&world.pool).await.unwrap();
    assert_eq!(world.accept([event(4)]).await.records_changed, 1);
    assert_eq!(world.accept([event(5)]).await.repeated, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_refused_request_stores_no_event_id(pool: PgPool) {
    let world = World::new(pool).await;
    let large = json!({"id": "e-2", "attributes": {"a": "x".repeat(1_100_000)}});
    let event = json!({"id": "e-1", "attributes": {"a": 1}});
    let both =
        world.delivery.accept_events(world.scope, vec![world.event(event.clone()), world.event(large)]).await;
    assert!(matches!(both, Err(DeliveryError::TooLarge(_))), "{both:?}");
    assert_eq!(world.accept([event]).await.records_changed, 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn what_a_newer_event_set_stays_in_later_requests(pool: PgPool) {
    let world = World::new(pool).await;
    let shop = world.integration(json!({"endpoint_url": UNREACHABLE})).await;
    let event = |second: u32, kind: &str, attributes: Value| json!({"type": kind, "attributes": attributes, "occurred_at": format!("2026-01-01T00:00:{second:02}Z")});
    world.accept([event(20, "record.updated", json!({"a": 20, "c": "x".repeat(20_000)}))]).await;
    let jobs = world.jobs(shop).await.len();
    let stale = world.accept([event(10, "record.updated", json!({"a": 10}))]).await;
    assert_eq!(stale, Accepted { accepted: 1, stale: 1, ..Accepted::default() });
    let partly = world.accept([event(10, "record.updated", json!({"a": 10, "b": 10}))]).await;
    assert_eq!((partly.records_changed, partly.stale), (1, 1));
    // The same value with a newer time: the time is kept, without a new version or a job.
    let before = record(&world, "1").await;
    let same = world.accept([event(30, "record.updated", json!({"a": 20}))]).await;
    assert_eq!((same.unchanged, same.jobs_created + same.jobs_coalesced), (1, 0));
    assert_eq!(record(&world, "1").await, before);
    assert_eq!(world.accept([event(25, "record.updated", json!({"a": 25}))]).await.stale, 1);
    assert_eq!(world.jobs(shop).await.len(), jobs);
    // The time of a deletion is kept even for a record that does not exist.
    let mut unknown = event(20, "record.deleted", json!({}));
    unknown["record_id"] = json!("2");
    assert_eq!(world.accept([unknown.clone()]).await.unchanged, 1);
    (unknown["type"], unknown["occurred_at"]) = (json!("record.created"), json!("2026-01-01T00:00:10Z"));
    assert_eq!(world.accept([unknown.clone()]).await.stale, 1);
    unknown["occurred_at"] = json!("2026-01-01T00:00:30Z");
    assert_eq!(world.accept([unknown]).await.records_changed, 1);
    assert_eq!(record(&world, "2").await.0, 1);
}

/// A database whose clock is ahead of this process's.
async fn world_whose_clock_is_ahead_by(pool: &PgPool, ahead: &str) -> World {
    let clock = format!(
        "create schema skewed; create function skewed.clock_timestamp() returns timestamptz language sql
             as $$ select pg_catalog.clock_timestamp() + interval '{ahead}' $$"
    );
    sqlx::raw_sql(AssertSqlSafe(clock)).execute(pool).await.unwrap();
    let skewed =
        pool.connect_options().as_ref().clone().options([("search_path", "skewed,pg_catalog,public")]);
    World::new(PgPoolOptions::new().max_connections(5).connect_lazy_with(skewed)).await
}

/// Accepts an event that occurred so many seconds after the database's now.
async fn set_at(world: &World, seconds: i64, value: i64) -> Accepted {
    let now: DateTime<Utc> =
        sqlx::query_scalar("select clock_timestamp()").fetch_one(&world.pool).await.unwrap();
    let at = now + TimeDelta::seconds(seconds);
    world.accept([json!({"attributes": {"a": value}, "occurred_at": at})]).await
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_host_whose_clock_is_behind_orders_events_correctly(pool: PgPool) {
    let world = world_whose_clock_is_ahead_by(&pool, "1 hour").await;
    assert_eq!(set_at(&world, -60, 1).await.records_changed, 1);
    assert_eq!(set_at(&world, -120, 2).await.stale, 1);
    assert_eq!(set_at(&world, 0, 3).await.records_changed, 1);
    assert_eq!(record(&world, "1").await, (2, Some(json!({"a": 3}))));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_host_whose_clock_is_ahead_stores_no_time_in_the_future(pool: PgPool) {
    let world = world_whose_clock_is_ahead_by(&pool, "-1 hour").await;
    for (at, value) in [(1_800, 1), (0, 2), (251_000_000_000, 3), (0, 4)] {
        assert_eq!(set_at(&world, at, value).await.records_changed, 1, "{value}");
    }
    assert_eq!(record(&world, "1").await, (4, Some(json!({"a": 4}))));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_caller_learns_why_the_database_is_unavailable(pool: PgPool) {
    let world = World::new(pool).await;
    let missing = world.pool.connect_options().as_ref().clone().database("no_such_database");
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(missing);
    let delivery = world.delivery.clone().with_pool(pool);
    let event = world.event(json!({"attributes": {"a": 1}}));
    let error = delivery.accept_event(world.scope, event).await.unwrap_err();
    let DeliveryError::Queue(error) = error else { panic!("{error}") };
    assert!(error.is_unavailable());
    assert!(error.with_causes().contains("no_such_database"), "{}", error.with_causes());
}
