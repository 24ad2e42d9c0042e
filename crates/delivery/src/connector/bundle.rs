//! `bundle`: one POST with `{"items": […]}`, each item what a webhook would be.
//!
//! So far each job is sent by itself, as a bundle of one: the form is the contract's, gathering a window's changes into one request is not
//! done yet. Receivers that read `items` as a list need no change when it is.

use serde::Serialize;

use super::webhook::RecordBody;

/// The body of a bundle.
#[derive(Serialize)]
pub(super) struct Bundle<'a> {
    pub(super) items: Vec<RecordBody<'a>>,
}
