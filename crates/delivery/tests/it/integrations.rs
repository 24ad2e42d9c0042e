//! Apps and integrations, their lanes, limits and secrets.

use delivery::{DeliveryError, deletions};
use model::actor::Scope;
use model::app::NewApp;
use model::deletion::DeleteOptions;
use model::id::{AppId, IntegrationId};
use model::integration::IntegrationType;
use model::integration_query::IntegrationFilter;
use model::page::PageRequest;
use model::record::RecordFilter;
use model::record_page::RecordPageRequest;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{Receiver, World, faults};

async fn lane(world: &World, id: IntegrationId) -> (bool, i32, Vec<String>) {
    sqlx::query_as(
        "select is_open, max_concurrency, limit_keys from headgate.lanes where integration_id = $1",
    )
    .bind(id.0)
    .fetch_one(&world.pool)
    .await
    .unwrap()
}

async fn limits(world: &World) -> Vec<(String, i32, i32)> {
    sqlx::query_as("select key, requests, per_seconds from headgate.rate_limits order by key")
        .fetch_all(&world.pool)
        .await
        .unwrap()
}

fn code(error: &DeliveryError) -> &'static str {
    match error {
        DeliveryError::Conflict { code, .. } => code,
        other => panic!("{other:?}"),
    }
}

