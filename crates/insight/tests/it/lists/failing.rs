//! Failures are grouped by cause: which jobs wait because of it, which were given up, when it began and whether it goes on.

use crate::support::{World, end, given_up, retried, sent, until};
use insight::store::{failures, job_lists, stats};
use model::actor::Scope;
use model::failure::{CauseId, FailureFilter, FailureGroup, FailureState, FailureStep, SetFailureNote};
use model::filter::JobFilter;
use model::id::{AppId, IntegrationId, JobId, WorkerId};
use model::page::{Page, PageRequest};
use queue::QueueError;
use queue::store::dead_letters;
use queue::store::jobs::{Applied, Ending, Failure};
use queue::store::leader::{self, Term};
use sqlx::PgPool;
use std::{collections::BTreeSet, time::Duration};

const HOUR: Duration = Duration::from_secs(3_600);

/// The same ending with another message.
pub(super) fn because(message: &str, ending: Ending) -> Ending {
    let with_message = |failure: Failure| Failure { message: message.to_owned(), ..failure };
    match ending {
        Ending::Retried { failure, attempt_outcome, wait, wait_reason } => {
            Ending::Retried { failure: with_message(failure), attempt_outcome, wait, wait_reason }
        }
        Ending::Dead { failure, attempt_outcome, kind } => {
            Ending::Dead { failure: with_message(failure), attempt_outcome, kind }
        }
        other => other,
    }
}

pub(super) struct Failing {
    pub(super) world: World,
    pub(super) term: Term,
}

impl Failing {
    pub(super) async fn new(pool: &PgPool) -> Self {
        let mut connection = pool.acquire().await.unwrap();
        let leader = WorkerId::generate();
        let term = leader::acquire(&mut connection, leader, Duration::from_secs(600)).await.unwrap().unwrap();
        Self { world: World::new(pool).await, term }
    }

    /// Accepts this many jobs of a lane and ends each of them with `ending`.
    pub(super) async fn fail(&self, lane: IntegrationId, count: usize, ending: &Ending) -> Vec<JobId> {
        let ids = self.world.accept_plain(lane, count).await;
        self.end_next(count, ending).await;
        ids
    }

    async fn end_next(&self, count: usize, ending: &Ending) {
        let worker = self.world.worker().await;
        let leased = self.world.claim(worker, count).await;
        assert_eq!(leased.len(), count);
        let ends: Vec<_> = leased.iter().map(|job| end(job, ending.clone())).collect();
        self.world.finish_as_the_engine_does(&ends).await;
    }

    async fn groups(&self, filter: FailureFilter) -> Vec<FailureGroup> {
        self.page(Scope::AllApps, filter, PageRequest::default()).await.items
    }

    async fn page(&self, scope: Scope, filter: FailureFilter, page: PageRequest) -> Page<FailureGroup> {
        while failures::fold(&self.world.pool, self.term).await.unwrap() > 0 {}
        failures::list(&self.world.pool, scope, &filter, page).await.unwrap()
    }

    async fn mark(&self, cause: CauseId, step: FailureStep) {
        let mut connection = self.world.pool.acquire().await.unwrap();
        failures::mark(&mut connection, cause, step).await.unwrap();
    }

    async fn found(&self, fingerprint: &str) -> BTreeSet<JobId> {
        let filter = JobFilter { fingerprint: Some(fingerprint.to_owned()), ..JobFilter::default() };
        let page =
            job_lists::list(&self.world.pool, Scope::AllApps, &filter, PageRequest::default()).await.unwrap();
        page.items.into_iter().map(|job| job.id).collect()
    }
}

