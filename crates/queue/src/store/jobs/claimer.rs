//! The connection that an engine claims on.

use crate::{
    error::QueueError,
    pool::prepare,
    store::jobs::{
        claim::{BEGIN, Claims, SESSION_SETTINGS, begin, claim_few, claim_on, prepare_few},
        claimed::Claimed,
    },
};
use sqlx::{Connection as _, PgConnection, PgPool, postgres::PgConnectOptions};
use std::{sync::Arc, time::Duration};

/// Ends the claim's turn before what it wrote is on disk: the next claim is made meanwhile.
const COMMIT_AHEAD_OF_DISK: &str = "set local synchronous_commit = off; commit";

/// From so many jobs on, claims do not wait for the disk in their turn. Fewer wait there: that is one answer less.
const MANY: usize = 100;

/// What a claim of few may take, as `claim_few.sql` says too.
const FEW: usize = 32;
/// So many claims are made the thorough way when one of few was of no use, and one after so many of few in a row: it has lanes fall asleep
/// that have nothing to do.
const THOROUGH: u32 = 16;

/// Nothing of a claim takes so long.
const LONGEST_STATEMENT: Duration = Duration::from_secs(15);

/// A connection for claims alone, kept open: nobody queues for it, nobody has to ask whether it is sound, and what a claim is planned by
/// is set once. A job on an idle system waits for one answer.
#[derive(Debug)]
pub struct Claimer {
    options: Arc<PgConnectOptions>,
    open: Option<PgConnection>,
    /// So many of the next claims are not tried to be one of few.
    thorough_claims: u32,
    /// So many of the last ones were.
    claims_of_few: u32,
    /// As the last look said.
    are_lanes_left: bool,
}

/// Whether what was committed would survive the database's crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// It would.
    OnDisk,
    /// Only once [`reach_disk`] has answered. Claimed jobs may not begin before: a database that crashes would have forgotten their
    /// leases, and give them to somebody else while they run.
    AheadOfDisk,
}

/// What there is to do after a claim that got less than it wanted.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    /// Jobs that became claimable.
    pub promoted: i32,
    /// There are more lanes than one claim looks at.
    pub are_lanes_left: bool,
    /// Something claimable was left, because its lane is at its limits, or came since.
    pub is_work_left: bool,
    /// When something is due next.
    pub wake_in: Option<Duration>,
}

impl Claimer {
    /// Connects with the pool's options, when it is first needed and after each failure.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        Self {
            options: pool.connect_options(),
            open: None,
            thorough_claims: 0,
            claims_of_few: 0,
            are_lanes_left: false,
        }
    }

    /// As [`claim`](super::claim()), but many jobs may be claimed [ahead of the disk](Durability::AheadOfDisk).
    ///
    /// # Errors
    /// As [`claim`](super::claim()). Whether the jobs were claimed is then unknown: `give_back_unknown` finds out.
    pub async fn claim(&mut self, claims: &Claims) -> Result<(Claimed, Durability), QueueError> {
        let mut connection = self.take().await?;
        if self.expects_few() {
            self.claims_of_few += 1;
            // Also where this one fails.
            self.thorough_claims = THOROUGH;
            if let Some(claimed) = claim_few(&mut connection, claims).await? {
                self.thorough_claims = 0;
                self.open = Some(connection);
                return Ok((claimed, Durability::OnDisk));
            }
        }
        // Not by sqlx's transactions, which know one way to commit.
        sqlx::raw_sql(BEGIN).execute(&mut connection).await?;
        let claimed = claim_on(&mut connection, claims).await?;
        let (commit, durability) = if claimed.len() < MANY {
            ("commit", Durability::OnDisk)
        } else {
            (COMMIT_AHEAD_OF_DISK, Durability::AheadOfDisk)
        };
        sqlx::raw_sql(commit).execute(&mut connection).await?;
        self.open = Some(connection);
        self.claims_of_few = 0;
        self.thorough_claims = match claimed.len() {
            FEW.. => self.thorough_claims.max(1),
            _ => self.thorough_claims.saturating_sub(1),
        };
        Ok((claimed, durability))
    }

    /// As [`look_ahead`], on the claimer's connection.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn look_ahead(
        &mut self,
        most: i32,
        lately: Duration,
        program: Option<&str>,
    ) -> Result<Ahead, QueueError> {
        let mut connection = self.take().await?;
        let ahead = look_ahead_on(&mut connection, most, lately, program).await?;
        self.open = Some(connection);
        self.are_lanes_left = ahead.are_lanes_left;
        Ok(ahead)
    }

    /// Whether little is ready, as far as the last claims and the last look tell.
    const fn expects_few(&self) -> bool {
        self.thorough_claims == 0 && self.claims_of_few < THOROUGH && !self.are_lanes_left
    }

    /// Taken out until all went well: a claim that failed or was cut off may leave a connection inside a transaction.
    async fn take(&mut self) -> Result<PgConnection, QueueError> {
        if let Some(connection) = self.open.take() {
            return Ok(connection);
        }
        let mut connection = PgConnection::connect_with(&self.options).await?;
        prepare(&mut connection, Some(LONGEST_STATEMENT)).await?;
        sqlx::raw_sql(SESSION_SETTINGS).execute(&mut connection).await?;
        prepare_few(&mut connection).await?;
        Ok(connection)
    }
}

