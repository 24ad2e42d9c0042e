//! The question before a process is drained.

use super::verdict;
use crate::{calls::workers::DrainWorker, components::Confirm, format, ui::HiddenFields};
use leptos::prelude::*;
use model::worker::Worker;

/// The dialog.
#[component]
pub fn Question(
    /// Which.
    worker: Worker,
) -> impl IntoView {
    let drain = ServerAction::<DrainWorker>::new();
    let hidden = HiddenFields::default().with("id", worker.id.to_string()).with("back", "/workers");
    let held = match worker.busy {
        0 => "It holds no job now.".to_owned(),
        n => format!("It finishes the {} that it holds.", format::counted(n.into(), "job", "jobs")),
    };
    view! {
        <Confirm
            action=drain
            hidden=hidden
            title=format!("Drain {}?", verdict::name(&worker))
            text=format!("{held} It claims nothing more until the process is restarted: nothing here takes that back. Others go on.")
            deed="Drain this process"
            close="/workers"
        />
    }
    .into_any()
}