fn numbers(group: &FailureGroup) -> (i64, i64, i64, i64) {
    (group.to_be_retried, group.dead_letters, group.failed_attempts, group.integrations)
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn one_cause_is_one_group_whatever_varies_in_the_message_and_wherever_it_fails(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let (one, other) = (failing.world.lane().await, failing.world.lane().await);
    for n in 0..20 {
        failing.fail(one, 1, &because(&format!("shelf {n} is full"), retried(HOUR))).await;
    }
    failing.fail(other, 3, &because("shelf 99 is full", given_up())).await;
    failing.fail(other, 2, &because("the door is locked", given_up())).await;
    let groups = failing.groups(FailureFilter::default()).await;
    assert_eq!(groups.iter().map(numbers).collect::<Vec<_>>(), [(20, 3, 23, 2), (0, 2, 2, 1)]);
    let first = &groups[0];
    assert_eq!((first.apps, first.state, first.error.as_str()), (1, FailureState::Open, "shelf 99 is full"));
    assert_eq!(first.trend.failed.iter().sum::<i64>(), 23);
    assert!(first.first_at < first.last_at);
    // Filtered by an integration, every number is that integration's.
    let own = FailureFilter { integration_id: Some(other), ..FailureFilter::default() };
    let shares = failing.groups(own).await;
    assert_eq!(shares.iter().map(numbers).collect::<Vec<_>>(), [(0, 3, 3, 1), (0, 2, 2, 1)]);
    assert_eq!(shares[0].trend.failed.iter().sum::<i64>(), 3);
    let detail =
        failures::detail(&pool, Scope::AllApps, &FailureFilter::default(), first.fingerprint).await.unwrap();
    let affected: Vec<_> =
        detail.affected.iter().map(|a| (a.integration_id, a.to_be_retried, a.dead_letters)).collect();
    assert_eq!(affected, [(one, 20, 0), (other, 0, 3)]);
    assert!(detail.affected.iter().all(|a| a.fingerprint.starts_with(&first.fingerprint.to_string())));
    // The list that a group links to has as many jobs as it counts: everywhere, and at one integration.
    assert_eq!(failing.found(&first.fingerprint.to_string()).await.len(), 23);
    assert_eq!(failing.found(&detail.affected[1].fingerprint).await.len(), 3);
    failing.world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_job_leaves_its_group_however_it_ends(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let lane = failing.world.lane().await;
    let waiting = failing.fail(lane, 4, &because("shelf 1 is full", retried(HOUR))).await;
    let dead = failing.fail(lane, 2, &because("shelf 1 is full", given_up())).await;
    let counted =
        async || failing.groups(FailureFilter::default()).await.iter().map(numbers).collect::<Vec<_>>();
    assert_eq!(counted().await, [(4, 2, 6, 1)]);
    failing.world.cancel(waiting[0]).await.unwrap();
    failing.world.requeue(waiting[1]).await.unwrap();
    failing.world.requeue(dead[0]).await.unwrap();
    assert_eq!(counted().await, [(2, 1, 6, 1)]);
    // The requeued jobs are done; of the others one is retried and fails by another cause, and one succeeds.
    failing.end_next(2, &sent()).await;
    failing.world.let_time_pass().await;
    failing.end_next(1, &because("no shelf", retried(HOUR))).await;
    assert_eq!(counted().await, [(1, 1, 6, 1), (1, 0, 1, 1)]);
    failing.end_next(1, &sent()).await;
    let letters = insight::store::dead_letters::list(
        &pool,
        Scope::AllApps,
        &JobFilter::default(),
        PageRequest::default(),
    )
    .await
    .unwrap();
    let mut transaction = pool.begin().await.unwrap();
    dead_letters::purge(&mut transaction, Scope::AllApps, letters.items[0].id).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(counted().await, [(1, 0, 1, 1), (0, 0, 6, 0)]);
    let over = FailureFilter { state: Some(FailureState::Over), ..FailureFilter::default() };
    assert_eq!(failing.groups(over).await.len(), 1);
    failing.world.must_be_sound().await;
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_fixed_cause_opens_again_when_it_fails_again(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let lane = failing.world.lane().await;
    failing.fail(lane, 1, &given_up()).await;
    let cause = failing.groups(FailureFilter::default()).await[0].fingerprint;
    let in_state = async |state| {
        let filter = FailureFilter { state: Some(state), ..FailureFilter::default() };
        let open = failures::count_open(&pool, Scope::AllApps, &FailureFilter::default()).await.unwrap();
        let found = failing.groups(filter).await;
        assert!(found.iter().all(|group| group.state == state), "{found:?}");
        (found.len(), open)
    };
    failing.mark(cause, FailureStep::Fix).await;
    assert_eq!(in_state(FailureState::Fixed).await, (1, 0));
    failing.fail(lane, 1, &given_up()).await;
    assert_eq!(in_state(FailureState::Fixed).await.0, 0);
    assert_eq!(in_state(FailureState::Open).await, (1, 1));
    assert!(failing.groups(FailureFilter::default()).await[0].came_back());
    failing.mark(cause, FailureStep::Snooze(chrono::Utc::now() + chrono::TimeDelta::hours(1))).await;
    failing.fail(lane, 1, &given_up()).await;
    assert_eq!(
        in_state(FailureState::Snoozed).await,
        (1, 0),
        "a snoozed cause stays snoozed when it fails again"
    );
    failing.mark(cause, FailureStep::Reopen).await;
    assert_eq!(in_state(FailureState::Open).await, (1, 1));
    let mut connection = pool.acquire().await.unwrap();
    let unknown = failures::mark(&mut connection, CauseId(1), FailureStep::Fix).await;
    assert!(matches!(unknown, Err(QueueError::NotFound)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn notes_are_shown_while_it_fails_and_an_app_sees_its_own_share(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let lane = failing.world.lane().await;
    let foreign = World::new(&pool).await;
    let other = foreign.lane().await;
    failing.fail(lane, 1, &because("shelf 1 of Nordwind is full", given_up())).await;
    foreign.accept_plain(other, 1).await;
    failing.end_next(1, &because("shelf 2 of Nordwind is full", given_up())).await;
    let groups = failing.groups(FailureFilter::default()).await;
    assert_eq!((groups[0].integrations, groups[0].apps), (2, 2));
    let cause = groups[0].fingerprint;
    let set_note_of = async |app_id: Option<AppId>, note: Option<&str>| {
        let new = SetFailureNote { note: note.map(str::to_owned), app_id, integration_id: None };
        let mut connection = pool.acquire().await.unwrap();
        failures::set_note(&mut connection, Scope::AllApps, cause, &new).await
    };
    let shown = async |lane| {
        let notes = failures::notes(&pool, lane).await.unwrap();
        notes.into_iter().map(|note| note.text).collect::<Vec<_>>()
    };
    assert_eq!(set_note_of(Some(failing.world.app_id), Some("We are at it.")).await.unwrap(), 1);
    assert_eq!((shown(lane).await, shown(other).await), (vec!["We are at it.".to_owned()], Vec::new()));
    assert!(matches!(set_note_of(Some(AppId::generate()), None).await, Err(QueueError::NotFound)));
    // Once it is fixed no note is shown until it fails again.
    failing.mark(cause, FailureStep::Fix).await;
    assert!(shown(lane).await.is_empty());
    failing.fail(lane, 1, &because("shelf 3 of Nordwind is full", given_up())).await;
    failing.groups(FailureFilter::default()).await;
    assert_eq!(shown(lane).await.len(), 1);
    assert_eq!(set_note_of(None, None).await.unwrap(), 2);
    assert!(shown(lane).await.is_empty());

    let own =
        failing.page(Scope::App(foreign.app_id), FailureFilter::default(), PageRequest::default()).await;
    assert_eq!(own.items.iter().map(numbers).collect::<Vec<_>>(), [(0, 1, 1, 1)]);
    assert_eq!(own.items[0].error, "shelf 2 of Nordwind is full", "no other app's error is shown");
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_failed_job_knows_how_many_others_in_scope_have_its_cause(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let lane = failing.world.lane().await;
    let foreign = World::new(&pool).await;
    let other = foreign.lane().await;
    let waiting = failing.fail(lane, 2, &because("shelf 1 is full", retried(HOUR))).await;
    let dead = failing.fail(lane, 1, &because("shelf 2 is full", given_up())).await;
    failing.fail(lane, 1, &because("the door is locked", given_up())).await;
    foreign.accept_plain(other, 1).await;
    failing.end_next(1, &because("shelf 3 is full", given_up())).await;
    let own = Scope::App(failing.world.app_id);
    let others = async |scope: Scope, id: JobId| {
        failures::same_cause(&pool, scope, id).await.unwrap().map(|same| same.others)
    };
    // Before the deltas are folded and after.
    for _ in 0..2 {
        for id in [waiting[0], dead[0]] {
            assert_eq!((others(Scope::AllApps, id).await, others(own, id).await), (Some(3), Some(2)));
        }
        failing.groups(FailureFilter::default()).await;
    }
    let same = failures::same_cause(&pool, Scope::AllApps, dead[0]).await.unwrap().unwrap();
    let group = &failing.groups(FailureFilter::default()).await[0];
    assert_eq!((same.fingerprint, same.first_at), (group.fingerprint, group.first_at));
    // A job that is to be tried anew has no cause.
    failing.world.requeue(dead[0]).await.unwrap();
    assert_eq!(others(Scope::AllApps, dead[0]).await, None);
    assert_eq!((others(Scope::AllApps, waiting[0]).await, others(own, waiting[0]).await), (Some(2), Some(1)));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn groups_of_one_size_are_paged_without_loss(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let lane = failing.world.lane().await;
    for word in ["a", "b", "c", "d", "e", "f", "g"] {
        failing.fail(lane, 1, &because(&format!("shelf {word} is full"), given_up())).await;
    }
    for filter in
        [FailureFilter::default(), FailureFilter { integration_id: Some(lane), ..FailureFilter::default() }]
    {
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let request = PageRequest::parse(Some(2), cursor.as_deref()).unwrap();
            let page = failing.page(Scope::AllApps, filter, request).await;
            seen.extend(page.items.iter().map(|group| group.fingerprint));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!((seen.len(), seen.iter().collect::<BTreeSet<_>>().len()), (7, 7));
    }
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn only_failing_jobs_without_a_job_are_swept(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let lane = failing.world.lane().await;
    failing.fail(lane, 3, &retried(HOUR)).await;
    sqlx::query("insert into headgate.failing_jobs select gen_random_uuid(), integration_id, fingerprint from headgate.failing_jobs limit 1")
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(failing.groups(FailureFilter::default()).await[0].to_be_retried, 4);
    let mut after = None;
    loop {
        after = failures::sweep(&pool, failing.term, after).await.unwrap();
        if after.is_none() {
            break;
        }
    }
    assert_eq!(failing.groups(FailureFilter::default()).await[0].to_be_retried, 3);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_cause_that_fails_twice_as_often_as_before_grows_until_it_is_marked(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let (one, other) = (failing.world.lane().await, failing.world.lane().await);
    failing.fail(one, 24, &because("the shelf is full", retried(HOUR))).await;
    failing.fail(other, 19, &because("too few", given_up())).await;
    let open =
        failing.groups(FailureFilter { state: Some(FailureState::Open), ..FailureFilter::default() }).await;
    let summary = stats::snapshot(&pool).await.unwrap().failures;
    assert_eq!(summary.open, i64::try_from(open.len()).ok(), "as many as the list has");
    let [grows] = summary.growing.as_slice() else { panic!("{:?}", summary.growing) };
    assert_eq!((grows.last_hour, grows.hour_before, grows.integrations), (24, 0, 1));
    assert_eq!((grows.integration.as_deref(), grows.fingerprint), (Some("Search"), open[0].fingerprint));

    // Half as many the hour before; the bucket of a quarter of an hour at the border counts in part.
    let before = |minutes: i32, failed: i64| {
        sqlx::query(
            "insert into headgate.failure_trend (key, bucket_at, failed)
             values ($1, statement_timestamp() - make_interval(mins => $2), $3)",
        )
        .bind(grows.fingerprint.to_string())
        .bind(minutes)
        .bind(failed)
    };
    before(67, 10).execute(&pool).await.unwrap();
    before(110, 9).execute(&pool).await.unwrap();
    let grown = failures::growing(&pool).await.unwrap();
    let numbers: Vec<_> = grown.iter().map(|one| one.last_hour + one.hour_before).collect();
    assert_eq!(numbers, [24 + 10 + 9]);
    assert!((28..=30).contains(&grown[0].last_hour), "{}", grown[0].last_hour);
    before(90, 9).execute(&pool).await.unwrap();
    assert_eq!(failures::growing(&pool).await.unwrap(), [], "not twice as many");

    sqlx::query("delete from headgate.failure_trend where bucket_at < now() - interval '1 hour'")
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(failures::growing(&pool).await.unwrap().len(), 1);
    failing.mark(grows.fingerprint, FailureStep::Fix).await;
    assert_eq!(failures::growing(&pool).await.unwrap(), []);
    assert_eq!(stats::snapshot(&pool).await.unwrap().failures.open, Some(1));
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_cause_whose_integration_is_deleted_does_not_grow(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let lane = failing.world.lane().await;
    failing.fail(lane, 24, &retried(HOUR)).await;
    assert_eq!(failing.groups(FailureFilter::default()).await.len(), 1);
    assert_eq!(failures::growing(&pool).await.unwrap().len(), 1);
    sqlx::query("delete from headgate.integrations where id = $1").bind(lane).execute(&pool).await.unwrap();
    assert_eq!(failures::growing(&pool).await.unwrap(), []);
}

#[sqlx::test(migrator = "queue::MIGRATOR")]
async fn a_failure_whose_integration_is_being_deleted_is_recorded(pool: PgPool) {
    let failing = Failing::new(&pool).await;
    let world = &failing.world;
    // One lane that failed before, and one that did not.
    let lanes = [world.lane().await, world.lane().await];
    failing.fail(lanes[0], 1, &retried(HOUR)).await;
    for lane in lanes {
        world.accept_plain(lane, 1).await;
    }
    let leased = world.claim(world.worker().await, 2).await;
    let ends: Vec<_> = leased.iter().map(|job| end(job, retried(HOUR))).collect();
    let mut deletion = pool.begin().await.unwrap();
    let delete = "delete from headgate.integrations where id = any ($1)";
    sqlx::query(delete).bind(lanes.map(|lane| lane.0)).execute(&mut *deletion).await.unwrap();
    let (applied, ()) = tokio::join!(world.finish_as_the_engine_does(&ends), async {
        let waits = "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')";
        until(&pool, waits).await;
        deletion.commit().await.unwrap();
    });
    assert_eq!(applied, [Applied::Yes; 2]);
    assert_eq!(world.number("select count(*) from headgate.integration_marks").await, 0);
}
