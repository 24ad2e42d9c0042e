//! The form of an integration's limits: rates, concurrency, attempts, debounce.

use crate::calls::integrations::EditLimits;
use crate::state::limits_draft::{self, LimitField, LimitsDraft, MAX_LIMITS};
use crate::state::page_url;
use crate::ui::{Button, ButtonKind, HiddenFields, PostForm, TextField, form_action};
use leptos::{prelude::*, wasm_bindgen::JsCast, web_sys::HtmlElement};
use model::{etag::Revised as _, integration::Integration, text::ordinal};

/// Fields with the present values; an emptied one removes its setting.
#[component]
pub fn LimitsForm(
    integration: Integration,
    /// Where the form leads back to.
    #[prop(into)]
    back: String,
) -> impl IntoView {
    let url = page_url::current();
    let saved = limits_draft::saved(&integration);
    let drawn = saved.drawn.clone();
    let shown = StoredValue::new(saved);
    let draft = Memo::new(move |_| url.with(|url| shown.with_value(|saved| LimitsDraft::of(url, saved))));
    // The page opens at its top; the fault is further down. Without a script `autofocus` does this.
    Effect::new(move |_| {
        let Some(field) = draft.with(|draft| draft.as_ref().and_then(LimitsDraft::first_fault)) else {
            return;
        };
        if let Some(input) = document().get_element_by_id(field.name()) {
            let _ = input.unchecked_into::<HtmlElement>().focus();
        }
    });
    let edit = form_action::<EditLimits>();
    let limits = integration.rate_limit.as_ref().map_or(0, |limits| limits.to_vec().len());
    let rows = draft.with_untracked(|d| d.as_ref().map_or(0, LimitsDraft::rows)).max(limits);
    // An empty row to add a limit.
    let rows = (rows + 1).min(MAX_LIMITS);
    let field = move |field: LimitField, label: String, hint: &'static str| {
        let saved = shown.with_value(|saved| field.read(saved).to_owned());
        let is_first = draft.with_untracked(|d| d.as_ref().and_then(LimitsDraft::first_fault) == Some(field));
        view! {
            <TextField
                name=field.name()
                label=label
                kind=if field == LimitField::RetrySchedule { "text" } else { "number" }
                range=field.range()
                step=(field == LimitField::TimeoutSeconds).then_some("any")
                required=field == LimitField::MaxConcurrency
                hint=Some(hint.to_owned()).filter(|hint| !hint.is_empty())
                autofocus=is_first
                value=Signal::derive(move || draft.with(|d| d.as_ref().map(|d| d.typed(field))).unwrap_or_else(|| saved.clone()))
                error=Signal::derive(move || draft.with(|d| d.as_ref().and_then(|d| d.fault(field))))
            />
        }
    };
    let may_debounce = integration.integration_type.may_debounce();
    let hidden = HiddenFields::default()
        .with("id", integration.id.to_string())
        .with("etag", integration.etag())
        .with("limits[drawn]", drawn)
        .with("back", back);
    view! {
        <PostForm action=edit hidden=hidden class="grid gap-3 px-4 pt-2.5 pb-4">
            <div class="grid grid-cols-2 gap-3">
                {(0..rows)
                    .map(|row| {
                        let nth = |words: &str| match row {
                            0 => words.to_owned(),
                            _ => format!("{} limit: {}", ordinal(row as i64 + 1), words.to_lowercase()),
                        };
                        let requests = if row == 0 { "Requests".to_owned() } else { nth("requests") };
                        let seconds = if row == 0 { "Window, seconds".to_owned() } else { nth("window, seconds") };
                        let hint = match (row, rows) {
                            (0, _) => "Empty: no limit",
                            (row, rows) if row + 1 == rows => "Additional limit. Empty: none",
                            _ => "",
                        };
                        view! {
                            {field(LimitField::Requests(row), requests, hint)}
                            {field(LimitField::PerSeconds(row), seconds, "")}
                        }
                    })
                    .collect_view()}
            </div>
            <div class="grid grid-cols-2 wide:grid-cols-3 gap-3">
                {field(LimitField::MaxConcurrency, "Concurrency".to_owned(), "")}
                {field(LimitField::MaxAttempts, "Max attempts".to_owned(), "Empty: default")}
                {field(LimitField::TimeoutSeconds, "Attempt timeout, seconds".to_owned(), "Empty: default")}
            </div>
            {field(
                LimitField::RetrySchedule,
                "Retry schedule".to_owned(),
                "Such as 10s,1m,10m (the last wait repeats), or exponential. Empty: default",
            )}
            {may_debounce
                .then(|| {
                    view! {
                        <div class="grid grid-cols-2 gap-3">
                            {field(
                                LimitField::DebounceSeconds,
                                "Debounce, seconds".to_owned(),
                                "Sends a record's changes together after this long without a new one. Empty: each at once",
                            )}
                            {field(LimitField::DebounceMaxSeconds, "Max debounce, seconds".to_owned(), "Empty: same as debounce")}
                        </div>
                    }
                })}
            <div>
                <Button kind=ButtonKind::Primary>"Save limits"</Button>
            </div>
        </PostForm>
    }
    .into_any()
}
