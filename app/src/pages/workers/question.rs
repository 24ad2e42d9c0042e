//! The question before a process is drained.

use super::verdict;
use crate::{
    calls::workers::DrainWorker,
    components::Confirm,
    format,
    ui::{HiddenFields, form_action},
};
use leptos::prelude::*;
use model::worker::Worker;

#[component]
pub fn Question(worker: Worker) -> impl IntoView {
    let drain = form_action::<DrainWorker>();
    let hidden = HiddenFields::default().with("id", worker.id.to_string()).with("back", "/workers");
    let busy = match worker.busy {
        0 => "It has no job now.".to_owned(),
        n => format!("It finishes its {}.", format::counted(n.into(), "job", "jobs")),
    };
    view! {
        <Confirm
            action=drain
            hidden=hidden
            title=format!("Drain {}?", verdict::name(&worker))
            text=format!("{busy} It claims no more jobs until it is restarted. You cannot undo this here. Other processes continue.")
            button_text="Drain this process"
            close="/workers"
        />
    }
    .into_any()
}
