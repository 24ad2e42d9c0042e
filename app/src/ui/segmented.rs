//! A segmented control of links: the choice is in the URL.

use super::Link;
use leptos::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub href: String,
    pub label: String,
    /// A count after the label.
    pub count: Option<String>,
    pub is_current: bool,
}

#[component]
pub fn Segmented(
    /// What is chosen here, for assistive technology.
    #[prop(into)]
    label: String,
    #[prop(into)] segments: Signal<Vec<Segment>>,
) -> impl IntoView {
    view! {
        <nav class="flex max-w-full overflow-x-auto border border-line corner-m bg-surface p-0.5" aria-label=label>
            {move || {
                segments
                    .get()
                    .into_iter()
                    .map(|segment| {
                        let class = if segment.is_current { CURRENT } else { OTHER };
                        view! {
                            <Link href=segment.href keep_scroll=true class=class is_current=segment.is_current>
                                {segment.label}
                                {segment
                                    .count
                                    .map(|count| {
                                        view! { <span class="ml-1.5 text-faint tabular-nums">{count}</span> }
                                    })}
                            </Link>
                        }
                    })
                    .collect_view()
            }}
        </nav>
    }
    .into_any()
}

const CURRENT: &str =
    "px-2.5 py-[3px] rounded-[6px] type-label font-semibold whitespace-nowrap bg-sunken text-ink";
const OTHER: &str =
    "px-2.5 py-[3px] rounded-[6px] type-label font-medium whitespace-nowrap text-muted hover:text-ink";
