//! Ids: UUIDv7 newtypes, so that ids of different kinds cannot be confused and all sort by time.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// The lowest id of this time, to select rows by time where only their ids are indexed.
#[must_use]
pub fn first_id(at: DateTime<Utc>) -> Uuid {
    let millis = u128::try_from(at.timestamp_millis()).unwrap_or(0) & 0xffff_ffff_ffff;
    Uuid::from_u128(millis << 80)
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id, greater than every id that this process generated before.
            #[must_use]
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    )*};
}

ids! {
    /// A tenant.
    AppId
    /// One app's connection to one external system.
    IntegrationId
    /// A unit of work.
    JobId
    /// One worker's lease of one job: required to report its result.
    AssignmentId
    /// One run of one process.
    WorkerId
    /// One claim statement.
    ClaimBatchId
    /// A group of jobs.
    BatchId
    /// A re-sync of an integration.
    ResyncId
    /// A job that will not be tried again by itself.
    DeadLetterId
    /// A bulk action.
    OperationId
    /// A user.
    UserId
    /// An API key.
    ApiKeyId
    /// A line of the audit log.
    AuditEntryId
    /// A saved view of the list of jobs.
    SavedViewId
    /// A change of a circuit breaker's state.
    BreakerFlipId
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    #[test]
    fn ids_are_within_the_bounds_of_their_time() {
        let before = Utc::now() - TimeDelta::milliseconds(5);
        let id = Uuid::now_v7();
        assert!(first_id(before) < id && id < first_id(Utc::now() + TimeDelta::milliseconds(5)));
        assert_eq!(first_id(DateTime::UNIX_EPOCH - TimeDelta::days(1)), Uuid::nil());
    }
}
