//! The database that comes with the program: without a database URL, Headgate runs a Postgres cluster of its own.
//!
//! It uses the server binaries of the machine, keeps the cluster in the data directory and listens on a socket in a
//! private directory, on no port and with no password: nobody else reaches it. Started as root it runs as an
//! unprivileged user. It ends with the program, also when that is killed; where it could not, the next start
//! finds it and takes its place. Behind the URL nothing is special: the same code runs on any Postgres.

mod binaries;
mod child;
mod cluster;
mod data_dir;
mod error;
mod keep_running;
mod orphan;
mod owner;
mod pid_file;
mod postmaster;
mod processes;
mod run_as;
mod socket;

pub use data_dir::choose_data_dir;
pub use error::EmbeddedError;

use cluster::Cluster;
use owner::OwnerLock;
use postmaster::Postmaster;
use std::{future::Future, path::Path};

/// A running cluster, owned by this process.
///
/// Dropping it asks Postgres to end and does not wait; [`stop`](Self::stop) waits.
#[derive(Debug)]
pub struct EmbeddedPostgres {
    cluster: Cluster,
    postmaster: Postmaster,
    url: String,
    _owner: OwnerLock,
}

impl EmbeddedPostgres {
    /// Starts the cluster in `data_dir`; the first time it is made, which takes a second or two.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong and what to do: see [`EmbeddedError`].
    pub async fn start(data_dir: &Path) -> Result<Self, EmbeddedError> {
        let data_dir = data_dir.to_path_buf();
        let prepared = tokio::task::spawn_blocking(move || {
            let (data_dir, owner) = data_dir::open(&data_dir)?;
            Ok((Cluster::open(&data_dir)?, owner))
        });
        let (cluster, owner) = prepared.await.map_err(|_| EmbeddedError::Interrupted)??;
        let postmaster = Postmaster::start(&cluster).await?;
        postmaster.until_ready(&cluster).await?;
        let url = cluster.ensure_database().await?;
        Ok(Self { cluster, postmaster, url, _owner: owner })
    }

    /// The address of Headgate's database in this cluster. It stays the same over restarts.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Resolves when Postgres ended, whoever ended it.
    pub fn exited(&self) -> impl Future<Output = ()> + Send + use<> {
        let ended = self.postmaster.ended();
        async move {
            ended.await;
        }
    }

    /// Starts it again after it died, or stops and starts it.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn restart(&mut self) -> Result<(), EmbeddedError> {
        self.postmaster.stop().await?;
        // Kept before it is ready: whoever cancels this and stops then waits for the new server's end.
        self.postmaster = Postmaster::start(&self.cluster).await?;
        self.postmaster.until_ready(&self.cluster).await
    }

    /// Ends Postgres in order: open transactions are rolled back, everything else is on disk afterwards.
    ///
    /// # Errors
    ///
    /// When it does not end within a minute.
    pub async fn stop(self) -> Result<(), EmbeddedError> {
        self.postmaster.stop().await
    }
}
