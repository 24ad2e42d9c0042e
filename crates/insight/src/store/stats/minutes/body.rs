//! The stored form of a minute: JSON, deflated, of all of it or of its differences from the last whole minute. Most integrations do not change most
//! of the time.

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use model::snapshot_changes::SnapshotChanges;
use model::stats::{Moment, Snapshot};
use model::worker::Worker;
use queue::error::QueueError;
use serde::{Deserialize, Serialize};
use std::io::{Read as _, Write as _};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    Whole(Moment),
    Changes { snapshot: SnapshotChanges, workers: Vec<Worker> },
}

/// The stored form of a moment: its differences from `whole`, or all of it.
pub(super) fn write(moment: &Moment, whole: Option<&Snapshot>) -> Result<Vec<u8>, QueueError> {
    let body = match whole {
        Some(whole) => Body::Changes {
            snapshot: SnapshotChanges::between(whole, &moment.snapshot),
            workers: moment.workers.clone(),
        },
        None => Body::Whole(moment.clone()),
    };
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
    deflated.write_all(&serde_json::to_vec(&body).map_err(undecodable)?).map_err(undecodable)?;
    deflated.finish().map_err(undecodable)
}

/// The moment of a row, given the snapshot of the whole minute that it is based on.
pub(super) fn read(deflated: &[u8], whole: Option<&Snapshot>) -> Result<Moment, QueueError> {
    let mut json = Vec::new();
    ZlibDecoder::new(deflated).read_to_end(&mut json).map_err(undecodable)?;
    match serde_json::from_slice(&json).map_err(undecodable)? {
        Body::Whole(moment) => Ok(moment),
        Body::Changes { snapshot, workers } => {
            let snapshot = whole.and_then(|whole| snapshot.onto(whole));
            Ok(Moment {
                snapshot: snapshot.ok_or_else(|| undecodable("changes of another minute"))?,
                workers,
            })
        }
    }
}

/// A row of a newer version may not be readable while processes of both versions run.
fn undecodable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> QueueError {
    QueueError::Database(sqlx::Error::Decode(error.into()))
}
