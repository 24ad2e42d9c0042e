//! Attempts that begin together read what they need to know together.

use std::{sync::Arc, time::Duration};

use queue::QueueError;
use sqlx::PgPool;
use tokio::time::timeout;

use crate::{
    store::material::{self, Asked, KnownSettings, Material},
    together::{Limits, Together},
};

/// The database has this long to say what is to be sent.
pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// One statement reads for this many at most: each may bring two records of a megabyte.
const LIMITS: Limits = Limits { rounds: 2, weight: 100, gathers: false };
/// One for each statement under way, and one for whoever looks at a job by hand.
const CONNECTIONS: u32 = 3;

/// What is known of a job's request; none: the integration is gone.
type Answer = Result<Option<Material>, Arc<QueueError>>;

/// Reads what attempts need to know.
pub(crate) struct Reading {
    line: Arc<Together<Asked, Answer>>,
    source: Source,
}

/// Where it stands.
#[derive(Clone)]
struct Source {
    pool: PgPool,
    known: Arc<KnownSettings>,
}

impl Reading {
    pub(crate) fn new(pool: &PgPool) -> Self {
        let source = Source { pool: queue::pool::probing(pool, CONNECTIONS), known: Arc::default() };
        Self { line: Together::new(LIMITS), source }
    }

    pub(super) async fn read(&self, asked: Asked) -> Answer {
        let source = self.source.clone();
        let read = move |asked: Vec<Asked>| {
            let source = source.clone();
            async move { source.read_each(&asked).await }
        };
        let answer = self.line.ask(asked, 1, read).await;
        answer.unwrap_or_else(|| Err(Arc::new(sqlx::Error::WorkerCrashed.into())))
    }

    /// For somebody who looks at a job.
    pub(super) async fn look(&self, asked: Asked) -> Result<Option<Material>, QueueError> {
        Ok(self.source.read(&[asked]).await?.pop().flatten())
    }
}

impl Source {
    async fn read_each(&self, asked: &[Asked]) -> Vec<Answer> {
        match self.read(asked).await {
            Ok(materials) => return materials.into_iter().map(Ok).collect(),
            Err(error) if asked.len() == 1 || error.is_unavailable() => {
                let error = Arc::new(error);
                return asked.iter().map(|_| Err(Arc::clone(&error))).collect();
            }
            Err(_) => {}
        }
        // Something is wrong with one of them: the others need not suffer.
        let mut answers = Vec::with_capacity(asked.len());
        for one in asked {
            let read = self.read(std::slice::from_ref(one)).await;
            answers.push(read.map(|mut read| read.pop().flatten()).map_err(Arc::new));
        }
        answers
    }

    async fn read(&self, asked: &[Asked]) -> Result<Vec<Option<Material>>, QueueError> {
        let mut connection = self.pool.acquire().await?;
        match timeout(READ_TIMEOUT, material::read(&mut connection, &self.known, asked)).await {
            Ok(read) => Ok(read?),
            Err(_) => {
                // Whoever takes it next would wait for this answer.
                connection.close_on_drop();
                Err(sqlx::Error::PoolTimedOut.into())
            }
        }
    }
}
