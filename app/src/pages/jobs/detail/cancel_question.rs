//! The question before a job is cancelled.

use crate::{
    calls::jobs::CancelJob,
    components::Confirm,
    state::page_url,
    ui::{HiddenFields, form_action},
};
use leptos::prelude::*;
use model::{id::JobId, job::JobStatus, rules::transition::can_cancel};

/// Shown while the address asks for it and the job can be cancelled.
#[component]
pub fn CancelQuestion(id: JobId, status: Memo<JobStatus>, may_steer: bool) -> impl IntoView {
    let cancel = form_action::<CancelJob>();
    let url = page_url::current();
    let is_asked = Memo::new(move |_| url.with(|url| url.get("confirm") == Some("cancel")));
    let close = format!("/jobs/{id}");
    move || {
        (may_steer && is_asked.get() && can_cancel(status.get()))
            .then(|| {
                let text = if status.get() == JobStatus::Processing {
                    "Its worker is told to stop; what it has sent by then may have arrived. The change stays in the record and is sent with its next change."
                } else {
                    "It is not sent unless you requeue it later. The change stays in the record and is sent with its next change."
                };
                view! {
                    <Confirm
                        action=cancel
                        hidden=HiddenFields::default().with("id", id.to_string()).with("back", close.clone())
                        title="Cancel 1 job?"
                        text=text
                        button_text="Cancel 1 job"
                        close=close.clone()
                    />
                }
            })
    }
}
