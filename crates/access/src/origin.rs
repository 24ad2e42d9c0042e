//! Where a request came from, for the audit log. It is known in the HTTP middleware and needed where a line is written, so a task-local carries
//! it past the functions in between. Work that does not come from a request has none.

use model::id::AuditEntryId;
use std::{future::Future, net::IpAddr};

/// Where a request came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Network address of the client.
    pub address: Option<IpAddr>,
    /// Id that the answer carries in `x-request-id`.
    pub request_id: Option<String>,
    /// Line of the audit log that is being undone or repeated.
    pub follows: Option<Follows>,
}

/// How a change relates to an earlier line of the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Undoes that line.
    Undoes(AuditEntryId),
    /// Repeats that line.
    Repeats(AuditEntryId),
}

tokio::task_local! {
    static ORIGIN: Origin;
}

/// Runs `work`; the lines it records get this origin.
pub async fn from_origin<F: Future>(origin: Origin, work: F) -> F::Output {
    ORIGIN.scope(origin, work).await
}

/// Origin of the request that is being handled.
#[must_use]
pub fn current() -> Origin {
    ORIGIN.try_with(Clone::clone).unwrap_or_default()
}

/// Runs `work`; the lines it records refer to an earlier line.
pub async fn following<F: Future>(follows: Follows, work: F) -> F::Output {
    from_origin(Origin { follows: Some(follows), ..current() }, work).await
}
