//! A JSON document.

use crate::{format, ui::CopyButton};
use leptos::prelude::*;
use model::text::shown;
use serde_json::Value;

/// Indented, scrolling in its own box, with a button that copies all of it.
#[component]
pub fn Payload(
    value: Value,
    /// What it is, for assistive technology.
    #[prop(into)]
    label: String,
) -> impl IntoView {
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    let size = format::bytes(text.len() as u64);
    view! {
        <pre class="code" tabindex="0" role="region" aria-label=format!("{label} as JSON")>
            {shown(&text).into_owned()}
        </pre>
        <p class="flex items-center gap-1 px-4 pb-3 -mt-2 type-label text-faint">
            {size} <CopyButton text=text says=format!("Copy {label}") />
        </p>
    }
    .into_any()
}
