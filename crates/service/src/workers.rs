//! Worker processes.

use crate::{Headgate, ServiceError};
use access::audit::Entry;
use model::{actor::Actor, id::WorkerId, worker::Worker};
use queue::store::workers;

impl Headgate {
    /// Makes a process claim nothing more; running jobs are finished.
    ///
    /// # Errors
    /// No such process.
    pub async fn drain_worker(&self, actor: &Actor, id: WorkerId) -> Result<Worker, ServiceError> {
        self.change(actor, async |mut tx| {
            let worker = workers::drain(&mut tx, id).await?;
            // The whole worker, since its id alone says nothing once the process is gone.
            let entry = Entry::new("worker.drain").about(id).with(&worker);
            Ok((tx, worker, entry))
        })
        .await
    }
}
