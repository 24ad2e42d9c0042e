//! What is sent for a job, and what its answer means.
//!
//! One attempt is a pipeline: read ([`crate::store::material`]), decide what there is to tell ([`telling`]), put it into a request of the
//! integration's type ([`webhook`], [`rest`], [`bundle`]), wait for a slot, seal it with headers and signature ([`seal`]), send, judge. A
//! bundle gathers the items of several jobs before it waits for its slot. Delivery is at least once: a receiver may see a request again,
//! with the same `webhook-id`.

mod bundle;
mod doubt;
mod draft;
mod gone;
mod handler;
mod outcome;
mod preview;
mod reading;
mod receipt;
mod rest;
mod seal;
mod stop;
mod telling;
mod webhook;

pub(crate) use bundle::MOST_ITEMS;
pub(crate) use draft::Draft;
pub(crate) use handler::DeliveryHandler;
pub(crate) use reading::Reading;
pub(crate) use seal::Seal;
