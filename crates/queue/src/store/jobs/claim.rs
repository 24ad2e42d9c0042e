//! Claims: takes what may run now under a lease. `claim.sql` says how it decides, `claim_few.sql` where there is little to decide, and
//! `claim_take.sql` how the chosen are taken.

use crate::{
    error::QueueError,
    pool::probing_settings,
    store::jobs::claimed::{Claimed, ClaimedJob},
};
use model::id::{AssignmentId, ClaimBatchId, IntegrationId, WorkerId};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Row as _, Transaction};
use std::collections::HashMap;

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
macro_rules! settings {
    ($set:literal) => {
        concat!(
            probing_settings!($set),
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
pub(super) const SESSION_SETTINGS: &str = settings!("set");
const TRANSACTION_SETTINGS: &str = settings!("set local");

/// How it is decided who gets what, and how it is taken: one statement.
const CLAIM: &str = concat!(include_str!("claim.sql"), include_str!("claim_take.sql"));
const CLAIM_FEW: &str = concat!(include_str!("claim_few.sql"), include_str!("claim_take.sql"));

/// The turn is taken by a statement of its own, so that the claim sees what the last one committed.
pub(super) const BEGIN: &str = "begin isolation level read committed; select pg_advisory_xact_lock(4711, 1)";

/// Claims jobs: urgent first, then fair over integrations, then by age (`claim.sql` says how it decides). An engine's claimer tries
/// [a shorter way](super::Claimer) first.
///
/// # Errors
/// When the database is away, or other processes kept the claim from its turn for two seconds.
pub async fn claim(pool: &PgPool, claims: &Claims) -> Result<Vec<ClaimedJob>, QueueError> {
    let mut transaction = begin(pool).await?;
    let claimed = claim_on(&mut transaction, claims).await?;
    transaction.commit().await?;
    claimed.jobs()
}

/// Claims as [`claim`] does and undoes it: what a claim costs can be measured again and again. Answers how many jobs it took.
///
/// # Errors
/// As [`claim`].
pub async fn claim_and_undo(pool: &PgPool, claims: &Claims) -> Result<usize, QueueError> {
    let mut transaction = begin(pool).await?;
    let claimed = claim_on(&mut transaction, claims).await?;
    transaction.rollback().await?;
    Ok(claimed.len())
}

pub(super) async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, QueueError> {
    let mut transaction = pool.begin().await?;
    sqlx::raw_sql(TRANSACTION_SETTINGS).execute(&mut *transaction).await?;
    take_turn(&mut transaction).await?;
    Ok(transaction)
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
///
/// Not by sqlx's macro, which would decode each row before the next is read, within the turn.
pub(super) async fn claim_on(connection: &mut PgConnection, claims: &Claims) -> Result<Claimed, QueueError> {
    let (lanes, counts): (Vec<IntegrationId>, Vec<i32>) =
        claims.busy.iter().map(|(lane, count)| (*lane, clamp(*count))).unzip();
    let batch_id = ClaimBatchId::generate();
    let rows = sqlx::query(CLAIM)
        .bind(claims.worker_id)
        .bind(clamp(claims.wanted))
        .bind(clamp(claims.lane_cap))
        .bind(lanes)
        .bind(counts)
        .bind(batch_id)
        .bind(claims.program.as_deref())
        .fetch_all(connection)
        .await?;
    // A planner that repeats a limited sub-query once claimed 300 rows for a limit of 5 (RELIABILITY 0.3). The statement is built
    // so that it cannot; if it ever did, the surplus is still held by us and still run, only not within our slots.
    if rows.len() > claims.wanted {
        tracing::error!(
            wanted = claims.wanted,
            claimed = rows.len(),
            "a claim took more jobs than it asked for"
        );
    }
    Ok(Claimed { batch_id, rows })
}

/// Makes [`claim_few`] known to the session.
pub(super) async fn prepare_few(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let prepared =
        format!("prepare headgate_claim_few (uuid, int, int, uuid[], int[], uuid, text) as {CLAIM_FEW}");
    sqlx::raw_sql(AssertSqlSafe(prepared)).execute(connection).await?;
    Ok(())
}

/// A whole claim in one answer, its turn and its commit included: all that is ready, where that is so little that nothing has to be divided.
/// None where it is not; then [`claim_on`] decides.
pub(super) async fn claim_few(
    connection: &mut PgConnection,
    claims: &Claims,
) -> Result<Option<Claimed>, QueueError> {
    let (lanes, counts): (Vec<String>, Vec<String>) =
        claims.busy.iter().map(|(lane, count)| (lane.to_string(), clamp(*count).to_string())).unzip();
    let batch_id = ClaimBatchId::generate();
    // As text, because only so a string of statements goes out in one message.
    let statements = format!(
        "{BEGIN}; execute headgate_claim_few ('{}', {}, {}, '{{{}}}', '{{{}}}', '{batch_id}', {}); commit",
        claims.worker_id,
        clamp(claims.wanted),
        clamp(claims.lane_cap),
        lanes.join(","),
        counts.join(","),
        claims.program.as_deref().map_or_else(|| "null".to_owned(), quoted),
    );
    let mut rows = sqlx::raw_sql(AssertSqlSafe(statements)).fetch_all(connection).await?;
    // Those of the claim alone: taking the turn answers a column.
    rows.retain(|row| row.len() > 1);
    let is_undecided = match rows.first() {
        Some(row) => row.try_get::<Option<AssignmentId>, _>(0)?.is_none(),
        None => false,
    };
    Ok((!is_undecided).then_some(Claimed { batch_id, rows }))
}

/// As a literal, whatever the session's `standard_conforming_strings` says.
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
    fn a_literal_ends_nowhere_but_at_its_end() {
        for (text, literal) in [("main", "e'main'"), ("o'neill", "e'o''neill'"), (r"\'; x", r"e'\\''; x'")] {
            assert_eq!(quoted(text), literal);
        }
    }
}
