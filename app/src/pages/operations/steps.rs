//! What can be done about an operation, as buttons that work without a script.

use crate::calls::operations::SteerOperation;
use crate::ui::{Button, ButtonKind, Glyph, HiddenFields, PostForm, form_action};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::OperationId;
use model::operation::{Operation, OperationStep};

/// The buttons for its present state.
#[component]
pub fn Steps(
    /// A signal, so that buttons come and go with its state.
    operation: Memo<Operation>,
    /// The time left to undo it is counted from here.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
    /// Where the form leads back to.
    #[prop(into)]
    back: String,
) -> impl IntoView {
    let steps = Memo::new(move |_| operation.with(|operation| operation.steps(now.get())));
    let id = operation.with_untracked(|operation| operation.id);
    let back = StoredValue::new(back);
    view! {
        <For
            each=move || steps.get()
            key=|step| step.as_str()
            children=move |step| view! { <Step id=id step=step back=back.get_value() /> }
        />
    }
    .into_any()
}

#[component]
fn Step(id: OperationId, step: OperationStep, back: String) -> impl IntoView {
    let steer = form_action::<SteerOperation>();
    let (word, glyph, kind) = match step {
        OperationStep::Pause => ("Pause", Glyph::Pause, ButtonKind::Plain),
        OperationStep::Resume => ("Resume", Glyph::Play, ButtonKind::Plain),
        OperationStep::Abort => ("Abort", Glyph::Ban, ButtonKind::Danger),
        OperationStep::Undo => ("Undo", Glyph::Undo, ButtonKind::Danger),
    };
    let hidden =
        HiddenFields::default().with("id", id.to_string()).with("step", step.as_str()).with("back", back);
    view! {
        <PostForm action=steer hidden=hidden>
            <Button kind=kind glyph=glyph>{word}</Button>
        </PostForm>
    }
    .into_any()
}
