//! Rows that are looked up by key thousands of times a second are found by the key's index, whatever the statistics say.

use crate::support::{World, end, sent, session};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, PgPool};

/// Tables in which the statements of a job's life look rows up by a key of one column.
const PROBED: [&str; 6] = ["jobs", "ready", "waiting", "failing_jobs", "lanes", "integrations"];

/// When statistics say that there is only one row, scanning such an index looks as cheap to the planner as a lookup by the key.
#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_unconditional_index_has_a_key_behind_other_columns(pool: PgPool) {
    let rivals: Vec<String> = sqlx::query_scalar(
        "with indexes as (
            select i.indrelid, i.indexrelid, i.indisunique and i.indpred is null as is_key, i.indpred is null as always_serves,
                array(
                    select k.attnum from unnest(i.indkey::int2[]) with ordinality k (attnum, n) where k.n <= i.indnkeyatts order by k.n
                ) as columns
            from pg_index i join pg_class t on t.oid = i.indrelid
            where t.relnamespace = 'headgate'::regnamespace and t.relname = any ($1)
        )
        select distinct rival.indexrelid::regclass::text
        from indexes key
        join indexes rival on rival.indrelid = key.indrelid and rival.always_serves
        where key.is_key and cardinality(key.columns) = 1
            and key.columns[1] = any (rival.columns) and rival.columns[1] <> key.columns[1]",
    )
    .bind(PROBED)
    .fetch_all(&pool)
    .await
    .unwrap();
    assert!(
        rivals.is_empty(),
        "give them a predicate that is always true, as jobs_by_integration has: {rivals:?}"
    );
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_is_found_by_its_id_after_its_table_was_all_but_empty(pool: PgPool) {
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane_with(1_000, None).await, world.worker().await);
    world.accept_plain(lane, 500).await;
    let leased = world.claim(worker, 499).await;
    world.finish(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    sqlx::raw_sql("vacuum headgate.jobs").execute(&pool).await.unwrap();
    for lookup in [
        "select from headgate.jobs where id = $1 for update skip locked",
        "delete from headgate.jobs where id = $1",
    ] {
        let mut connection = pool.acquire().await.unwrap();
        let prepared = format!(
            "set enable_seqscan = off; set plan_cache_mode = force_generic_plan; deallocate all; prepare lookup (uuid) as {lookup}"
        );
        sqlx::raw_sql(AssertSqlSafe(prepared)).execute(&mut *connection).await.unwrap();
        let plan: Vec<(String,)> =
            sqlx::query_as(AssertSqlSafe("explain execute lookup (gen_random_uuid())"))
                .persistent(false)
                .fetch_all(&mut *connection)
                .await
                .unwrap();
        assert!(plan.iter().any(|(line,)| line.contains("jobs_pkey")), "{lookup}: {plan:?}");
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn plans_made_while_there_was_one_job_serve_thousands(_: PgPoolOptions, options: PgConnectOptions) {
    let (pool, plans) = session(options);
    let world = World::new(&pool).await;
    let (lane, worker) = (world.lane_with(10_000, None).await, world.worker().await);
    for table in ["jobs", "ready"] {
        let off = format!("alter table headgate.{table} set (autovacuum_enabled = off)");
        sqlx::raw_sql(AssertSqlSafe(off)).execute(&pool).await.unwrap();
    }
    let complete = async |count| {
        let leased = world.claim(worker, count).await;
        assert_eq!(leased.len(), count);
        world.finish_as_the_engine_does(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    };
    world.accept_plain(lane, 501).await;
    complete(500).await;
    sqlx::raw_sql("vacuum analyze headgate.jobs, headgate.ready").execute(&pool).await.unwrap();
    complete(1).await;
    world.accept_plain(lane, 20_000).await;
    plans.touched();
    complete(10).await;
    let touched = plans.touched();
    assert!(touched.rows < 1_000, "{touched:?}");
}
