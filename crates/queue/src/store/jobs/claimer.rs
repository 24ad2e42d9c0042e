//! The connection that an engine claims on.

use crate::{
    error::QueueError,
    pool::prepare,
    store::jobs::{
        claim::{BEGIN, Claims, claim_on, settings},
        claimed::Claimed,
    },
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, postgres::PgConnectOptions};
use std::{sync::Arc, time::Duration};

/// Ends the claim's turn before what it wrote is on disk: the next claim is made meanwhile.
const COMMIT_AHEAD_OF_DISK: &str = "set local synchronous_commit = off; commit";

/// From so many jobs on, claims do not wait for the disk in their turn. Fewer wait there: that is one answer less.
const MANY: usize = 100;

/// Nothing of a claim takes so long.
const LONGEST_STATEMENT: Duration = Duration::from_secs(15);

/// A connection for claims alone, kept open: nobody queues for it, nobody has to ask whether it is sound, and what a claim is planned by
/// is set once. A job on an idle system waits for three answers instead of five.
#[derive(Debug)]
pub struct Claimer {
    options: Arc<PgConnectOptions>,
    open: Option<PgConnection>,
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

impl Claimer {
    /// Connects with the pool's options, when it is first needed and after each failure.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        Self { options: pool.connect_options(), open: None }
    }

    /// As [`claim`](super::claim()), but many jobs may be claimed [ahead of the disk](Durability::AheadOfDisk).
    ///
    /// # Errors
    /// As [`claim`](super::claim()). Whether the jobs were claimed is then unknown: `give_back_unknown` finds out.
    pub async fn claim(&mut self, claims: &Claims) -> Result<(Claimed, Durability), QueueError> {
        // Taken out until all went well: a claim that failed or was cut off may leave a connection inside a transaction.
        let mut connection = match self.open.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
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
        Ok((claimed, durability))
    }

    async fn connect(&self) -> Result<PgConnection, QueueError> {
        let mut connection = PgConnection::connect_with(&self.options).await?;
        prepare(&mut connection, Some(LONGEST_STATEMENT)).await?;
        sqlx::raw_sql(AssertSqlSafe(settings("set"))).execute(&mut connection).await?;
        Ok(connection)
    }
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
