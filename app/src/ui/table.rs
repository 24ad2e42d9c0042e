//! A dense table that scrolls sideways in a region of its own, so that the page does not.

use leptos::prelude::*;

/// The region can be focused, so that arrow keys scroll it.
#[component]
pub fn Table(
    /// What the table holds, for assistive technology.
    #[prop(into)]
    label: String,
    /// The cells of the head row: `<th scope="col">…`.
    #[prop(into)]
    head: ViewFn,
    /// On a phone each row is a block of lines instead of one line to scroll. The classes of its cells place them (`tick`, `what`,
    /// `state`, `where`, `when`, `first`, `rest`, `actions`, or `n` with a `data-label`; see base.css).
    #[prop(optional)]
    stacks: bool,
    children: Children,
) -> impl IntoView {
    view! {
        <div class="wide" role="region" aria-label=format!("{label}, table") tabindex="0">
            <table class=if stacks { "table stacks" } else { "table" }>
                <thead>
                    <tr>{head.run()}</tr>
                </thead>
                <tbody>{children()}</tbody>
            </table>
        </div>
    }
    .into_any()
}
