//! What is sent for a job, and what its answer means.
//!
//! One attempt is a pipeline: read ([`crate::store::material`]), decide what to send ([`send_plan`]), put it into a request of the
//! integration's type ([`webhook`], [`rest`], [`bundle`]), wait for a slot, add headers and signature ([`signing`]), send, judge. A
//! bundle gathers the items of several jobs before it waits for its slot. Delivery is at least once: a receiver may see a request again,
//! with the same `webhook-id`.

mod bundle;
mod draft;
mod gone;
mod handler;
mod material_reader;
mod outcome;
mod preview;
mod receipt;
mod rest;
mod send_plan;
mod signing;
mod stop;
mod uncertain;
mod webhook;

pub(crate) use bundle::MAX_ITEMS;
pub(crate) use draft::Draft;
pub(crate) use handler::DeliveryHandler;
pub(crate) use material_reader::MaterialReader;
pub(crate) use signing::RequestSigner;
