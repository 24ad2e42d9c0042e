//! What another limit would do. The question is in the address, so that it works without a script; with one the answer follows
//! the typing.

use crate::state::base_path;
use crate::state::page_url::PageUrl;
use crate::state::what_if::{Load, PARAM, answer};
use crate::ui::{Button, RichText, TextField};
use leptos::prelude::*;

#[component]
pub fn WhatIf(
    /// The page it is on; all other parameters are kept.
    url: PageUrl,
    /// The present backlog and rates, live.
    #[prop(into)]
    load: Signal<Load>,
) -> impl IntoView {
    let asked = url.get(PARAM).unwrap_or_default().to_owned();
    let typed = RwSignal::new(asked.clone());
    let says = Signal::derive(move || answer(&typed.read(), load.get()).unwrap_or_default());
    let kept: Vec<_> = url
        .clone()
        .settled()
        .without(PARAM)
        .pairs()
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .cloned()
        .collect();
    view! {
        <form
            method="get"
            action=base_path::current().join(url.path())
            class="filters"
            aria-label="What if"
            on:input=move |event| typed.set(event_target_value(&event))
        >
            {kept
                .into_iter()
                .map(|(name, value)| view! { <input type="hidden" name=name value=value /> })
                .collect_view()}
            <TextField name=PARAM label="What-if limit, per second" value=asked placeholder="20" />
            <div class="fit">
                <Button>"Calculate"</Button>
            </div>
            <p class="grow text-muted self-center" aria-live="polite">
                <RichText text=says />
            </p>
        </form>
    }
    .into_any()
}
