//! Edit and requeue: another payload for a failed job, or why its payload cannot be edited.

use crate::calls::jobs::EditJob;
use crate::state::{page_url, payload_draft};
use crate::ui::{Button, ButtonKind, Card, Glyph, HiddenFields, Link, LinkButton, PostForm, form_action};
use leptos::{html, prelude::*};
use model::{id::JobId, text::shown};
use serde_json::Value;

/// What the card shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    /// What is sent is computed from its record.
    NoPayload,
    Masked,
    Offer,
    Form,
}

#[component]
pub fn EditAndRetry(
    id: JobId,
    /// Its own payload; `None`: what it sends is computed from its record.
    payload: Memo<Option<Value>>,
    /// How many of its values are hidden from the reader.
    masked: Memo<u32>,
    /// Only a failed job can be edited.
    is_failed: Memo<bool>,
) -> impl IntoView {
    let url = page_url::current();
    // A memo, so that the form stays the same while its job changes: somebody types into it.
    let card = Memo::new(move |before: Option<&Shown>| {
        let is_asked = url.with(|url| url.get("edit").is_some());
        match before {
            Some(Shown::Form) if is_asked => Shown::Form,
            _ if !is_failed.get() => Shown::Nothing,
            _ if payload.with(Option::is_none) => Shown::NoPayload,
            _ if masked.get() > 0 => Shown::Masked,
            _ if is_asked => Shown::Form,
            _ => Shown::Offer,
        }
    });
    move || {
        let page = format!("/jobs/{id}");
        match card.get() {
            Shown::Nothing => ().into_any(),
            Shown::NoPayload => view! {
                <Card title="Edit and requeue">
                    <p class="px-4 pb-3 text-muted">
                        "There is no payload to edit: what this job sends is computed from its record at each attempt. Correct the record at its source; the change is sent automatically, or with a requeue."
                    </p>
                </Card>
            }
            .into_any(),
            Shown::Masked => view! {
                <Card title="Edit and requeue">
                    <p class="px-4 pb-3 text-muted">"Reveal the masked values first; otherwise the masks would be sent instead."</p>
                </Card>
            }
            .into_any(),
            Shown::Offer => view! {
                <Card title="Edit and requeue">
                    <p class="flex flex-wrap items-center gap-2 px-4 pb-3 text-muted">
                        "If the payload is the cause, correct it and requeue. The audit log keeps both versions."
                        <LinkButton href=format!("{page}?edit=1&revealed=1")>"Edit payload"</LinkButton>
                    </p>
                </Card>
            }
            .into_any(),
            Shown::Form => {
                let draft = url.with_untracked(payload_draft::carried);
                view! { <Form id=id payload=payload is_failed=is_failed draft=draft close=page /> }.into_any()
            }
        }
    }
}

#[component]
fn Form(
    id: JobId,
    payload: Memo<Option<Value>>,
    is_failed: Memo<bool>,
    /// What was typed into it, when it was refused.
    draft: Option<String>,
    close: String,
) -> impl IntoView {
    let edit = form_action::<EditJob>();
    let present = Memo::new(move |before: Option<&String>| {
        payload.with(|payload| payload.as_ref().map(in_json)).or_else(|| before.cloned()).unwrap_or_default()
    });
    // The payload from which the text was made.
    let origin = RwSignal::new(present.get_untracked());
    let is_draft = draft.is_some();
    let text = draft.unwrap_or_else(|| origin.get_untracked());
    let fault = RwSignal::new(payload_draft::parse(&text).err());
    // The button is only disabled after typing: without a script nothing would enable it again.
    let is_typed = RwSignal::new(false);
    let field = NodeRef::<html::Textarea>::new();
    // Nobody has touched the text: it is that of the present payload.
    Effect::new(move |_| {
        let present = present.get();
        if is_draft || is_typed.get_untracked() || origin.with_untracked(|origin| *origin == present) {
            return;
        }
        if let Some(field) = field.get_untracked() {
            field.set_value(&present);
            fault.set(payload_draft::parse(&present).err());
            origin.set(present);
        }
    });
    let is_sent = move || {
        edit.pending().get() || edit.value().with(|answer| matches!(answer, Some(answer) if answer.is_ok()))
    };
    let changed = move || {
        let is_own = is_draft || is_typed.get();
        if is_sent() {
            None
        } else if !is_failed.get() {
            Some("The job is no longer failed and cannot be edited now. Your text is kept.")
        } else if is_own && present.with(|present| origin.with(|origin| origin != present)) {
            Some("The payload changed in the meantime. Your text is kept and replaces the new payload.")
        } else {
            None
        }
    };
    let is_blocked = move || !is_failed.get() || (is_typed.get() && fault.read().is_some());
    let fields = HiddenFields::default().with("id", id.to_string()).with("back", close.clone());
    let rows = text.lines().count().clamp(6, 24).to_string();
    view! {
        <Card title="Edit and requeue">
            <PostForm action=edit hidden=fields class="px-4 pb-3">
                <label for="payload" class="block mb-1 type-label font-medium text-muted">"Payload, as JSON"</label>
                <textarea
                    class="input type-mono"
                    id="payload"
                    name="payload"
                    rows=rows
                    spellcheck="false"
                    autocomplete="off"
                    node_ref=field
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
                <p class="type-label text-muted mt-1" aria-live="polite">
                    {changed}
                </p>
                <div class="flex flex-wrap items-center gap-2 mt-2">
                    <Button kind=ButtonKind::Primary glyph=Glyph::Undo disabled=Signal::derive(is_blocked)>
                        "Requeue with this payload"
                    </Button>
                    <Link href=close class="underline type-label">"Discard"</Link>
                </div>
            </PostForm>
        </Card>
    }
    .into_any()
}

/// As the form shows it.
fn in_json(payload: &Value) -> String {
    shown(&serde_json::to_string_pretty(payload).unwrap_or_default()).into_owned()
}
