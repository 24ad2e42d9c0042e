//! Claims: takes what may run now under a lease. `claim.sql` says how it decides.

use crate::{error::QueueError, pool::prepare};
use chrono::{DateTime, Utc};
use model::id::{AppId, AssignmentId, BatchId, ClaimBatchId, IntegrationId, JobId, WorkerId};
use serde_json::Value;
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, PgPool, Postgres, Transaction, postgres::PgConnectOptions,
};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// A job this process holds now.
#[derive(Clone, Debug)]
pub struct ClaimedJob {
    /// The round trip it came with.
    pub claim_batch_id: ClaimBatchId,
    /// Which job.
    pub id: JobId,
    /// Whose.
    pub app_id: AppId,
    /// For which integration.
    pub integration_id: IntegrationId,
    /// The batch it is an item of.
    pub batch_id: Option<BatchId>,
    /// The lease.
    pub assignment_id: AssignmentId,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// Not before then.
    pub run_at: DateTime<Utc>,
    /// Lower goes first (`model::job::rank`).
    pub rank: i16,
    /// Whether its integration's circuit breaker was not closed when it was claimed: what comes of it is told at once.
    pub is_probe: bool,
    /// Whether it was claimed after `expires_at`: it is called off instead of run.
    pub is_expired: bool,
    /// Whether its integration has rate limits.
    pub is_limited: bool,
    /// Begin of this attempt.
    pub started_at: DateTime<Utc>,
    /// Time one attempt may take, if the job says.
    pub timeout_ms: Option<i32>,
    /// This attempt.
    pub attempt: i16,
    /// The last one.
    pub max_attempts: i16,
    /// Whether an attempt before this one vanished with its worker.
    pub may_have_arrived: bool,
    /// Whether everything is to be sent.
    pub is_full: bool,
    /// What kind of job.
    pub job_type: String,
    /// Of a record's change.
    pub record_type: Option<String>,
    /// Of a record's change.
    pub record_id: Option<String>,
    /// One live job per integration and id.
    pub deduplication_id: Option<String>,
    /// Jobs of one key run one at a time.
    pub serialize_key: Option<String>,
    /// Ties together what belongs together.
    pub correlation_id: String,
    /// What the job was made with.
    pub payload: Option<Value>,
}

impl ClaimedJob {
    /// Type and id of the record, of a record's change.
    #[must_use]
    pub fn record(&self) -> Option<(String, String)> {
        self.record_type.clone().zip(self.record_id.clone())
    }
}

/// What a claimer asks for.
#[derive(Clone, Debug)]
pub struct Claims {
    /// Who asks.
    pub worker_id: WorkerId,
    /// How many at most.
    pub wanted: usize,
    /// The most this process may hold of one integration while others wait.
    pub lane_cap: usize,
    /// What it holds already.
    pub busy: HashMap<IntegrationId, usize>,
    /// The program whose lanes it serves; none: `headgate`, which delivers.
    pub program: Option<String>,
}

/// What a claim is planned and limited by.
///
/// Statistics taken while `ready` was empty or huge must not choose the plan: every step of the statement probes an index by its key, and
/// a plan that sorts or hashes a whole table instead would be 100 times slower (guarded by a test). A process that is stopped while it
/// is its turn keeps the others waiting for two seconds at most.
const SETTINGS: [(&str, &str); 7] = [
    ("jit", "off"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("plan_cache_mode", "force_generic_plan"),
    ("lock_timeout", "'2s'"),
    ("idle_in_transaction_session_timeout", "'2s'"),
];

/// The turn is taken by a statement of its own, so that the claim sees what the last one committed.
const BEGIN: &str = "begin isolation level read committed; select pg_advisory_xact_lock(4711, 1)";

/// Nothing of a claim takes so long.
const LONGEST_STATEMENT: Duration = Duration::from_secs(15);

/// The settings as statements: `set` for a whole session, `set local` for a transaction.
fn settings(set: &str) -> String {
    SETTINGS.map(|(name, value)| format!("{set} {name} = {value}; ")).concat()
}

/// A connection for claims alone, kept open: nobody queues for it, nobody has to ask whether it is sound, and what a claim is planned by
/// is set once. A job on an idle system waits for three answers instead of five.
#[derive(Debug)]
pub struct Claimer {
    options: Arc<PgConnectOptions>,
    open: Option<PgConnection>,
}

impl Claimer {
    /// Connects with the pool's options, when it is first needed and after each failure.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        Self { options: pool.connect_options(), open: None }
    }

    /// As [`claim`].
    ///
    /// # Errors
    /// As [`claim`]. Whether the jobs were claimed is then unknown: `give_back_unknown` finds out.
    pub async fn claim(&mut self, claims: &Claims) -> Result<Vec<ClaimedJob>, QueueError> {
        // Taken out until all went well: a claim that failed or was cut off may leave a connection inside a transaction.
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let mut transaction = connection.begin_with(BEGIN).await?;
        let jobs = claim_on(&mut transaction, claims).await?;
        transaction.commit().await?;
        self.open = Some(connection);
        Ok(in_order(jobs))
    }

    async fn connect(&self) -> Result<PgConnection, QueueError> {
        let mut connection = PgConnection::connect_with(&self.options).await?;
        prepare(&mut connection, Some(LONGEST_STATEMENT)).await?;
        sqlx::raw_sql(AssertSqlSafe(settings("set"))).execute(&mut connection).await?;
        Ok(connection)
    }
}

