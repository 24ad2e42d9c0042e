//! Sentences in which the words that matter are bold: `Answers 503 since **14:21**.`

use leptos::prelude::*;

/// What is between pairs of `**` is bold.
#[component]
pub fn RichText(#[prop(into)] text: Signal<String>) -> impl IntoView {
    move || {
        text.get()
            .split("**")
            .enumerate()
            .map(|(at, part)| {
                let part = part.to_owned();
                if at % 2 == 1 { view! { <b>{part}</b> }.into_any() } else { part.into_any() }
            })
            .collect_view()
    }
}

/// Makes text from elsewhere safe for such a sentence: it must not switch bold on or off.
pub fn literal(text: &str) -> String {
    text.replace("**", "* *")
}
