//! Rows that came after the list was loaded: they wait to be asked for, so that nothing moves under the pointer.

use crate::{state::revision, ui::Link};
use leptos::prelude::*;

/// `12 new`, a link; nothing while there are none.
#[component]
pub fn NewerRows(
    /// How many.
    #[prop(into)]
    count: Signal<usize>,
    /// The list itself.
    href: String,
) -> impl IntoView {
    let revision = revision::current();
    move || {
        let new = count.get();
        (new > 0).then(|| {
            view! {
                // The address stays the same.
                <p class="px-4 pb-2" on:click=move |_| revision.next()>
                    <Link
                        href=href.clone()
                        class="inline-flex items-center min-h-6 rounded-full bg-accent-soft text-accent px-3 type-label font-semibold"
                    >
                        {format!("{new} new")}
                    </Link>
                </p>
            }
        })
    }
}
