//! Attempts that begin together read their material in one statement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queue::QueueError;
use sqlx::PgPool;
use tokio::time::timeout;

use crate::batcher::{Batcher, Limits};
use crate::store::material::{self, KnownSettings, Material, MaterialQuery};

pub(super) const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// One statement reads for at most 100 attempts: each may bring two records of a megabyte.
const LIMITS: Limits = Limits { rounds: 2, weight: 100, lingers: false };
/// One for each statement under way, and one for previews.
const MAX_CONNECTIONS: u32 = 3;

/// None: the integration is gone.
type Answer = Result<Option<Material>, Arc<QueueError>>;

pub(crate) struct MaterialReader {
    batcher: Arc<Batcher<MaterialQuery, Answer>>,
    source: Source,
}

#[derive(Clone)]
struct Source {
    pool: PgPool,
    known: Arc<KnownSettings>,
    /// Whether the database could not be reached the last time.
    is_away: Arc<AtomicBool>,
}

impl MaterialReader {
    pub(crate) fn new(pool: &PgPool) -> Self {
        let source = Source {
            pool: queue::store::connections::for_lookups(pool, MAX_CONNECTIONS),
            known: Arc::default(),
            is_away: Arc::default(),
        };
        Self { batcher: Batcher::new(LIMITS), source }
    }

    pub(super) async fn read(&self, query: MaterialQuery) -> Answer {
        let source = self.source.clone();
        let read = move |queries: Vec<MaterialQuery>| {
            let source = source.clone();
            async move { source.read_each(&queries).await }
        };
        let answer = self.batcher.submit(query, 1, read).await;
        answer.unwrap_or_else(|| Err(Arc::new(sqlx::Error::WorkerCrashed.into())))
    }

    /// For a preview: not together with attempts.
    pub(super) async fn read_one(&self, query: MaterialQuery) -> Result<Option<Material>, QueueError> {
        Ok(self.source.read(&[query]).await?.pop().flatten())
    }
}

impl Source {
    async fn read_each(&self, queries: &[MaterialQuery]) -> Vec<Answer> {
        match self.read(queries).await {
            Ok(materials) => return materials.into_iter().map(Ok).collect(),
            Err(error) if queries.len() == 1 || error.is_unavailable() => {
                let error = Arc::new(error);
                return queries.iter().map(|_| Err(Arc::clone(&error))).collect();
            }
            Err(_) => {}
        }
        // One of the queries fails: each is made alone, so that the others have their answer.
        let mut answers = Vec::with_capacity(queries.len());
        for one in queries {
            let read = self.read(std::slice::from_ref(one)).await;
            answers.push(read.map(|mut read| read.pop().flatten()).map_err(Arc::new));
        }
        answers
    }

    async fn read(&self, queries: &[MaterialQuery]) -> Result<Vec<Option<Material>>, QueueError> {
        let answer = self.ask(queries).await;
        self.note(answer.as_ref().err().filter(|error| error.is_unavailable()));
        answer
    }

    /// Logs when the database goes away and when it is back, and not each job that waits for it.
    fn note(&self, away: Option<&QueueError>) {
        match (away, self.is_away.swap(away.is_some(), Ordering::Relaxed)) {
            (Some(error), false) => {
                let error = error.with_causes();
                tracing::warn!(%error, "what is to be sent cannot be read: jobs wait");
            }
            (None, true) => tracing::info!("what is to be sent can be read again"),
            _ => {}
        }
    }

    async fn ask(&self, queries: &[MaterialQuery]) -> Result<Vec<Option<Material>>, QueueError> {
        let mut connection = self.pool.acquire().await?;
        match timeout(READ_TIMEOUT, material::read(&mut connection, &self.known, queries)).await {
            Ok(read) => Ok(read?),
            Err(late) => {
                // Its next user would wait for this answer.
                connection.close_on_drop();
                Err(late.into())
            }
        }
    }
}
