//! Settings of retention, from the table in `model::retention`.

use super::{error::ConfigError, key::Key, sources::Sources};
use model::retention::{Retained, Retentions};
use std::time::Duration;

const MAXIMUM: Duration = Duration::from_secs(3_650 * 24 * 60 * 60);

/// In the order of [`Retained::ALL`].
pub(super) const KEYS: [&Key; Retained::ALL.len()] = [
    &key(Retained::FinishedJobs),
    &key(Retained::DeletedRecords),
    &key(Retained::Resyncs),
    &key(Retained::Operations),
    &key(Retained::AuditLog),
    &key(Retained::EventIds),
];

const fn key(what: Retained) -> Key {
    let accepted = match what {
        Retained::Operations => "a duration from 1d to 3650d, such as 90d",
        _ => "a duration from 1h to 3650d, such as 7d",
    };
    Key::with_default(what.setting(), what.default_text(), what.meaning(), accepted)
}

fn minimum(what: Retained) -> Duration {
    let hours = match what {
        // Operations can be undone for a day.
        Retained::Operations => 24,
        _ => 1,
    };
    Duration::from_secs(hours * 60 * 60)
}

pub(super) fn read(sources: &Sources) -> Result<Retentions, ConfigError> {
    Retained::ALL.iter().zip(KEYS).try_fold(Retentions::default(), |kept, (&what, key)| {
        Ok(kept.with(what, sources.duration(key, minimum(what)..=MAXIMUM)?))
    })
}