fn cancelling() -> DeleteOptions {
    DeleteOptions { cancel_jobs: true, ..DeleteOptions::default() }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_app_has_a_slug_of_its_own_and_a_built_in_integration(pool: PgPool) {
    let world = World::new(pool).await;
    let mut conn = world.pool.acquire().await.unwrap();
    let second =
        world.delivery.create_app(&mut conn, NewApp { name: "Nordwind".into(), slug: None }).await.unwrap();
    assert_eq!(second.slug, "nordwind-2");
    let taken = NewApp { name: "X".into(), slug: Some("nordwind".into()) };
    assert_eq!(code(&world.delivery.create_app(&mut conn, taken).await.unwrap_err()), "slug-taken");
    let renamed = serde_json::from_value(json!({"slug": "nordwind"})).unwrap();
    let error = world.delivery.update_app(&mut conn, Scope::AllApps, second.id, renamed).await.unwrap_err();
    assert_eq!(code(&error), "slug-taken");

    let all = world
        .delivery
        .integrations(world.scope, IntegrationFilter::default(), PageRequest::default())
        .await
        .unwrap();
    assert_eq!(all.items.len(), 1);
    let workers = &all.items[0];
    assert_eq!(
        (workers.name.as_str(), workers.integration_type, workers.is_built_in),
        ("workers", IntegrationType::External, true)
    );
    let error = world
        .delivery
        .delete_integration(&mut conn, world.scope, workers.id, &cancelling(), "test")
        .await
        .unwrap_err();
    assert_eq!(code(&error), "built-in");
    let off = serde_json::from_value(json!({"state": "disabled"})).unwrap();
    assert_eq!(
        faults(world.delivery.update_integration(&mut conn, world.scope, workers.id, off).await),
        ["/state"]
    );

    // Other apps' things are not visible.
    assert!(world.delivery.app(Scope::App(second.id), world.app).await.is_err());
    assert!(world.delivery.integration(Scope::App(second.id), workers.id).await.is_err());
    let apps = world.delivery.apps(Scope::App(second.id), PageRequest::default()).await.unwrap();
    assert_eq!(apps.items.len(), 1);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn an_integration_is_checked_when_it_is_made_and_changed(pool: PgPool) {
    let world = World::new(pool).await;
    for (fields, pointer) in [
        (json!({"endpoint_url": "http://10.0.0.1/"}), "/endpoint_url"),
        (json!({"endpoint_url": "https://user:x@shop.invalid/"}), "/endpoint_url"),
        (json!({"endpoint_url": "https://[::ffff:169.254.169.254]/"}), "/endpoint_url"),
        (json!({"endpoint_url": "http://93.184.215.14/"}), "/endpoint_url"),
        (json!({"endpoint_url": "https://shop.invalid/", "timeout_ms": 1}), "/timeout_ms"),
    ] {
        assert_eq!(faults(world.try_integration(fields.clone()).await.map(|_| ())), [pointer], "{fields}");
    }
    let error = world
        .try_integration(json!({"endpoint_url": "https://shop.invalid/", "app_id": AppId::generate()}))
        .await;
    assert!(
        matches!(error.err().unwrap(), DeliveryError::NotFound { what: "app", pointer: Some(at) } if at == "/app_id")
    );

    let id = world
        .integration(json!({"endpoint_url": "https://shop.invalid/", "credentials": {"authorization": "x"}}))
        .await;
    assert_eq!(
        faults(world.try_patch(id, json!({"endpoint_url": "http://169.254.169.254/"})).await),
        ["/endpoint_url"]
    );
    // What a name resolves to is judged before the transaction.
    let resolved = world.delivery.judge_endpoint(Some("https://localhost:8443/")).await;
    assert!(resolved.is_ok(), "the loopback is allowed here");
    assert_eq!(
        faults(world.restarted(&[]).delivery.judge_endpoint(Some("https://localhost:8443/")).await),
        ["/endpoint_url"]
    );
    assert_eq!(
        faults(world.try_patch(id, json!({"bundle_window_seconds": 5})).await),
        ["/bundle_window_seconds"]
    );
    let changed = world.try_patch(id,
        json!({"name": "New", "record_types": ["a"], "timeout_ms": 500, "max_concurrency": 2, "credentials": null, "metadata": {"k": 1}}),
    );
    let changed = changed.await.unwrap();
    assert_eq!(
        (changed.name.as_str(), changed.timeout_ms, changed.has_credentials),
        ("New", Some(500), false)
    );
    assert_eq!(changed.endpoint_url.as_deref(), Some("https://shop.invalid/"));
    assert_eq!(lane(&world, id).await, (true, 2, vec![]));
    let off = world
        .try_patch(id, json!({"state": "disabled", "record_types": null, "timeout_ms": null}))
        .await
        .unwrap();
    assert_eq!((off.record_types, off.timeout_ms), (None, None));
    assert!(!lane(&world, id).await.0);
    let mut conn = world.pool.acquire().await.unwrap();
    let error = world.delivery.resume_integration(&mut conn, world.scope, id).await.unwrap_err();
    assert_eq!(code(&error), "disabled");
    let error = world
        .delivery
        .pause_integration(&mut conn, Scope::App(AppId::generate()), id, None)
        .await
        .unwrap_err();
    assert!(matches!(error, DeliveryError::NotFound { .. }));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn integrations_with_one_key_share_one_limit(pool: PgPool) {
    let world = World::new(pool).await;
    let url = "https://shop.invalid/";
    let two = json!([{"requests": 10, "per_seconds": 1}, {"requests": 100, "per_seconds": 60}]);
    let own = world.integration(json!({"endpoint_url": url, "rate_limit": two})).await;
    assert_eq!(lane(&world, own).await.2.len(), 2);
    world.try_patch(own, json!({"rate_limit": {"requests": 5, "per_seconds": 1}})).await.unwrap();
    assert_eq!(limits(&world).await, [(format!("integration:{own}:0"), 5, 1)]);
    world.try_patch(own, json!({"rate_limit": null})).await.unwrap();
    assert_eq!(limits(&world).await, []);

    let key = format!("app:{}:erp:0", world.app);
    let first = world.integration(json!({"endpoint_url": url, "rate_limit_key": "erp", "rate_limit": {"requests": 3, "per_seconds": 1}})).await;
    let second = world.integration(json!({"endpoint_url": url, "rate_limit_key": "erp"})).await;
    assert_eq!(lane(&world, first).await.2, std::slice::from_ref(&key));
    assert_eq!(lane(&world, second).await.2, std::slice::from_ref(&key));
    world.try_patch(second, json!({"rate_limit": {"requests": 7, "per_seconds": 2}})).await.unwrap();
    assert_eq!(limits(&world).await, [(key.clone(), 7, 2)]);
    let shown = world.delivery.integration(world.scope, first).await.unwrap();
    assert_eq!(serde_json::to_value(shown.rate_limit).unwrap(), json!({"requests": 7, "per_seconds": 2}));

    // Creating one more changes nothing for the others.
    let shares = |limit: Value| json!({"endpoint_url": url, "rate_limit_key": "erp", "rate_limit": limit});
    let refused =
        world.try_integration(shares(json!({"requests": 1, "per_seconds": 1}))).await.err().unwrap();
    let DeliveryError::Invalid(refused) = refused else { panic!("{refused}") };
    assert_eq!(refused.0[0].pointer, "/rate_limit");
    assert!(
        refused.0[0].detail.contains("7 requests per 2 s") && refused.0[0].detail.contains("PATCH"),
        "{refused}"
    );
    assert_eq!(limits(&world).await, [(key.clone(), 7, 2)]);
    let third = world.integration(shares(json!([{"requests": 7, "per_seconds": 2}]))).await;
    // Nor does giving one with another limit this key; a limit that is given with it applies to all.
    world
        .try_patch(third, json!({"rate_limit_key": null, "rate_limit": {"requests": 2, "per_seconds": 1}}))
        .await
        .unwrap();
    let moved = world.try_patch(third, json!({"rate_limit_key": "erp"})).await.unwrap();
    assert_eq!(serde_json::to_value(moved.rate_limit).unwrap(), json!({"requests": 7, "per_seconds": 2}));
    assert_eq!(limits(&world).await, [(key.clone(), 7, 2)]);
    let mut conn = world.pool.acquire().await.unwrap();
    world
        .delivery
        .delete_integration(&mut conn, world.scope, third, &DeleteOptions::default(), "test")
        .await
        .unwrap();

    world
        .delivery
        .delete_integration(&mut conn, world.scope, second, &DeleteOptions::default(), "test")
        .await
        .unwrap();
    assert_eq!(limits(&world).await.len(), 1);
    world.try_patch(first, json!({"rate_limit_key": null})).await.unwrap();
    assert_eq!(limits(&world).await, [(format!("integration:{first}:0"), 7, 2)]);
    world
        .delivery
        .delete_integration(&mut conn, world.scope, first, &DeleteOptions::default(), "test")
        .await
        .unwrap();
    assert_eq!(limits(&world).await, []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_deletion_is_refused_while_there_are_live_jobs_unless_it_cancels_them(pool: PgPool) {
    let world = World::new(pool).await;
    let id = world.integration(json!({"endpoint_url": "https://shop.invalid/"})).await;
    world.accept((0..3).map(|n| json!({"record_id": n.to_string(), "attributes": {"a": 1}}))).await;
    let mut conn = world.pool.acquire().await.unwrap();
    let error = world
        .delivery
        .delete_integration(&mut conn, world.scope, id, &DeleteOptions::default(), "test")
        .await
        .unwrap_err();
    assert_eq!(code(&error), "live-jobs");
    let error = world
        .delivery
        .delete_app(&mut conn, Scope::AllApps, world.app, &DeleteOptions::default(), "test")
        .await
        .unwrap_err();
    assert_eq!(code(&error), "live-jobs");
    drop(conn);
    let mut transaction = world.pool.begin().await.unwrap();
    let deletion = world
        .delivery
        .delete_integration(&mut transaction, world.scope, id, &cancelling(), "test")
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    assert!(deletions::finish_if_small(&world.pool, deletion).await);
    for table in ["jobs", "ready", "job_counts", "job_count_deltas"] {
        let left: i64 =
            sqlx::query_scalar(sqlx::AssertSqlSafe(format!("select count(*) from headgate.{table}")))
                .fetch_one(&world.pool)
                .await
                .unwrap();
        assert_eq!(left, 0, "{table}");
    }
    // Changes are still accepted; the whole app is deleted with everything it has.
    world.set(json!({"a": 2})).await;
    let mut transaction = world.pool.begin().await.unwrap();
    world
        .delivery
        .delete_app(&mut transaction, Scope::AllApps, world.app, &cancelling(), "test")
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    assert!(world.delivery.app(Scope::AllApps, world.app).await.is_err());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_deletion_waits_for_no_job_and_delays_no_other_request(pool: PgPool) {
    let world = World::new(pool).await;
    let id = world.integration(json!({"endpoint_url": "https://shop.invalid/"})).await;
    world.accept((0..3).map(|n| json!({"record_id": n.to_string(), "attributes": {"a": 1}}))).await;
    // Another transaction has locked one of its jobs.
    let mut busy = world.pool.begin().await.unwrap();
    sqlx::query("select id from headgate.jobs order by id limit 1 for update")
        .execute(&mut *busy)
        .await
        .unwrap();
    let mut transaction = world.pool.begin().await.unwrap();
    let deletion = world
        .delivery
        .delete_integration(&mut transaction, world.scope, id, &cancelling(), "test")
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    let pool = world.pool.clone();
    let working_off = tokio::spawn(async move { deletions::delete_portion(&pool, None, deletion).await });
    let waiting = "select exists (select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database())";
    while !sqlx::query_scalar::<_, bool>(waiting).fetch_one(&world.pool).await.unwrap() {
        assert!(!working_off.is_finished());
    }
    // Meanwhile the integration is not found, and events are still accepted.
    assert!(world.delivery.integration(world.scope, id).await.is_err());
    assert_eq!(world.jobs(id).await.len(), 0);
    assert_eq!(world.set(json!({"a": 2})).await.jobs_created, 0);
    busy.rollback().await.unwrap();
    assert!(working_off.await.unwrap().unwrap());
    assert!(deletions::finish_if_small(&world.pool, deletion).await);
    assert_eq!(world.number("select count(*) from headgate.jobs").await, 0);
}

/// The records of an app that is being deleted are not found, and its events are not accepted.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_catalog_of_an_app_that_is_being_deleted_is_not_shown(pool: PgPool) {
    let world = World::new(pool).await;
    world.set(json!({"a": 1})).await;
    let mut transaction = world.pool.begin().await.unwrap();
    let options = DeleteOptions::default();
    let deleted = world.delivery.delete_app(&mut transaction, Scope::AllApps, world.app, &options, "test");
    let deletion = deleted.await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(world.number("select count(*) from headgate.records").await, 1);
    let page = RecordPageRequest { limit: 50, after: None };
    let shown = world.delivery.records(Scope::AllApps, &RecordFilter::default(), &page).await.unwrap();
    assert_eq!(shown.items.len(), 0);
    assert!(world.delivery.record(Scope::AllApps, world.app, "product", "1").await.is_err());
    let event = world.event(json!({"attributes": {"a": 2}}));
    assert!(world.delivery.accept_events(Scope::AllApps, vec![event]).await.is_err());
    assert!(deletions::finish_if_small(&world.pool, deletion).await);
    assert_eq!(world.number("select count(*) from headgate.records").await, 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn concurrent_changes_of_integrations_that_share_a_limit_do_not_deadlock(pool: PgPool) {
    let world = World::new(pool).await;
    let fields = json!({"endpoint_url": "https://shop.invalid/", "rate_limit_key": "erp", "rate_limit": {"requests": 3, "per_seconds": 1}});
    let first = world.integration(fields.clone()).await;
    let second = world.integration(fields).await;
    let change =
        |n: i64| serde_json::from_value(json!({"rate_limit": {"requests": n, "per_seconds": 1}})).unwrap();
    // The second has begun: the first must not get some of its locks.
    let mut later = world.pool.begin().await.unwrap();
    world.delivery.update_integration(&mut later, world.scope, second, change(5)).await.unwrap();
    let free = "select id from headgate.integrations where id = $1 for key share nowait";
    sqlx::query(free).bind(first.0).execute(&world.pool).await.unwrap();
    let (delivery, scope, pool) = (world.delivery.clone(), world.scope, world.pool.clone());
    let turns = (0..20).map(|n| {
        let (delivery, pool) = (delivery.clone(), pool.clone());
        let (id, changes) = (if n % 2 == 0 { first } else { second }, change(n + 1));
        tokio::spawn(async move {
            let mut transaction = pool.begin().await.unwrap();
            delivery.update_integration(&mut transaction, scope, id, changes).await.unwrap();
            transaction.commit().await.unwrap();
        })
    });
    let turns: Vec<_> = turns.collect();
    later.commit().await.unwrap();
    for turn in turns {
        turn.await.unwrap();
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_secret_copied_to_another_row_cannot_be_decrypted_there(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let mine = world.integration(json!({"endpoint_url": receiver.url, "name": "mine"})).await;
    let theirs = world.integration(json!({"endpoint_url": receiver.url, "name": "theirs"})).await;
    sqlx::query(
        "update headgate.integrations set signing_secret_sealed = (select signing_secret_sealed from headgate.integrations where id = $2) where id = $1",
    )
    .bind(mine.0)
    .bind(theirs.0)
    .execute(&world.pool)
    .await
    .unwrap();
    assert!(matches!(
        world.delivery.test_integration(world.scope, mine).await,
        Err(DeliveryError::Sealed(_))
    ));
    assert!(world.delivery.test_integration(world.scope, theirs).await.unwrap().is_success);
    world.set(json!({"a": 1})).await;
    world.run_until(2).await;
    // Not sent, but to be retried: with the right secret it goes through.
    let (status, _, error) = world.newest(mine).await;
    assert!(status == "to_be_retried" || status == "retrying", "{status}");
    assert!(error.unwrap().contains("secret"));
    let stored: Vec<u8> =
        sqlx::query_scalar("select signing_secret_sealed from headgate.integrations where id = $1")
            .bind(theirs.0)
            .fetch_one(&world.pool)
            .await
            .unwrap();
    assert_eq!(stored.len(), 1 + 24 + 32 + 16);
}
