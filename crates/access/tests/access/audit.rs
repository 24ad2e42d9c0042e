//! With any filter of the audit log, no page reads more lines than it may, whatever the planner's statistics say; and no line is undone twice.

use crate::touched::{Plans, session};
use access::audit::{self, Entry};
use access::origin::following;
use access::{Access, AccessError, Follows};
use model::audit::{AuditEntry, AuditFilter};
use model::id::{AppId, AuditEntryId};
use model::page::PageRequest;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use std::collections::BTreeSet;

/// Lines of one app by one key: half of jobs, half of rate limits; only one of the oldest has another actor and action.
const LINES: i32 = 40_000;
const APP: &str = "00000000-0000-7000-a000-000000000001";
/// Rows read for a page that filters: 3,000 of each condition to find the index that reaches furthest back, and 3,000 of that.
const MAX_FILTERED: u64 = 3_000 * 7 + 100;
/// Rows read for a page that one index covers.
const MAX_INDEXED: u64 = 200;

async fn fill(pool: &PgPool) {
    sqlx::query(
        "insert into headgate.audit_log (id, at, actor_kind, actor_id, actor_name, role, app_id, action, object_kind, object_id)
        select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 19, '0'))::uuid, at, 'api_key',
            case when n = 7 then 'rare' else 'key' end, case when n = 7 then 'Rare' else 'Key' end, 'operator', $2::uuid,
            case when n = 7 then 'app.create' when n % 2 = 0 then 'job.requeue' else 'rate_limit.update' end,
            case when n = 7 then 'app' when n % 2 = 0 then 'job' else 'rate_limit' end, 'o' || n
        from (
            select n, clock_timestamp() - interval '1 day' + n * interval '1 second' as at from generate_series(1, $1) n
        ) made",
    )
    .bind(LINES)
    .bind(APP.parse::<AppId>().unwrap())
    .execute(pool)
    .await
    .unwrap();
}

/// All lines and the number of pages; no page reads more than `max` rows.
async fn found(pool: &PgPool, plans: &Plans, filter: &AuditFilter, max: u64) -> (Vec<AuditEntry>, usize) {
    let (mut found, mut pages) = (Vec::new(), 0);
    let mut next = Some(PageRequest { limit: 100, after: None });
    while let Some(page) = next {
        plans.touched();
        let read = audit::list(pool, filter, page).await.unwrap();
        let touched = plans.touched();
        assert!(touched.rows <= max && touched.in_sequence == 0, "{filter:?}: {touched:?}");
        next = read.following(page.limit);
        found.extend(read.items);
        pages += 1;
    }
    (found, pages)
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_filter_reads_all_lines(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    sqlx::raw_sql("alter table headgate.audit_log set (autovacuum_enabled = off); analyze")
        .execute(&pool)
        .await
        .unwrap();
    fill(&pool).await;
    let all = AuditFilter::default;
    let app_id = APP.parse().ok();
    let since = Some(chrono::Utc::now() - chrono::TimeDelta::hours(23));
    let (half, an_hour) = (LINES as usize / 2, 3_590..=3_610);
    let one_page: [(AuditFilter, _, usize); 6] = [
        (AuditFilter { object_kind: text("app"), ..all() }, MAX_INDEXED, 1),
        (AuditFilter { object_kind: text("unknown"), ..all() }, MAX_INDEXED, 0),
        (AuditFilter { app_id, actor_id: text("rare"), ..all() }, MAX_FILTERED, 1),
        (AuditFilter { app_id, actor_name: text("RARE"), ..all() }, MAX_FILTERED, 1),
        (AuditFilter { app_id, action: text("app.create"), ..all() }, MAX_FILTERED, 1),
        (AuditFilter { object_id: text("o7"), object_kind: text("app"), ..all() }, MAX_FILTERED, 1),
    ];
    let many_pages: [(AuditFilter, usize); 3] = [
        (AuditFilter { action: text("job.requeue"), object_kind: text("rate_limit"), ..all() }, 0),
        (AuditFilter { app_id, action: text("job.requeue"), ..all() }, half),
        (AuditFilter { object_kind: text("job"), actor_id: text("key"), ..all() }, half),
    ];
    for statistics in ["select", "analyze"] {
        sqlx::raw_sql(statistics).execute(&pool).await.unwrap();
        for (filter, max, expected) in &one_page {
            let (lines, pages) = found(&pool, &plans, filter, *max).await;
            assert_eq!((lines.len(), pages), (*expected, 1), "{statistics}: {filter:?}");
        }
        for (filter, expected) in &many_pages {
            let (lines, pages) = found(&pool, &plans, filter, MAX_FILTERED).await;
            assert!(lines.windows(2).all(|pair| pair[0].id > pair[1].id), "{filter:?}");
            assert_eq!(lines.len(), *expected, "{filter:?}");
            assert!(pages >= half / 3_000, "{filter:?}: {pages} pages");
        }
        let recent = AuditFilter { created_before: since, ..all() };
        let (lines, _) = found(&pool, &plans, &recent, MAX_FILTERED).await;
        assert!(an_hour.contains(&lines.len()), "{}", lines.len());
    }
    let dense = AuditFilter { object_kind: text("job"), ..all() };
    let first = PageRequest { limit: 100, after: None };
    plans.touched();
    let ids: BTreeSet<_> =
        audit::list(&pool, &dense, first).await.unwrap().items.into_iter().map(|line| line.id).collect();
    assert!(ids.len() == 100 && plans.touched().rows <= MAX_INDEXED);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn the_second_line_that_undoes_the_same_one_is_a_conflict(pool: PgPool) {
    let (mut conn, system) = (pool.acquire().await.unwrap(), Access::system());
    let undoes = Follows::Undoes(AuditEntryId::generate());
    let entry = || Entry::new("integration.resume");
    following(undoes, audit::record(&mut conn, &system, entry())).await.unwrap();
    let second = following(undoes, audit::record(&mut conn, &system, entry())).await;
    assert!(matches!(second, Err(AccessError::Conflict { code: "already-undone", .. })), "{second:?}");
}
