//! Telling customers what is wrong, in our words.

use crate::{
    calls::failures::TellFailure,
    format,
    ui::{Button, HiddenFields, PostForm, TextField},
};
use leptos::prelude::*;

/// The note and who reads it.
#[component]
pub fn Tell(
    /// The group and whose share of it, and where to go back.
    hidden: HiddenFields,
    /// How many integrations' customers read it.
    integrations: i64,
    /// What they were told, if it is the same everywhere.
    told: Option<String>,
) -> impl IntoView {
    let tell = ServerAction::<TellFailure>::new();
    let take_back = ServerAction::<TellFailure>::new();
    let who = format::counted(integrations, "integration", "integrations");
    let hint = format!(
        "The customers of {who} read it with their status, until this is over or fixed. Name no other customer."
    );
    let has_told = told.is_some();
    let nothing = hidden.clone();
    view! {
        <div class="flex flex-col gap-2">
            <PostForm action=tell hidden=hidden class="flex flex-wrap items-start gap-2">
                <TextField
                    name="note"
                    label="Tell the customer"
                    placeholder="Your shop refuses new prices. We are in touch with your agency."
                    value=told.unwrap_or_default()
                    hint=Some(hint)
                    required=true
                    grow=true
                />
                <div class="pt-5">
                    <Button>"Tell"</Button>
                </div>
            </PostForm>
            {has_told
                .then(|| {
                    view! {
                        <PostForm action=take_back hidden=nothing>
                            <Button>"Take the note back"</Button>
                        </PostForm>
                    }
                })}
        </div>
    }
    .into_any()
}
