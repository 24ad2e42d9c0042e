//! A titled surface.

use super::Link;
use leptos::prelude::*;

/// A section with a heading, a remark and an optional link.
#[component]
pub fn Card(
    /// Heading, also the section's name for assistive technology.
    #[prop(into)]
    title: String,
    #[prop(optional, into)] sub: Signal<String>,
    /// Address and text of the link at the right.
    #[prop(optional_no_strip, into)]
    more: Option<(String, String)>,
    /// Content at the right, such as a legend.
    #[prop(optional, into)]
    aside: ViewFn,
    children: Children,
) -> impl IntoView {
    let id = format!("card-{}", slug(&title));
    view! {
        <section class="card" aria-labelledby=id>
            <header>
                <h2 id=id.clone()>{title}</h2>
                <span class="type-label text-faint">{move || sub.get()}</span>
                {more.map(|(href, words)| view! { <Link href=href class="more">{words}</Link> })}
                {aside.run()}
            </header>
            {children()}
        </section>
    }
    .into_any()
}

/// Letters and digits of a title joined by dashes, as an element id.
fn slug(title: &str) -> String {
    title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("-")
}
