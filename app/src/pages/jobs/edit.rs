//! Edit and retry: another payload for a failed job, or why its payload cannot be edited.

use crate::calls::jobs::EditJob;
use crate::state::payload_draft;
use crate::ui::{Button, ButtonKind, Card, Glyph, HiddenFields, Link, LinkButton, PostForm, form_action};
use leptos::prelude::*;
use model::{id::JobId, text::shown};
use serde_json::Value;

#[component]
pub fn EditAndRetry(
    id: JobId,
    /// Its payload; `None`: what it sends is computed from its record.
    payload: Option<Value>,
    /// How many of its values are hidden from the reader.
    masked: u32,
    /// Whether the address asks for the form.
    is_open: bool,
    /// What was typed into the form, when it was refused.
    draft: Option<String>,
) -> impl IntoView {
    let page = format!("/jobs/{id}");
    let Some(payload) = payload else {
        return view! {
            <Card title="Edit and retry">
                <p class="px-4 pb-3 text-muted">
                    "It has no payload of its own to edit: what it sends is computed from its record at each attempt. Correct the record at its source: the change is sent automatically, or with a requeue."
                </p>
            </Card>
        }
        .into_any();
    };
    if masked > 0 {
        return view! {
            <Card title="Edit and retry">
                <p class="px-4 pb-3 text-muted">"Reveal the masked values first: otherwise the masks would be sent in their place."</p>
            </Card>
        }
        .into_any();
    }
    if !is_open {
        return view! {
            <Card title="Edit and retry">
                <p class="flex flex-wrap items-center gap-2 px-4 pb-3 text-muted">
                    "If the payload is the cause, correct it and requeue. Before and after are kept in the audit log."
                    <LinkButton href=format!("{page}?edit=1&revealed=1")>"Edit payload"</LinkButton>
                </p>
            </Card>
        }
        .into_any();
    }
    let text = draft
        .unwrap_or_else(|| shown(&serde_json::to_string_pretty(&payload).unwrap_or_default()).into_owned());
    view! { <Form id=id text=text close=page /> }.into_any()
}

#[component]
fn Form(id: JobId, text: String, close: String) -> impl IntoView {
    let edit = form_action::<EditJob>();
    let fault = RwSignal::new(payload_draft::parse(&text).err());
    // The button is only disabled after typing: without a script nothing would enable it again.
    let is_typed = RwSignal::new(false);
    let fields = HiddenFields::default().with("id", id.to_string()).with("back", close.clone());
    let rows = text.lines().count().clamp(6, 24).to_string();
    view! {
        <Card title="Edit and retry">
            <PostForm action=edit hidden=fields class="px-4 pb-3">
                <label for="payload" class="block mb-1 type-label font-medium text-muted">"Payload, as JSON"</label>
                <textarea
                    class="input type-mono"
                    id="payload"
                    name="payload"
                    rows=rows
                    spellcheck="false"
                    autocomplete="off"
                    aria-invalid=move || fault.read().is_some().then_some("true")
                    aria-describedby="payload-error"
                    on:input=move |event| {
                        is_typed.set(true);
                        fault.set(payload_draft::parse(&event_target_value(&event)).err());
                    }
                >
                    {text}
                </textarea>
                <p id="payload-error" class="type-label text-failed mt-1" aria-live="polite">
                    {move || fault.get()}
                </p>
                <div class="flex flex-wrap items-center gap-2 mt-2">
                    <Button kind=ButtonKind::Primary glyph=Glyph::Undo disabled=Signal::derive(move || is_typed.get() && fault.read().is_some())>
                        "Requeue with this payload"
                    </Button>
                    <Link href=close class="underline type-label">"Discard"</Link>
                </div>
            </PostForm>
        </Card>
    }
    .into_any()
}
