//! Forms that save a view, change it, and pin it, folded away.

use crate::{
    calls::saved_views::{ChangeView, DeleteView, PinView, SaveView as Save},
    state::{drawn, form_draft::Draft, page_url::PageUrl},
    ui::{Button, ButtonKind, CheckField, HiddenFields, PostForm, TextField, form_action},
};
use leptos::prelude::*;
use model::{etag::Revised as _, saved_view::SavedView};

/// Saves the list's filters under a name.
#[component]
pub fn SaveView(
    /// The filters.
    query: String,
    /// What was typed, when it was refused.
    draft: Draft,
    back: PageUrl,
) -> impl IntoView {
    let save = form_action::<Save>();
    let is_draft = draft.is_some();
    let hidden = HiddenFields::default().with("query", query).with("back", back.to_string());
    view! {
        <details class="more" open=is_draft>
            <summary>"Save this view"</summary>
            <PostForm action=save class="view-form" hidden=hidden>
                <Fields view=None draft=draft />
                <Button kind=ButtonKind::Primary>"Save view"</Button>
            </PostForm>
        </details>
    }
    .into_any()
}

/// Changes or deletes the view that is shown.
#[component]
pub fn EditView(
    view: SavedView,
    /// What was typed, when it was refused.
    draft: Draft,
    back: PageUrl,
) -> impl IntoView {
    let (change, delete) = (form_action::<ChangeView>(), form_action::<DeleteView>());
    let hidden = HiddenFields::default().with("id", view.id.to_string()).with("back", back.to_string());
    let is_draft = draft.is_some();
    let change_fields = hidden.clone().with("etag", view.etag()).with("drawn", drawn_with(&view));
    let question = if view.is_shared {
        "This view is shared: it is deleted for everyone. Jobs are not affected."
    } else {
        "Jobs are not affected."
    };
    view! {
        <details class="more" open=is_draft>
            <summary>{format!("Change the view “{}”", view.name)}</summary>
            <PostForm action=change class="view-form" hidden=change_fields>
                <Fields view=Some(view.clone()) draft=draft />
                <Button kind=ButtonKind::Primary>"Save changes"</Button>
            </PostForm>
            <details class="fold">
                <summary>"Delete this view"</summary>
                <PostForm action=delete class="flex flex-wrap items-center gap-2" hidden=hidden>
                    <span class="text-muted">{question}</span>
                    <Button kind=ButtonKind::Danger>"Delete view"</Button>
                </PostForm>
            </details>
        </details>
    }
    .into_any()
}

/// The form for readers who may not change the view.
#[component]
pub fn PinOnly(view: SavedView, back: PageUrl) -> impl IntoView {
    let pin = form_action::<PinView>();
    let hidden = HiddenFields::default()
        .with("id", view.id.to_string())
        .with("is_pinned", (!view.is_pinned).to_string())
        .with("back", back.to_string());
    view! {
        <PostForm action=pin hidden=hidden>
            <Button>{if view.is_pinned { "Unpin this view" } else { "Pin this view" }}</Button>
        </PostForm>
    }
    .into_any()
}

fn drawn_with(view: &SavedView) -> String {
    let checked = |is: bool| if is { "true" } else { "" };
    let alert_at = view.alert_at.map(|at| at.to_string()).unwrap_or_default();
    drawn::field(&[
        ("name", &view.name),
        ("shared", checked(view.is_shared)),
        ("pinned", checked(view.is_pinned)),
        ("alert_at", &alert_at),
    ])
}

#[component]
fn Fields(view: Option<SavedView>, draft: Draft) -> impl IntoView {
    let is_shared = view.as_ref().is_some_and(|view| view.is_shared);
    let is_shared = draft.checked("shared").unwrap_or(is_shared);
    let is_pinned = view.as_ref().is_none_or(|view| view.is_pinned);
    let is_pinned = draft.checked("pinned").unwrap_or(is_pinned);
    let name = draft.value("name").or_else(|| view.as_ref().map(|view| view.name.clone()));
    let alert_at = view.as_ref().and_then(|view| view.alert_at);
    let alert_at = draft.value("alert_at").or_else(|| alert_at.map(|at| at.to_string()));
    let fault = |field: &str| Signal::stored(draft.fault(field));
    let whole = draft.fault("view");
    view! {
        <TextField name="view[name]" label="View name" required=true value=name.unwrap_or_default() error=fault("view_name") />
        <TextField
            name="view[alert_at]"
            label="Alert at this many jobs"
            kind="number"
            range=Some((1, 10_000))
            placeholder="never"
            value=alert_at.unwrap_or_default()
            error=fault("alert_at")
        />
        <CheckField name="view[pinned]" value="true" label="Pinned, with a live count" checked=is_pinned />
        <CheckField name="view[shared]" value="true" label="Shared with all users" checked=is_shared />
        {whole.map(|whole| view! { <p role="alert" class="type-label text-failed">{whole}</p> })}
    }
    .into_any()
}
