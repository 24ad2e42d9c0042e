//! `bundle`: changes gathered per window, one POST with `{"items": […]}`, each item the body of a webhook.
//!
//! - **Window.** A change's job is due at the end of the current window: the next multiple of `bundle_window_seconds` on the database's
//!   clock ([`crate::store::catalog`]). Urgent changes wait with the others, since a window is set to have few requests; among more
//!   jobs than one request takes they go first. Re-syncs (their jobs come in bulk), retries and requeued jobs do not wait for the end of a
//!   window. The jobs of a request that failed fall due again together.
//! - **Claim.** The claim hands out the jobs of one request at a time, [`MAX_ITEMS`] at the most, so that `max_concurrency` counts requests.
//! - **Gathering.** The jobs of one claim form a [`Group`](group::Group). Each reads and decides by itself, as a webhook does: one that
//!   has nothing to send completes as `unchanged`, the others submit their item. Once all have decided, a task ([`send`]) sends the
//!   items in the order of acceptance, one request at a time, each with a slot of its own: one, unless they are too large for it. Each job
//!   ends with the same answer under its own lease.
//! - **Refusal.** 400, 409, 413 and 422 may be about a single item. The bundle is then halved, and halved again, until the items that are
//!   refused alone are the only dead letters. A receiver that refused several may have accepted some of them first: each stays uncertain
//!   until it is accepted, or refused alone.
//! - **Further requests** ([`send_budget`]) read the integration again: if it is paused or quiet, the items are released; with another
//!   address or other secrets, they go there. Once the first request is as long ago as a time-out and one item has its answer, the rest is
//!   released too: a cancel or a newer change must not wait for up to 199 requests.
//! - **Headers.** `webhook-id` is the job's id for a single item; for several it is made of their ids, so that a repeated request has the
//!   same one and another set another one. Each item also has its own `id`. `x-correlation-id` and the trace are the oldest item's.

mod group;
mod item;
mod member;
mod send;
mod send_budget;

pub(super) use item::{Address, Item, body};
pub(super) use member::Member;

/// Most items of one request.
pub(crate) const MAX_ITEMS: i32 = 100;
