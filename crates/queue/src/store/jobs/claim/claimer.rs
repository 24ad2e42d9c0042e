//! The connection that an engine claims on.

use crate::error::Result;
use crate::pool::prepare;
use crate::store::jobs::claim::claimed::Claimed;
use crate::store::jobs::claim::take::{
    BEGIN, ClaimRequest, SESSION_SETTINGS, begin, claim_few, claim_on, prepare_few,
};
use sqlx::{Connection as _, PgConnection, PgPool, postgres::PgConnectOptions};
use std::{sync::Arc, time::Duration};

/// Ends the claim's turn before its writes are on disk, so that the next claim can run meanwhile.
const COMMIT_AHEAD_OF_DISK: &str = "set local synchronous_commit = off; commit";

/// From so many jobs on, claims do not wait for the disk during their turn. Smaller ones do: that saves a round trip.
const MIN_ASYNC_COMMIT: usize = 100;

/// How many jobs a claim of few may take. `claim_few.sql` has the same number.
const MAX_FEW: usize = 32;
/// After a claim of few that was of no use so many full claims follow, and after so many claims of few in a row comes one full claim: only
/// that one puts idle lanes to sleep.
const FULL_CLAIM_INTERVAL: u32 = 16;

/// No statement of a claim takes anything like this long.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(15);

/// A connection for claims alone, kept open: there is no wait for the pool and no check of the connection, and the planner settings of a claim
/// are made once. A job on an idle system waits for one round trip.
#[derive(Debug)]
pub struct Claimer {
    options: Arc<PgConnectOptions>,
    open: Option<PgConnection>,
    /// How many of the next claims are full ones.
    full_claims: u32,
    /// How many claims of few there were in a row.
    short_claims: u32,
    /// As the last [`find_next_work`](Self::find_next_work) reported.
    are_lanes_left: bool,
}

/// Whether a commit would survive a crash of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It would.
    OnDisk,
    /// Only once [`wait_until_durable`] has returned. Claimed jobs may not begin before: a database that crashes would have lost their leases,
    /// and give the jobs to another worker while they run.
    AheadOfDisk,
}

/// What there is to do after a claim that got less than it wanted.
#[derive(Clone, Copy, Debug)]
pub struct NextWork {
    /// Jobs that became claimable.
    pub promoted: i32,
    /// Whether there are more lanes than one claim reads.
    pub are_lanes_left: bool,
    /// Whether claimable jobs were left because their lane is at its limits, or have arrived since.
    pub is_work_left: bool,
    /// The time until the next job is due.
    pub wake_in: Option<Duration>,
}

impl Claimer {
    /// Uses the pool's options. It connects at the first claim and after each failure.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        Self {
            options: pool.connect_options(),
            open: None,
            full_claims: 0,
            short_claims: 0,
            are_lanes_left: false,
        }
    }

    /// As [`claim`](crate::store::jobs::claim()), but many jobs may be claimed [ahead of the disk](Durability::AheadOfDisk).
    ///
    /// # Errors
    /// As [`claim`](crate::store::jobs::claim()). Whether jobs were claimed is then unknown: `release_orphans` finds out.
    pub async fn claim(&mut self, request: &ClaimRequest) -> Result<(Claimed, Durability)> {
        let mut connection = self.take().await?;
        if self.expects_few() {
            self.short_claims += 1;
            // Set before the claim, so that it also holds when the claim fails.
            self.full_claims = FULL_CLAIM_INTERVAL;
            if let Some(claimed) = claim_few(&mut connection, request).await? {
                self.full_claims = 0;
                self.open = Some(connection);
                return Ok((claimed, Durability::OnDisk));
            }
        }
        // Plain statements, because sqlx's transactions have one way to commit only.
        sqlx::raw_sql(BEGIN).execute(&mut connection).await?;
        let claimed = claim_on(&mut connection, request).await?;
        let (commit, durability) = if claimed.len() < MIN_ASYNC_COMMIT {
            ("commit", Durability::OnDisk)
        } else {
            (COMMIT_AHEAD_OF_DISK, Durability::AheadOfDisk)
        };
        sqlx::raw_sql(commit).execute(&mut connection).await?;
        self.open = Some(connection);
        self.short_claims = 0;
        self.full_claims = match claimed.len() {
            MAX_FEW.. => self.full_claims.max(1),
            _ => self.full_claims.saturating_sub(1),
        };
        Ok((claimed, durability))
    }

    /// As [`find_next_work`], on the claimer's connection.
    pub async fn find_next_work(
        &mut self,
        limit: i32,
        recently: Duration,
        program: Option<&str>,
    ) -> Result<NextWork> {
        let mut connection = self.take().await?;
        let next = find_next_work_on(&mut connection, limit, recently, program).await?;
        self.open = Some(connection);
        self.are_lanes_left = next.are_lanes_left;
        Ok(next)
    }

    /// Whether little is ready, as far as the last claims show.
    const fn expects_few(&self) -> bool {
        self.full_claims == 0 && self.short_claims < FULL_CLAIM_INTERVAL && !self.are_lanes_left
    }

    /// Takes the connection out; it is put back only after success, because a claim that failed or was cut off may leave it inside a transaction.
    async fn take(&mut self) -> Result<PgConnection> {
        if let Some(connection) = self.open.take() {
            return Ok(connection);
        }
        let mut connection = PgConnection::connect_with(&self.options).await?;
        prepare(&mut connection, Some(STATEMENT_TIMEOUT)).await?;
        sqlx::raw_sql(SESSION_SETTINGS).execute(&mut connection).await?;
        prepare_few(&mut connection).await?;
        Ok(connection)
    }
}

