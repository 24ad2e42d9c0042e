//! Claims: takes jobs that may run now under a lease. `claim.sql` chooses them, `claim_few.sql` does where there is little to decide, and
//! `claim_take.sql` takes the chosen ones.

use crate::error::Result;
use crate::store::connections::lookup_settings;
use crate::store::jobs::claim::claimed::{Claimed, ClaimedJob};
use model::id::{AssignmentId, ClaimBatchId, IntegrationId, WorkerId};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Row as _, Transaction};
use std::collections::HashMap;

/// What a claimer asks for.
#[derive(Clone, Debug)]
pub struct ClaimRequest {
    /// The worker that gets the leases.
    pub worker_id: WorkerId,
    /// How many jobs at most.
    pub wanted: usize,
    /// How many jobs of one integration this process may have while others wait.
    pub lane_cap: usize,
    /// How many jobs it has already, by integration.
    pub busy: HashMap<IntegrationId, usize>,
    /// The program whose lanes it serves; none: `headgate`, which delivers.
    pub program: Option<String>,
}

/// Planner settings and timeouts of a claim.
///
/// Statistics taken while `ready` was empty or huge must not choose the plan: every step of the statement probes an index by its key, and
/// a plan that sorts or hashes a whole table instead would be 100 times slower (guarded by a test). A process that is stopped during its turn
/// keeps the others waiting for two seconds at most.
macro_rules! settings {
    ($set:literal) => {
        concat!(
            lookup_settings!($set),
            "; ",
            $set,
            " jit = off; ",
            $set,
            " lock_timeout = '2s'; ",
            $set,
            " idle_in_transaction_session_timeout = '2s'"
        )
    };
}
pub(crate) const SESSION_SETTINGS: &str = settings!("set");
const TRANSACTION_SETTINGS: &str = settings!("set local");

const CLAIM: &str = concat!(include_str!("claim.sql"), include_str!("claim_take.sql"));
const CLAIM_FEW: &str = concat!(include_str!("claim_few.sql"), include_str!("claim_take.sql"));

/// Claims take turns on an advisory lock. It is taken by a statement of its own, so that the claim sees what the last one committed.
pub(crate) const BEGIN: &str = "begin isolation level read committed; select pg_advisory_xact_lock(4711, 1)";

/// Claims jobs: urgent first, then fair over integrations, then by age (`claim.sql` says how). An engine's claimer tries
/// [a shorter statement](crate::store::jobs::Claimer) first.
///
/// # Errors
/// When other processes kept the claim from its turn for two seconds.
pub async fn claim(pool: &PgPool, request: &ClaimRequest) -> Result<Vec<ClaimedJob>> {
    let mut transaction = begin(pool).await?;
    let claimed = claim_on(&mut transaction, request).await?;
    transaction.commit().await?;
    claimed.jobs()
}

/// Claims as [`claim`] does and rolls back, so that the cost of a claim can be measured repeatedly. Returns how many jobs it took.
///
/// # Errors
/// As [`claim`].
pub async fn claim_and_roll_back(pool: &PgPool, request: &ClaimRequest) -> Result<usize> {
    let mut transaction = begin(pool).await?;
    let claimed = claim_on(&mut transaction, request).await?;
    transaction.rollback().await?;
    Ok(claimed.len())
}

pub(crate) async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let mut transaction = pool.begin().await?;
    sqlx::raw_sql(TRANSACTION_SETTINGS).execute(&mut *transaction).await?;
    take_turn(&mut transaction).await?;
    Ok(transaction)
}

/// Waits until no other claim is under way, and keeps others waiting until the transaction ends.
pub(crate) async fn take_turn(connection: &mut PgConnection) -> Result<()> {
    sqlx::query("select pg_advisory_xact_lock(4711, 1)").execute(connection).await?;
    Ok(())
}

/// The claim statement alone. The caller has taken the turn ([`take_turn`]) by an earlier statement.
///
/// It does not use sqlx's macro, which would decode each row before it reads the next, and so prolong the turn.
pub(crate) async fn claim_on(connection: &mut PgConnection, request: &ClaimRequest) -> Result<Claimed> {
    let (lanes, counts): (Vec<IntegrationId>, Vec<i32>) =
        request.busy.iter().map(|(lane, count)| (*lane, clamp(*count))).unzip();
    let batch_id = ClaimBatchId::generate();
    let rows = sqlx::query(CLAIM)
        .bind(request.worker_id)
        .bind(clamp(request.wanted))
        .bind(clamp(request.lane_cap))
        .bind(lanes)
        .bind(counts)
        .bind(batch_id)
        .bind(request.program.as_deref())
        .fetch_all(connection)
        .await?;
    // A planner that repeats a limited sub-query once claimed 300 rows for a limit of 5. The statement is built so that this cannot happen; if it
    // ever did, the surplus is still leased by us and still run, only not within our slots.
    if rows.len() > request.wanted {
        tracing::error!(
            wanted = request.wanted,
            claimed = rows.len(),
            "a claim took more jobs than it asked for"
        );
    }
    Ok(Claimed { batch_id, rows })
}

pub(crate) async fn prepare_few(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let prepared =
        format!("prepare headgate_claim_few (uuid, int, int, uuid[], int[], uuid, text) as {CLAIM_FEW}");
    sqlx::raw_sql(AssertSqlSafe(prepared)).execute(connection).await?;
    Ok(())
}

/// A whole claim in one round trip, its turn and its commit included: it takes everything that is ready, where that is so little that nothing has
/// to be divided. None where it is more; then [`claim_on`] decides.
pub(crate) async fn claim_few(
    connection: &mut PgConnection,
    request: &ClaimRequest,
) -> Result<Option<Claimed>> {
    let (lanes, counts): (Vec<String>, Vec<String>) =
        request.busy.iter().map(|(lane, count)| (lane.to_string(), clamp(*count).to_string())).unzip();
    let batch_id = ClaimBatchId::generate();
    // Arguments are part of the text, because only the simple protocol sends several statements in one message.
    let statements = format!(
        "{BEGIN}; execute headgate_claim_few ('{}', {}, {}, '{{{}}}', '{{{}}}', '{batch_id}', {}); commit",
        request.worker_id,
        clamp(request.wanted),
        clamp(request.lane_cap),
        lanes.join(","),
        counts.join(","),
        request.program.as_deref().map_or_else(|| "null".to_owned(), quoted),
    );
    let mut rows = sqlx::raw_sql(AssertSqlSafe(statements)).fetch_all(connection).await?;
    // Only the claim's rows: taking the turn returns a row of one column.
    rows.retain(|row| row.len() > 1);
    let is_undecided = match rows.first() {
        Some(row) => row.try_get::<Option<AssignmentId>, _>(0)?.is_none(),
        None => false,
    };
    Ok((!is_undecided).then_some(Claimed { batch_id, rows }))
}

/// The text as a literal that is safe whatever the session's `standard_conforming_strings` is.
fn quoted(text: &str) -> String {
    format!("e'{}'", text.replace('\\', r"\\").replace('\'', "''"))
}

fn clamp(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        for (text, literal) in [("main", "e'main'"), ("o'neill", "e'o''neill'"), (r"\'; x", r"e'\\''; x'")] {
            assert_eq!(quoted(text), literal);
        }
    }
}
