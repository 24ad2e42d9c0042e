//! Sentences in which the words that matter stand out: `Answers 503 since **14:21**.`

use leptos::prelude::*;

/// Draws a sentence; what stands between pairs of `**` is strong.
#[component]
pub fn RichText(
    /// The sentence.
    #[prop(into)]
    text: Signal<String>,
) -> impl IntoView {
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

/// Foreign text inside such a sentence: it must not switch the weight.
pub(super) fn foreign(text: &str) -> String {
    text.replace("**", "* *")
}