/// Claims jobs: urgent first, then fair over integrations, then by age (`claim.sql` says how it decides).
///
/// # Errors
/// When the database is away, or other processes kept the claim from its turn for two seconds.
pub async fn claim(pool: &PgPool, claims: &Claims) -> Result<Vec<ClaimedJob>, QueueError> {
    let mut transaction = begin(pool).await?;
    let jobs = claim_on(&mut transaction, claims).await?;
    transaction.commit().await?;
    Ok(in_order(jobs))
}

/// Claims as [`claim`] does and undoes it: what a claim costs can be measured again and again. Answers how many jobs it took.
///
/// # Errors
/// As [`claim`].
pub async fn claim_and_undo(pool: &PgPool, claims: &Claims) -> Result<usize, QueueError> {
    let mut transaction = begin(pool).await?;
    let jobs = claim_on(&mut transaction, claims).await?;
    transaction.rollback().await?;
    Ok(jobs.len())
}

async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, QueueError> {
    let mut transaction = pool.begin().await?;
    sqlx::raw_sql(AssertSqlSafe(settings("set local"))).execute(&mut *transaction).await?;
    take_turn(&mut transaction).await?;
    Ok(transaction)
}

/// The order in which they are begun.
fn in_order(mut jobs: Vec<ClaimedJob>) -> Vec<ClaimedJob> {
    jobs.sort_by_key(|job| (job.rank, job.created_at, job.id));
    jobs
}

/// Waits until no other claim is under way, and keeps others waiting until the transaction ends.
///
/// # Errors
/// When the database is away.
pub(super) async fn take_turn(connection: &mut PgConnection) -> Result<(), QueueError> {
    sqlx::query("select pg_advisory_xact_lock(4711, 1)").execute(connection).await?;
    Ok(())
}

/// The statement alone. It is the caller's turn ([`take_turn`]), since a statement before this one.
pub(super) async fn claim_on(
    connection: &mut PgConnection,
    claims: &Claims,
) -> Result<Vec<ClaimedJob>, QueueError> {
    let (lanes, counts): (Vec<IntegrationId>, Vec<i32>) =
        claims.busy.iter().map(|(lane, count)| (*lane, clamp(*count))).unzip();
    let jobs = sqlx::query_file_as!(
        ClaimedJob,
        "src/store/jobs/claim.sql",
        claims.worker_id.0,
        clamp(claims.wanted),
        clamp(claims.lane_cap),
        &lanes as &[IntegrationId],
        &counts,
        ClaimBatchId::generate().0,
        claims.program.as_deref(),
    )
    .fetch_all(connection)
    .await?;
    // A planner that repeats a limited sub-query once claimed 300 rows for a limit of 5 (RELIABILITY 0.3). The statement is built
    // so that it cannot; if it ever did, the surplus is still held by us and still run, only not within our slots.
    if jobs.len() > claims.wanted {
        tracing::error!(
            wanted = claims.wanted,
            claimed = jobs.len(),
            "a claim took more jobs than it asked for"
        );
    }
    Ok(jobs)
}

fn clamp(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
