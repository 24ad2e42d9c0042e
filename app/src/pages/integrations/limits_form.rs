//! How fast and how hard an integration is tried: the form.

use crate::{
    calls::integrations::EditLimits,
    state::{
        limits_draft::{LimitField, LimitsDraft},
        page_url,
    },
    ui::{Button, ButtonKind, HiddenFields, PostForm, TextField},
};
use leptos::{prelude::*, wasm_bindgen::JsCast, web_sys::HtmlElement};
use model::integration::Integration;

/// Fields with what holds now; an empty one takes its setting away.
#[component]
pub fn LimitsForm(
    /// The integration.
    integration: Integration,
    /// Where to come back to.
    #[prop(into)]
    back: String,
) -> impl IntoView {
    let url = page_url::current();
    let draft = Memo::new(move |_| url.with(LimitsDraft::of));
    // The page opens at its top; the fault is further down. Without a script the browser heeds `autofocus`.
    Effect::new(move |_| {
        let Some(field) = draft.with(|draft| draft.as_ref().and_then(LimitsDraft::first_fault)) else {
            return;
        };
        if let Some(input) = document().get_element_by_id(field.name()) {
            let _ = input.unchecked_into::<HtmlElement>().focus();
        }
    });
    let edit = ServerAction::<EditLimits>::new();
    let limits =
        integration.rate_limit.as_ref().map(model::rate_limit::RateLimits::to_vec).unwrap_or_default();
    // Several limits at once are the API's business; the form would drop all but the first.
    if limits.len() > 1 {
        return view! {
            <p class="px-4 pb-4 pt-2 text-muted">
                "Several limits hold here at once. Change them with PATCH /api/v1/integrations/{id}."
            </p>
        }
        .into_any();
    }
    let limit = limits.first().copied();
    let saved = move |field: LimitField| match field {
        LimitField::Requests => limit.map(|limit| limit.requests.into()),
        LimitField::PerSeconds => Some(limit.map_or(1, |limit| limit.per_seconds.into())),
        LimitField::MaxConcurrency => Some(integration.max_concurrency.into()),
        LimitField::MaxAttempts => integration.max_attempts.map(i64::from),
        LimitField::TimeoutSeconds => integration.timeout_ms.map(|ms| i64::from(ms) / 1_000),
    };
    let field = move |field: LimitField, label: &'static str, hint: &'static str| {
        let saved = saved(field).map(|n| n.to_string()).unwrap_or_default();
        let is_first = draft.with_untracked(|d| d.as_ref().and_then(LimitsDraft::first_fault) == Some(field));
        view! {
            <TextField
                name=field.name()
                label=label
                kind="number"
                range=field.range()
                required=field == LimitField::MaxConcurrency
                hint=Some(hint.to_owned()).filter(|hint| !hint.is_empty())
                autofocus=is_first
                value=Signal::derive(move || draft.with(|d| d.as_ref().map(|d| d.typed(field))).unwrap_or_else(|| saved.clone()))
                error=Signal::derive(move || draft.with(|d| d.as_ref().and_then(|d| d.fault(field))))
            />
        }
    };
    let hidden = HiddenFields::default().with("id", integration.id.to_string()).with("back", back);
    view! {
        <PostForm action=edit hidden=hidden class="grid gap-3 px-4 pt-2.5 pb-4">
            <div class="grid grid-cols-2 wide:grid-cols-3 gap-3">
                {field(LimitField::Requests, "Requests", "Empty: no limit")}
                {field(LimitField::PerSeconds, "In how many seconds", "")}
                {field(LimitField::MaxConcurrency, "Jobs at once", "")}
                {field(LimitField::MaxAttempts, "Attempts of a job", "Empty: the default")}
                {field(LimitField::TimeoutSeconds, "Seconds of one attempt", "Empty: the default")}
            </div>
            <div>
                <Button kind=ButtonKind::Primary>"Save limits"</Button>
            </div>
        </PostForm>
    }
    .into_any()
}
