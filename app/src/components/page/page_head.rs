//! The top of every page: title, one sentence that answers its question, tools on the right.

use crate::ui::RichText;
use leptos::prelude::*;
use leptos_meta::Title;

/// The children are the tools.
#[component]
pub fn PageHead(
    /// The page's title in the browser.
    #[prop(into)]
    title: String,
    /// The heading, where it differs from the title.
    #[prop(optional, into)]
    heading: Option<String>,
    /// The answer in one sentence.
    #[prop(optional, into)]
    headline: Signal<String>,
    /// Links to parent pages, outermost first.
    #[prop(optional, into)]
    crumbs: ViewFn,
    /// Next to the heading, such as a state.
    #[prop(optional, into)]
    badge: ViewFn,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    view! {
        <Title text=title.clone() />
        <div class="head">
            <div>
                {crumbs.run()}
                <h1 class="type-title font-[650] flex flex-wrap items-center gap-x-2.5 gap-y-1">
                    {heading.unwrap_or(title)} {badge.run()}
                </h1>
                <p class="mt-[3px] text-muted">
                    <RichText text=headline />
                </p>
            </div>
            {children.map(|children| view! { <div class="tools">{children()}</div> })}
        </div>
    }
    .into_any()
}