/// What a claim that got less than it wanted finds out: makes due jobs claimable, at most `most`, and tells what there is to do and when.
///
/// # Errors
/// When the database is away.
pub async fn look_ahead(
    pool: &PgPool,
    most: i32,
    lately: Duration,
    program: Option<&str>,
) -> Result<Ahead, QueueError> {
    let mut transaction = begin(pool).await?;
    let ahead = look_ahead_on(&mut transaction, most, lately, program).await?;
    transaction.commit().await?;
    Ok(ahead)
}

/// One statement, and no functions: each sets and resets four settings, and the whole took three times as long.
async fn look_ahead_on(
    connection: &mut PgConnection,
    most: i32,
    lately: Duration,
    program: Option<&str>,
) -> Result<Ahead, QueueError> {
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
            -- A lane that was woken since sleeps until a claim has read the note.
            or exists (select from headgate.lane_wakes) as "is_work_left!",
            (extract(epoch from least(
                (select min(due_at) from headgate.waiting),
                (
                    -- A claim looks half a second ahead of the next slot.
                    select min(greatest(
                        l.held_until,
                        (
                            select to_timestamp(max(greatest(x.tat_us, x.hold_until_us)) / 1000000.0) - interval '490 milliseconds'
                            from headgate.rate_limits x where x.key = any (l.limit_keys)
                        )
                    ))
                    from headgate.lanes l
                    where l.is_open and not l.is_external and not l.is_asleep and l.breaker_cap is distinct from 0
                        and coalesce(l.served_by, '') = coalesce($3, '')
                        and (l.held_until > clock_timestamp() or l.limit_keys <> '{}')
                        and (select r.job_id from headgate.ready r where r.integration_id = l.integration_id limit 1) is not null
                )
            ) - clock_timestamp()) * 1000)::float8 as wake_in_ms
        "#,
        most,
        lately.as_secs_f64(),
        program,
    )
    .fetch_one(connection)
    .await?;
    Ok(Ahead {
        promoted: row.promoted,
        are_lanes_left: row.are_lanes_left,
        is_work_left: row.is_work_left,
        wake_in: row.wake_in_ms.map(|ms| Duration::from_secs_f64(ms.clamp(0.0, 86_400_000.0) / 1000.0)),
    })
}

/// Ends the connections of who keeps the turn because it does not take its answer: a process that was stopped while its jobs came. Answers
/// how many; what they claimed is undone with them.
///
/// Neither `statement_timeout` nor `idle_in_transaction_session_timeout` ends a session that waits for its client to read.
///
/// # Errors
/// When the database is away.
pub async fn end_stopped_claims(pool: &PgPool) -> Result<i64, QueueError> {
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

/// Waits until all that was committed before this call is on disk, as durable as the server makes any transaction.
///
/// # Errors
/// When the database is away: what was committed ahead of the disk may be lost.
pub async fn reach_disk(pool: &PgPool) -> Result<(), QueueError> {
    // The smallest transaction that is waited for: one record in the log, read by nobody.
    sqlx::query("select pg_logical_emit_message(true, 'headgate', '')").execute(pool).await?;
    Ok(())
}
