//! Rows that came after a list was loaded. They are shown on request, so that nothing moves under the pointer.

use crate::{state::revision, ui::Link};
use leptos::prelude::*;

/// `12 new`, as a link; nothing while there are none.
#[component]
pub fn NewerRows(
    #[prop(into)] count: Signal<usize>,
    /// The list's address.
    href: String,
) -> impl IntoView {
    let revision = revision::current();
    move || {
        let new = count.get();
        (new > 0).then(|| {
            view! {
                // The address does not change, so the link alone would load nothing.
                <p class="px-4 pb-2" on:click=move |_| revision.next()>
                    <Link
                        href=href.clone()
                        keep_scroll=true
                        class="inline-flex items-center min-h-6 rounded-full bg-accent-soft text-accent px-3 type-label font-semibold"
                    >
                        {format!("{new} new")}
                    </Link>
                </p>
            }
        })
    }
}
