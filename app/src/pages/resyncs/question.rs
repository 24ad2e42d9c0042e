//! The question before a re-sync is cancelled.

use crate::{
    calls::resyncs::SteerResync,
    components::Confirm,
    format,
    ui::{HiddenFields, form_action},
};
use leptos::prelude::*;
use model::resync::{Resync, ResyncStep};

#[component]
pub fn CancelQuestion(resync: Resync, back: String) -> impl IntoView {
    let steer = form_action::<SteerResync>();
    let waiting = (resync.total - resync.done - resync.failed).max(0);
    let jobs = format::counted(waiting, "waiting job", "waiting jobs");
    let hidden = HiddenFields::default()
        .with("id", resync.id.to_string())
        .with("step", ResyncStep::Cancel.as_str())
        .with("back", back.clone());
    view! {
        <Confirm
            action=steer
            hidden=hidden
            title=format!("Cancel this re-sync and its {jobs}?")
            text="What was sent stays sent. Records that have changed since are sent with their next change."
            button_text=format!("Cancel {jobs}")
            close=back
        />
    }
    .into_any()
}
