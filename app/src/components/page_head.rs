//! The top of every page: title, one sentence that answers its question, tools at the right.

use super::RichText;
use leptos::prelude::*;
use leptos_meta::Title;

/// Title and sentence; the children are the tools.
#[component]
pub fn PageHead(
    /// The page's title, as the contract names it.
    #[prop(into)]
    title: String,
    /// The heading, where it is another than the title.
    #[prop(optional, into)]
    heading: Option<String>,
    /// The answer in one sentence.
    #[prop(optional, into)]
    lede: Signal<String>,
    /// Links above, from the outermost in.
    #[prop(optional, into)]
    crumbs: ViewFn,
    /// Beside the heading, such as a state.
    #[prop(optional, into)]
    beside: ViewFn,
    /// Tools.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <Title text=title.clone() />
        <div class="head">
            <div>
                {crumbs.run()}
                <h1 class="type-title font-[650] flex flex-wrap items-center gap-x-2.5 gap-y-1">
                    {heading.unwrap_or(title)} {beside.run()}
                </h1>
                <p class="mt-[3px] text-muted">
                    <RichText text=lede />
                </p>
            </div>
            {children.map(|children| view! { <div class="tools">{children()}</div> })}
        </div>
    }
    .into_any()
}
