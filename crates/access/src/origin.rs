//! Where a request came from, for the audit log: known at the edge, needed in the depth, the same for everything in between.
//!
//! A task-local carries it, so that no function on the way has to. Work that does not come from a request has none.

use model::id::AuditEntryId;
use std::{future::Future, net::IpAddr};

/// Where a request came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The network address of the one who asks.
    pub address: Option<IpAddr>,
    /// The id the answer carries in `x-request-id`.
    pub request_id: Option<String>,
    /// The line of the audit log it follows from.
    pub follows: Option<Follows>,
}

/// How a change follows from one that was recorded before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// It takes that one back.
    Undoes(AuditEntryId),
    /// It makes that one again.
    Repeats(AuditEntryId),
}

tokio::task_local! {
    static ORIGIN: Origin;
}

/// Everything `work` records is said to come from there.
pub async fn from_origin<F: Future>(origin: Origin, work: F) -> F::Output {
    ORIGIN.scope(origin, work).await
}

/// Where the request being worked on came from.
#[must_use]
pub fn current() -> Origin {
    ORIGIN.try_with(Clone::clone).unwrap_or_default()
}

/// Everything `work` records is said to follow from an earlier line.
pub async fn following<F: Future>(follows: Follows, work: F) -> F::Output {
    from_origin(Origin { follows: Some(follows), ..current() }, work).await
}
