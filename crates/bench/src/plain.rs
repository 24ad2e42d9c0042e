//! A plain queue as one writes it in an afternoon: a table, a notification, a loop that listens. The engine that is compared with it also has leases,
//! limits, fairness, history and counters.

use crate::floor::database;
use crate::world::{connect, execute, payload};
use anyhow::Result;
use sqlx::{PgPool, postgres::PgListener, types::Json};
use std::time::Instant;
use tokio::{sync::mpsc, task::JoinHandle};

const TABLE: &str = "create table public.plain (
    id bigint generated always as identity primary key, n bigint not null, status text not null default 'pending', payload jsonb not null
);
create index on public.plain (id) where status = 'pending'";

pub(crate) struct Plain {
    pool: PgPool,
}

impl Plain {
    pub(crate) async fn set_up(server: &str) -> Result<Self> {
        let pool = connect(&database(server).await?, 4).await?;
        execute(&pool, TABLE).await?;
        Ok(Self { pool })
    }

    /// Inserts a job and sends its notification, in one statement.
    pub(crate) async fn enqueue(&self, n: u64) -> Result<()> {
        sqlx::query(
            "with made as (insert into public.plain (n, payload) values ($1, $2) returning 1)
             select pg_notify('plain', '') from made",
        )
        .bind(i64::try_from(n)?)
        .bind(Json(payload(n)))
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Claims all jobs at each notification and reports when it has them; completes them by a second statement.
    pub(crate) async fn work(
        &self,
        begun: mpsc::UnboundedSender<(u64, Instant)>,
    ) -> Result<JoinHandle<Result<()>>> {
        let mut listener = PgListener::connect_with(&self.pool).await?;
        listener.listen("plain").await?;
        let pool = self.pool.clone();
        Ok(tokio::spawn(async move {
            loop {
                listener.recv().await?;
                loop {
                    let claimed: Vec<(i64, i64)> = sqlx::query_as(
                        "update public.plain set status = 'processing' where id in (
                            select id from public.plain where status = 'pending' order by id limit 100 for update skip locked
                        ) returning id, n",
                    )
                    .fetch_all(&pool)
                    .await?;
                    let now = Instant::now();
                    for (_, n) in &claimed {
                        // The bench may have ended.
                        let _ = begun.send((u64::try_from(*n)?, now));
                    }
                    if claimed.is_empty() {
                        break;
                    }
                    let ids: Vec<i64> = claimed.into_iter().map(|(id, _)| id).collect();
                    sqlx::query("update public.plain set status = 'completed' where id = any ($1)")
                        .bind(ids)
                        .execute(&pool)
                        .await?;
                }
            }
        }))
    }
}
