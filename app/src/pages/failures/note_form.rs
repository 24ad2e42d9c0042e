//! A note about a failure, published with the sync status of the affected apps.

use crate::calls::failures::PublishFailureNote;
use crate::format;
use crate::ui::{Button, HiddenFields, PostForm, TextField, form_action};
use leptos::prelude::*;

#[component]
pub fn NoteForm(
    /// The group, its app and integration, and where to go back to.
    hidden: HiddenFields,
    /// With how many integrations it is published.
    integrations: i64,
    /// The published note, if all have the same.
    note: Option<String>,
) -> impl IntoView {
    let publish = form_action::<PublishFailureNote>();
    let withdraw = form_action::<PublishFailureNote>();
    let who = format::counted(integrations, "integration", "integrations");
    let hint =
        format!("Shown with the sync status of {who} until this is over or fixed. Do not name other apps.");
    let has_note = note.is_some();
    let nothing = hidden.clone();
    view! {
        <div class="flex flex-col gap-2">
            <PostForm action=publish hidden=hidden class="flex flex-wrap items-start gap-2">
                <TextField
                    name="note"
                    label="Note for the app"
                    placeholder="Your shop refuses new prices. We are in touch with your agency."
                    value=note.unwrap_or_default()
                    hint=Some(hint)
                    required=true
                    grow=true
                />
                <div class="pt-5">
                    <Button>"Publish"</Button>
                </div>
            </PostForm>
            {has_note
                .then(|| {
                    view! {
                        <PostForm action=withdraw hidden=nothing>
                            <Button>"Withdraw the note"</Button>
                        </PostForm>
                    }
                })}
        </div>
    }
    .into_any()
}
