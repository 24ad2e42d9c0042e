//! Ids: UUIDv7 newtypes, so that no id of one thing passes for another's and every id sorts by when it was made.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// The lowest id that can have been made at that moment: bounds rows by the time they were made at, where nothing but their ids is indexed.
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
            /// An id later than every id this process made before.
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
    /// One worker's lease on one job; the only key to report with.
    AssignmentId
    /// One start of one process.
    WorkerId
    /// A round trip of the claim.
    ClaimBatchId
    /// A container of jobs.
    BatchId
    /// A batch that sends an integration its catalog again.
    ResyncId
    /// A job that will not be tried again by itself.
    DeadLetterId
    /// A bulk action.
    OperationId
    /// A person who signs in.
    UserId
    /// A key of the API.
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
    fn ids_lie_within_the_bounds_of_their_moment() {
        let before = Utc::now() - TimeDelta::milliseconds(5);
        let id = Uuid::now_v7();
        assert!(first_id(before) < id && id < first_id(Utc::now() + TimeDelta::milliseconds(5)));
        assert_eq!(first_id(DateTime::UNIX_EPOCH - TimeDelta::days(1)), Uuid::nil());
    }
}
