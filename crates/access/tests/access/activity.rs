use crate::touched::session;
use access::activity;
use model::{activity::Span, actor::Scope, page::PageRequest};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_page_of_a_long_time_reads_only_what_it_shows(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    sqlx::raw_sql(
        "alter table headgate.breaker_flips set (autovacuum_enabled = off);
        alter table headgate.audit_log set (autovacuum_enabled = off);
        alter table headgate.system_events set (autovacuum_enabled = off);
        analyze;
        insert into headgate.apps (id, name, slug) values ('00000000-0000-7000-a000-000000000001', 'A', 'a');
        insert into headgate.integrations (id, app_id, name, integration_type, endpoint_url, signing_secret_sealed)
        values ('00000000-0000-7000-9000-000000000001', '00000000-0000-7000-a000-000000000001', 'S', 'webhook', 'https://x.test', '');
        create temporary table made as
        select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 19, '0'))::uuid as id, at
        from (select n, now() - interval '1 day' + n * interval '1 second' as at from generate_series(1, 20000) n) n;
        insert into headgate.breaker_flips (id, integration_id, app_id, at, from_state, to_state, reason)
        select id, '00000000-0000-7000-9000-000000000001', '00000000-0000-7000-a000-000000000001', at, 'closed', 'open', 'r' from made;
        insert into headgate.audit_log (id, at, actor_kind, actor_id, actor_name, role, action, object_kind)
        select id, at, 'user', 'u', 'U', 'operator', 'app.update', 'app' from made;
        insert into headgate.audit_log (id, at, actor_kind, actor_id, actor_name, role, action, object_kind, app_id)
        select md5(id::text)::uuid, at, 'user', 'u', 'U', 'operator', 'app.update', 'app', '00000000-0000-7000-a000-000000000002'
        from made order by id limit 3;
        insert into headgate.system_events (id, at, kind) select id, at, 'start' from made",
    )
    .execute(&pool)
    .await
    .unwrap();
    let other = "00000000-0000-7000-a000-000000000002".parse().unwrap();
    let long = Span { from: "2020-01-01T00:00:00Z".parse().ok(), until: None };
    for statistics in ["select", "analyze"] {
        sqlx::raw_sql(statistics).execute(&pool).await.unwrap();
        // After five executions Postgres may switch to a generic plan.
        for _ in 0..8 {
            plans.touched();
            let page = activity::list(&pool, Scope::AllApps, long, PageRequest::default()).await.unwrap();
            let touched = plans.touched();
            assert!(page.items.len() == 50 && touched.rows < 1_000, "{statistics}: {touched:?}");
            let few = activity::list(&pool, Scope::App(other), Span::default(), PageRequest::default()).await;
            assert_eq!(few.unwrap().items.len(), 3, "{statistics}");
        }
    }
}