/// What follows a claim that got less than it wanted: makes up to `limit` due jobs claimable, and returns what there is to do and when. Lanes
/// last claimed from within `recently` do not count as left over.
///
/// # Errors
/// When other processes kept it from its turn for two seconds.
pub async fn find_next_work(
    pool: &PgPool,
    limit: i32,
    recently: Duration,
    program: Option<&str>,
) -> Result<NextWork> {
    let mut transaction = begin(pool).await?;
    let next = find_next_work_on(&mut transaction, limit, recently, program).await?;
    transaction.commit().await?;
    Ok(next)
}

/// One statement without SQL functions: each function sets and resets four planner settings, and together they took three times as long.
async fn find_next_work_on(
    connection: &mut PgConnection,
    limit: i32,
    recently: Duration,
    program: Option<&str>,
) -> Result<NextWork> {
    let row = sqlx::query!(
        r#"
        select
            case when exists (select from headgate.waiting where due_at <= (select clock_timestamp())) then headgate.promote_due($1) else 0 end
                as "promoted!",
            coalesce((
                select count(*) > 64
                    and bool_or(l.last_claimed_at is null or l.last_claimed_at < clock_timestamp() - $2 * interval '1 second')
                from headgate.runnable_lanes l
                where not l.is_asleep and l.program = coalesce($3, '')
            ), false) as "are_lanes_left!",
            exists (
                select from headgate.runnable_lanes l
                where not l.is_asleep and l.program = coalesce($3, '')
                    -- No `exists`: see `claim.sql`.
                    and (select r.job_id from headgate.ready r where r.integration_id = l.integration_id limit 1) is not null
            )
            -- A lane that was woken since sleeps until a claim has read its row of `lane_wakes`.
            or exists (select from headgate.lane_wakes) as "is_work_left!",
            (extract(epoch from least(
                (select min(due_at) from headgate.waiting),
                (
                    -- A claim takes jobs whose rate slot comes within half a second.
                    select min(greatest(
                        l.quiet_until,
                        (
                            select to_timestamp(max(greatest(x.tat_us, x.quiet_until_us)) / 1000000.0) - interval '490 milliseconds'
                            from headgate.rate_limits x where x.key = any (l.limit_keys)
                        )
                    ))
                    from headgate.lanes l
                    where l.is_open and not l.is_external and not l.is_asleep and l.breaker_cap is distinct from 0
                        and coalesce(l.served_by, '') = coalesce($3, '')
                        and (l.quiet_until > clock_timestamp() or l.limit_keys <> '{}')
                        and (select r.job_id from headgate.ready r where r.integration_id = l.integration_id limit 1) is not null
                )
            ) - clock_timestamp()) * 1000)::float8 as wake_in_ms
        "#,
        limit,
        recently.as_secs_f64(),
        program,
    )
    .fetch_one(connection)
    .await?;
    Ok(NextWork {
        promoted: row.promoted,
        are_lanes_left: row.are_lanes_left,
        is_work_left: row.is_work_left,
        wake_in: row.wake_in_ms.map(|ms| Duration::from_secs_f64(ms.clamp(0.0, 86_400_000.0) / 1000.0)),
    })
}

/// Terminates sessions that keep the claim's turn because their client does not read the answer: a process that was stopped while its jobs arrived.
/// Returns how many; what they claimed is rolled back.
///
/// Neither `statement_timeout` nor `idle_in_transaction_session_timeout` ends a session that waits for its client to read.
pub async fn terminate_stalled_claims(pool: &PgPool) -> Result<i64> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) filter (where pg_terminate_backend(a.pid)) as "count!"
        from pg_locks l
        join pg_stat_activity a using (pid)
        where l.locktype = 'advisory' and l.classid = 4711 and l.objid = 1 and l.objsubid = 2 and l.granted
            and l.database = (select oid from pg_database where datname = current_database())
            and a.usename = current_user and a.wait_event = 'ClientWrite' and a.query_start < clock_timestamp() - interval '2 seconds'
        "#
    )
    .fetch_one(pool)
    .await?;
    Ok(count)
}

/// Waits until everything committed before this call is on disk, as durable as the server makes any transaction.
///
/// # Errors
/// On any error, what was committed ahead of the disk may be lost.
pub async fn wait_until_durable(pool: &PgPool) -> Result<()> {
    // The smallest transaction whose commit waits for the disk: one WAL record that nobody reads.
    sqlx::query("select pg_logical_emit_message(true, 'headgate', '')").execute(pool).await?;
    Ok(())
}
