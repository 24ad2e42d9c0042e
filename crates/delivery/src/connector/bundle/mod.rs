//! `bundle`: changes gathered per window, one POST with `{"items": […]}`, each item what a webhook would be.
//!
//! - **Window.** A change's job is due at the end of the current window: the next multiple of `bundle_window_seconds` on the database's
//!   clock ([`crate::store::catalog`]). Urgent changes wait with the others, since whoever set a window asked for few requests; among more
//!   jobs than a request takes they go first. What nobody waits to see gathered goes at once: re-syncs (they come in bulk), retries,
//!   requeued jobs. The jobs of a request that failed fall due again together.
//! - **Claim.** The claim hands out the jobs of one request at a time, [`MOST_ITEMS`] at the most, so that `max_concurrency` counts requests.
//! - **Gathering.** The jobs of one claim meet in a [`Group`](gather::Group). Each reads and decides by itself, as a webhook does: one that
//!   has nothing to tell completes as `unchanged`, the others hand their item in. Once all have decided, a task ([`carry`]) sends the
//!   items in the order of acceptance, one request at a time, each with a slot of its own: one, unless they are too large for it. Each job
//!   ends by the same answer under its own lease.
//! - **Refusal.** 400, 409, 413 and 422 may be about a single item. The bundle is then halved, and halved again, until the items that are
//!   refused alone are the only dead letters. Whoever refused several may have taken in some of them first: each stays in doubt until it
//!   is accepted, or refused alone.
//! - **Turn.** Further requests ([`turn`]) see the integration as it is by then: paused or held, the items are given back; elsewhere or
//!   with other secrets, they go there. A time-out's worth after the first request the rest is given back too, once one of them had its answer: a cancel
//!   or a newer change is not to wait for up to 199 requests.
//! - **Headers.** `webhook-id` is the job's id for a single item; for several it is made of their ids, so that a repeated request has the
//!   same one and another set another one. Each item has its own `id` besides. `x-correlation-id` and the trace are the oldest item's.

mod carry;
mod gather;
mod item;
mod turn;

pub(super) use gather::Place;
pub(super) use item::{Address, Item, body};

/// Items of one request.
pub(crate) const MOST_ITEMS: i32 = 100;
