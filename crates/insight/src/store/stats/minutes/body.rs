//! The stored form of a minute's gauges: JSON of the differences from the last whole minute, deflated.
//!
//! Most integrations do not change most of the time, and of one that does few fields change. A comparison field by field is exact for all
//! fields, also for those that a later version adds.

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use model::{
    id::IntegrationId,
    stats::{IntegrationGauge, Moment, Snapshot},
    worker::Worker,
};
use queue::error::QueueError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Write as _},
};

#[derive(Serialize, Deserialize)]
struct Body {
    /// The snapshot without its integrations.
    snapshot: Snapshot,
    workers: Vec<Worker>,
    /// Whole gauges, or the id and the changed fields of each gauge that changed.
    gauges: Vec<Map<String, Value>>,
    /// Integrations of the whole minute that no longer exist.
    gone: BTreeSet<IntegrationId>,
}

const ID: &str = "integration_id";

/// The stored form of a moment: its differences from `whole`, or all of it.
pub(super) fn write(moment: &Moment, whole: Option<&Snapshot>) -> Result<Vec<u8>, QueueError> {
    let before: BTreeMap<_, _> = whole
        .iter()
        .flat_map(|whole| &whole.integrations)
        .map(|gauge| (gauge.integration_id, gauge))
        .collect();
    let now: BTreeSet<_> = moment.snapshot.integrations.iter().map(|gauge| gauge.integration_id).collect();
    let mut gauges = Vec::new();
    for gauge in &moment.snapshot.integrations {
        match before.get(&gauge.integration_id) {
            Some(before) if *before == gauge => {}
            Some(before) => {
                let before = fields(before)?;
                let mut changed = fields(gauge)?;
                changed.retain(|name, value| name == ID || before.get(name) != Some(value));
                gauges.push(changed);
            }
            None => gauges.push(fields(gauge)?),
        }
    }
    let body = Body {
        snapshot: moment.snapshot.with_integrations(Vec::new()),
        workers: moment.workers.clone(),
        gauges,
        gone: before.keys().filter(|id| !now.contains(id)).copied().collect(),
    };
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
    deflated.write_all(&serde_json::to_vec(&body).map_err(undecodable)?).map_err(undecodable)?;
    deflated.finish().map_err(undecodable)
}

/// The moment of a row, given the snapshot of the whole minute that it is based on.
pub(super) fn read(deflated: &[u8], whole: Option<&Snapshot>) -> Result<Moment, QueueError> {
    let mut json = Vec::new();
    ZlibDecoder::new(deflated).read_to_end(&mut json).map_err(undecodable)?;
    let Body { mut snapshot, workers, gauges, gone } = serde_json::from_slice(&json).map_err(undecodable)?;
    let mut all: BTreeMap<_, _> = whole
        .iter()
        .flat_map(|whole| &whole.integrations)
        .filter(|gauge| !gone.contains(&gauge.integration_id))
        .map(|gauge| (gauge.integration_id, gauge.clone()))
        .collect();
    for changed in gauges {
        let id = changed.get(ID).cloned().unwrap_or_default();
        let id: IntegrationId = serde_json::from_value(id).map_err(undecodable)?;
        let mut gauge = all.get(&id).map(fields).transpose()?.unwrap_or_default();
        gauge.extend(changed);
        all.insert(id, serde_json::from_value(Value::Object(gauge)).map_err(undecodable)?);
    }
    // A snapshot is ordered by id, as in Postgres.
    snapshot.integrations = all.into_values().collect();
    Ok(Moment { snapshot, workers })
}

fn fields(gauge: &IntegrationGauge) -> Result<Map<String, Value>, QueueError> {
    match serde_json::to_value(gauge).map_err(undecodable)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

/// A row of a newer version may not be readable while processes of both versions run.
fn undecodable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> QueueError {
    QueueError::Database(sqlx::Error::Decode(error.into()))
}
