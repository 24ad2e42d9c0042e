//! Reading the catalog and sent state.

use model::actor::Scope;
use model::id::AppId;
use model::job::JobStatus;
use model::record::{RecordFilter, SentFilter};
use model::record_page::RecordPageRequest;
use serde_json::json;
use sqlx::{PgPool, postgres::PgPoolOptions};

use crate::support::{Receiver, Reply, World};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_catalog_is_read_page_by_page_in_key_order(pool: PgPool) {
    let world = World::new(pool).await;
    world.accept((0..25).map(|n| json!({"record_id": format!("{n:02}"), "attributes": {"n": n}}))).await;
    world
        .accept([
            json!({"record_type": "order", "attributes": {}}),
            json!({"record_id": "07", "type": "record.deleted"}),
        ])
        .await;
    let mut seen = Vec::new();
    let mut page = RecordPageRequest { limit: 10, after: None };
    loop {
        let records = world.delivery.records(Scope::AllApps, &RecordFilter::default(), &page).await.unwrap();
        seen.extend(
            records.items.into_iter().map(|record| format!("{} {}", record.record_type, record.record_id)),
        );
        let Some(cursor) = records.next_cursor else { break };
        page = RecordPageRequest::parse(Some(10), Some(&cursor)).unwrap();
    }
    assert_eq!(seen.len(), 25);
    assert_eq!(seen[0], "order 1");
    assert!(seen.is_sorted() && !seen.contains(&"product 07".to_owned()));
    let orders = RecordFilter { app_id: None, record_type: Some("order".into()) };
    let first = RecordPageRequest::default();
    assert_eq!(world.delivery.records(world.scope, &orders, &first).await.unwrap().items.len(), 1);
    let stranger = Scope::App(AppId::generate());
    let theirs = RecordFilter { app_id: Some(world.app), record_type: None };
    assert!(world.delivery.records(stranger, &theirs, &first).await.unwrap().items.is_empty());
    assert!(world.delivery.record(stranger, world.app, "product", "1").await.is_err());
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_record_shows_what_each_integration_has_of_it(pool: PgPool) {
    let (world, receiver) = (World::new(pool).await, Receiver::start().await);
    let good = world.integration(json!({"endpoint_url": receiver.url, "name": "good"})).await;
    world.set(json!({"a": 1})).await;
    world.run_until(1).await;
    let bad = world.integration(json!({"endpoint_url": receiver.url, "name": "bad"})).await;
    world.integration(json!({"endpoint_url": receiver.url, "record_types": ["order"]})).await;
    receiver.answers(Reply::Status(400));
    world.set(json!({"a": 2})).await;

    let record = world.delivery.record(world.scope, world.app, "product", "1").await.unwrap();
    assert_eq!(record.integrations.len(), 2);
    let waiting = &record.integrations[0];
    assert_eq!((waiting.integration_id, waiting.version, waiting.in_sync), (good, Some(1), false));
    assert_eq!(waiting.job_status, Some(JobStatus::Pending));
    world.run_until(2).await;
    let record = world.delivery.record(world.scope, world.app, "product", "1").await.unwrap();
    assert!(
        record.integrations.iter().all(|sync| !sync.in_sync && sync.job_status == Some(JobStatus::Failed))
    );
    assert_eq!(record.integrations[1].integration_id, bad);

    receiver.answers(Reply::Status(200));
    world.set(json!({"a": 3})).await;
    world.run_until(2).await;
    let record = world.delivery.record(world.scope, world.app, "product", "1").await.unwrap();
    assert!(
        record
            .integrations
            .iter()
            .all(|sync| sync.in_sync && sync.job_id.is_none() && sync.version == Some(3))
    );

    let one = SentFilter { record_type: Some("product".into()), record_id: Some("1".into()) };
    let sent = world.delivery.sent(world.scope, bad, &one, &RecordPageRequest::default()).await.unwrap();
    assert_eq!((sent.items.len(), sent.items[0].version), (1, 3));
    let none = SentFilter { record_id: Some("2".into()), ..one };
    assert!(
        world
            .delivery
            .sent(world.scope, bad, &none, &RecordPageRequest::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

/// Rows of a table read so far. The pool has one connection, whose statistics are flushed first.
async fn rows_read(world: &World, table: &str) -> i64 {
    sqlx::query("select pg_stat_force_next_flush()").execute(&world.pool).await.unwrap();
    let read =
        "select seq_tup_read + idx_tup_fetch from pg_stat_user_tables where relid = $1::text::regclass";
    sqlx::query_scalar(read).bind(table).fetch_one(&world.pool).await.unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lists_read_a_page_and_not_what_lies_before_it(pool: PgPool) {
    let options = (*pool.connect_options()).clone();
    let world =
        World::new(PgPoolOptions::new().max_connections(1).connect_with(options).await.unwrap()).await;
    let integration = world.integration(json!({"endpoint_url": "http://127.0.0.1:9/"})).await;
    for statement in [
        "insert into headgate.apps (id, name, slug) select gen_random_uuid(), 'a' || n, 'a' || n from generate_series(1, 50) n",
        "insert into headgate.records (app_id, record_type, record_id, attributes, attribute_bytes)
         select a.id, t, n::text, '{}', 2 from headgate.apps a, unnest(array['order', 'product']) t, generate_series(1, 200) n",
        "insert into headgate.records (app_id, record_type, record_id, attributes, attribute_bytes)
         select id, 'rare', '1', '{}', 2 from headgate.apps order by id desc limit 1",
        "insert into headgate.record_counts (app_id, record_type, n) select app_id, record_type, count(*) from headgate.records group by 1, 2",
        "insert into headgate.sent_records (integration_id, record_type, record_id, version, attributes)
         select i.id, t, n::text, 1, '{}' from headgate.integrations i, unnest(array['order', 'product']) t, generate_series(1, 10000) n",
        "analyze headgate.records, headgate.sent_records",
    ] {
        sqlx::query(statement).execute(&world.pool).await.unwrap();
    }
    let page = RecordPageRequest { limit: 10, after: None };

    let before = rows_read(&world, "headgate.records").await;
    for (record_type, found) in [("product", 10), ("rare", 1)] {
        let of_type = RecordFilter { app_id: None, record_type: Some(record_type.into()) };
        let records = world.delivery.records(Scope::AllApps, &of_type, &page).await.unwrap().items;
        assert_eq!(records.len(), found);
        assert!(records.iter().all(|record| record.record_type == record_type));
    }
    let read = rows_read(&world, "headgate.records").await - before;
    assert!(read <= 100, "{read} rows of 20,001 for 11");

    let before = rows_read(&world, "headgate.sent_records").await;
    let of_id = SentFilter { record_type: None, record_id: Some("77".into()) };
    let sent = world.delivery.sent(Scope::AllApps, integration, &of_id, &page).await.unwrap().items;
    assert_eq!(sent.iter().map(|sent| sent.record_type.as_str()).collect::<Vec<_>>(), ["order", "product"]);
    let read = rows_read(&world, "headgate.sent_records").await - before;
    assert!(read <= 10, "{read} rows of 20,000 for 2");
}
