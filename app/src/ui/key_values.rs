//! Names and values in two columns.

use leptos::prelude::*;

/// The list.
#[component]
pub fn Facts(children: Children) -> impl IntoView {
    view! { <dl class="kv">{children()}</dl> }
}

/// One name and its value.
#[component]
pub fn Fact(
    /// The name.
    #[prop(into)]
    name: String,
    children: Children,
) -> impl IntoView {
    view! {
        <dt>{name}</dt>
        <dd>{children()}</dd>
    }
    .into_any()
}
