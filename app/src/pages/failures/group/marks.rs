//! What a reader says about a group: snoozed, fixed, or open again.

use crate::calls::failures::MarkFailure;
use crate::ui::{Button, Glyph, HiddenFields, PostForm, SelectField, SelectOption, form_action};
use leptos::prelude::*;
use model::failure::FailureState;

/// Snoozes it, marks it fixed, or reopens it.
#[component]
pub fn Marks(state: FailureState, hidden: HiddenFields) -> impl IntoView {
    let mark = form_action::<MarkFailure>();
    let snooze = form_action::<MarkFailure>();
    let is_closed = matches!(state, FailureState::Snoozed | FailureState::Fixed);
    let hours = [("1", "1 hour"), ("4", "4 hours"), ("24", "1 day"), ("72", "3 days"), ("168", "7 days")];
    let options = hours.into_iter().map(|(value, label)| SelectOption::new(value, label)).collect();
    let to_snooze = hidden.clone().with("mark", "snooze");
    let (mark_value, word) = if is_closed { ("reopen", "Reopen") } else { ("fix", "Mark fixed") };
    view! {
        <div class="flex flex-wrap items-end gap-2">
            <PostForm action=mark hidden=hidden.with("mark", mark_value)>
                <Button glyph=if is_closed { Glyph::Undo } else { Glyph::Check }>{word}</Button>
            </PostForm>
            {(state == FailureState::Open)
                .then(|| {
                    view! {
                        <PostForm action=snooze hidden=to_snooze class="flex flex-wrap items-end gap-2">
                            <SelectField name="hours" label="Snooze for" value="24" options=options />
                            <Button glyph=Glyph::Clock>"Snooze"</Button>
                        </PostForm>
                    }
                })}
        </div>
    }
    .into_any()
}
