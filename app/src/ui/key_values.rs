//! Names and values in two columns.

use leptos::prelude::*;

#[component]
pub fn Facts(children: Children) -> impl IntoView {
    view! { <dl class="kv">{children()}</dl> }
}

#[component]
pub fn Fact(#[prop(into)] name: String, children: Children) -> impl IntoView {
    view! {
        <dt>{name}</dt>
        <dd>{children()}</dd>
    }
    .into_any()
}
