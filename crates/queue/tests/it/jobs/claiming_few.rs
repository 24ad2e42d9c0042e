//! Where few jobs are ready an engine claims them all with a shorter statement, which decides as the long one does.

use crate::support::{World, end, sent};
use model::id::{IntegrationId, JobId, WorkerId};
use model::rate_limit::RateLimit;
use queue::store::jobs::{ClaimRequest, ClaimedJob, Claimer, JobSpec};
use queue::store::lanes;
use sqlx::PgPool;
use std::collections::{BTreeSet, HashMap};

fn claims(worker_id: WorkerId, wanted: usize) -> ClaimRequest {
    ClaimRequest { worker_id, wanted, lane_cap: wanted, busy: HashMap::new(), program: None }
}

async fn claim(world: &World, claims: &ClaimRequest) -> Vec<ClaimedJob> {
    Claimer::new(&world.pool).claim(claims).await.unwrap().0.jobs().unwrap()
}

fn ids(jobs: &[ClaimedJob]) -> BTreeSet<JobId> {
    jobs.iter().map(|job| job.id).collect()
}

/// Whether the long statement ran: it sets `last_claimed_at` of the lanes it serves, the short one does not.
async fn was_long(world: &World) -> bool {
    world.number("select count(*) from headgate.lanes where last_claimed_at is not null").await > 0
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn all_that_is_ready_is_taken_at_once(pool: PgPool) {
    let world = World::new(&pool).await;
    let claims = claims(world.worker().await, 50);
    let (one, two) = (world.lane().await, world.lane().await);
    let payload = serde_json::json!({ "quantity": 7, "name": "it's \"new\"" });
    world.accept(&[JobSpec { payload: Some(payload.clone()), ..world.spec(one) }]).await;
    world.accept_plain(one, 2).await;
    let long_ago = "0000-01-01T00:00:00Z".parse().unwrap();
    world.accept(&[JobSpec { run_at: Some(long_ago), ..world.spec(one) }]).await;
    let urgent = JobSpec { priority: 100, expires_at: Some(chrono::DateTime::UNIX_EPOCH), ..world.spec(two) };
    let urgent = world.accept(&[urgent]).await[0].id;
    let claimed = claim(&world, &claims).await;
    assert_eq!(claimed.len(), 5);
    assert_eq!((claimed[0].id, claimed[0].is_expired, claimed[0].attempt), (urgent, true, 1));
    assert!(claimed.iter().all(|job| !job.is_limited && !job.is_probe));
    assert_eq!(claimed.iter().filter_map(|job| job.payload.as_ref()).collect::<Vec<_>>(), [&payload]);
    assert!(!was_long(&world).await);
    world.must_be_sound().await;
    world.finish(&claimed.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
    assert!(claim(&world, &claims).await.is_empty());
    assert!(!was_long(&world).await, "the lanes are not read when nothing is ready");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn more_than_the_short_claim_reads_is_divided_among_lanes(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker = world.worker().await;
    let lane = world.lane().await;
    world.accept_plain(lane, 10).await;
    assert_eq!(claim(&world, &claims(worker, 4)).await.len(), 4);
    assert!(was_long(&world).await);
    world.accept_plain(lane, 30).await;
    assert_eq!(claim(&world, &claims(worker, 50)).await.len(), 36);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn closed_quiet_and_used_up_lanes_are_passed_over(pool: PgPool) {
    let world = World::new(&pool).await;
    let claims = claims(world.worker().await, 10);
    let limit = RateLimit { requests: 1, per_seconds: 60 };
    let (closed, quiet) = (world.lane().await, world.lane().await);
    let (limited, narrow) = (world.lane_with(50, Some(limit)).await, world.lane_with(1, None).await);
    let mut connection = pool.acquire().await.unwrap();
    lanes::close(&mut connection, closed).await.unwrap();
    lanes::set_quiet(&mut connection, quiet, std::time::Duration::from_secs(60)).await.unwrap();
    for lane in [closed, quiet, limited, narrow] {
        world.accept_plain(lane, 1).await;
    }
    let taken: BTreeSet<_> = claim(&world, &claims).await.iter().map(|job| job.integration_id).collect();
    assert_eq!(taken, BTreeSet::from([limited, narrow]));
    // One has used its slot until the next minute, the other may run one job at a time.
    sqlx::query("select * from headgate.reserve_slots(array[$1], 1, 500000)")
        .bind(limited.to_string())
        .execute(&pool)
        .await
        .unwrap();
    for lane in [limited, narrow] {
        world.accept_plain(lane, 2).await;
    }
    assert!(claim(&world, &claims).await.is_empty());
    assert!(!was_long(&world).await);
    lanes::open(&mut connection, closed).await.unwrap();
    assert_eq!(claim(&world, &claims).await[0].integration_id, closed);
    world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_lane_gives_no_more_than_its_concurrency(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(2, None).await;
    world.accept_plain(lane, 3).await;
    let claims = claims(world.worker().await, 10);
    assert_eq!(claim(&world, &claims).await.len(), 2);
    assert!(was_long(&world).await);
    assert_eq!(claim(&world, &claims).await.len(), 0);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn no_integration_gets_more_than_its_share_while_others_wait(pool: PgPool) {
    let world = World::new(&pool).await;
    let worker_id = world.worker().await;
    let (greedy, modest) = (world.lane().await, world.lane().await);
    world.accept_plain(greedy, 3).await;
    world.accept_plain(modest, 1).await;
    let claims =
        ClaimRequest { worker_id, wanted: 8, lane_cap: 5, busy: HashMap::from([(greedy, 3)]), program: None };
    let claimed = claim(&world, &claims).await;
    assert_eq!(claimed.iter().filter(|job| job.integration_id == greedy).count(), 2);
    assert_eq!(claimed.len(), 3);
    assert_eq!(claim(&world, &claims).await.len(), 1, "alone it may have all");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lanes_that_share_a_limit_divide_its_slots(pool: PgPool) {
    let world = World::new(&pool).await;
    let limit = RateLimit { requests: 1, per_seconds: 60 };
    let (one, two) = (world.lane_with(50, Some(limit)).await, world.lane().await);
    sqlx::query("update headgate.lanes set limit_keys = array[$1] where integration_id = $2")
        .bind(one.to_string())
        .bind(two)
        .execute(&pool)
        .await
        .unwrap();
    for lane in [one, two] {
        world.accept_plain(lane, 1).await;
    }
    assert_eq!(claim(&world, &claims(world.worker().await, 10)).await.len(), 1, "one slot for both");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_locked_job_is_passed_over_and_a_stray_entry_is_removed(pool: PgPool) {
    let world = World::new(&pool).await;
    let claims = claims(world.worker().await, 10);
    let lane = world.lane().await;
    let locked = world.accept_plain(lane, 1).await[0];
    let other = world.accept_plain(lane, 1).await[0];
    sqlx::query(
        "insert into headgate.ready (integration_id, rank, created_at, job_id) values ($1, 0, now(), gen_random_uuid())",
    )
    .bind(lane)
    .execute(&pool)
    .await
    .unwrap();
    let mut transaction = pool.begin().await.unwrap();
    sqlx::query("select 1 from headgate.jobs where id = $1 for update")
        .bind(locked)
        .execute(&mut *transaction)
        .await
        .unwrap();
    assert_eq!(ids(&claim(&world, &claims).await), BTreeSet::from([other]));
    assert_eq!(world.ready().await, [locked]);
    transaction.commit().await.unwrap();
    assert_eq!(ids(&claim(&world, &claims).await), BTreeSet::from([locked]));
    assert_eq!(world.ready().await, []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn jobs_of_another_program_are_left_to_it_whatever_its_name(pool: PgPool) {
    const NAME: &str = r"o'neill\";
    let world = World::new(&pool).await;
    let (ours, theirs) = (world.lane().await, world.lane().await);
    sqlx::query("update headgate.lanes set served_by = $1 where integration_id = $2")
        .bind(NAME)
        .bind(theirs)
        .execute(&pool)
        .await
        .unwrap();
    for lane in [ours, theirs] {
        world.accept_plain(lane, 1).await;
    }
    let worker = world.worker().await;
    let of = async |program: Option<&str>| {
        let claims = ClaimRequest { program: program.map(str::to_owned), ..claims(worker, 5) };
        claim(&world, &claims).await.iter().map(|job| job.integration_id).collect::<Vec<_>>()
    };
    assert_eq!(of(None).await, [ours]);
    assert_eq!(of(Some("nobody")).await, []);
    assert_eq!(of(Some(NAME)).await, [theirs]);
}

async fn is_asleep(world: &World, lane: IntegrationId) -> bool {
    sqlx::query_scalar("select is_asleep from headgate.lanes where integration_id = $1")
        .bind(lane)
        .fetch_one(&world.pool)
        .await
        .unwrap()
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn lanes_wake_up_for_their_work_and_fall_asleep_after_it(pool: PgPool) {
    let world = World::new(&pool).await;
    let claims = claims(world.worker().await, 5);
    let lane = world.lane().await;
    sqlx::raw_sql("update headgate.lanes set is_asleep = true").execute(&pool).await.unwrap();
    world.accept_plain(lane, 1).await;
    let mut claimer = Claimer::new(&pool);
    assert_eq!(claimer.claim(&claims).await.unwrap().0.len(), 1);
    assert!(!is_asleep(&world, lane).await);
    sqlx::raw_sql("update headgate.lanes set woken_at = woken_at - interval '1 minute'")
        .execute(&pool)
        .await
        .unwrap();
    // Every so often a claim checks all lanes.
    for _ in 0..16 {
        assert!(claimer.claim(&claims).await.unwrap().0.is_empty());
    }
    assert!(is_asleep(&world, lane).await);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn claimers_never_exceed_the_concurrency_of_an_integration(pool: PgPool) {
    let world = World::new(&pool).await;
    let lane = world.lane_with(3, None).await;
    let work = async || {
        let claims = claims(world.worker().await, 50);
        let mut claimer = Claimer::new(&world.pool);
        for _ in 0..25 {
            world.accept_plain(lane, 2).await;
            let leased = claimer.claim(&claims).await.unwrap().0.jobs().unwrap();
            let processing = world.number("select count(*) from headgate.jobs where status = 1").await;
            assert!(processing <= 3, "{processing} at once");
            world.finish(&leased.iter().map(|job| end(job, sent())).collect::<Vec<_>>()).await;
        }
    };
    tokio::join!(work(), work(), work());
    world.must_be_sound().await;
}
