//! Waits for a page's data: complete on the server, and kept on screen while newer data loads.

use crate::calls::error::CallError;
use crate::calls::session::Session;
use crate::components::{Failure, PageHead, Reader};
use crate::state::unsent;
use crate::ui::Skeleton;
use leptos::prelude::*;

/// Shows what was loaded, or why it could not be loaded.
///
/// The view is made when data arrives, not when the call starts. With a `Suspend` it is the other way round: the signals of the
/// view on screen are disposed while it is still shown, and the next tick of its clock finds nothing to read.
#[component]
pub fn Loaded<T>(
    /// The page's title, for when there is nothing else to show.
    title: &'static str,
    data: Resource<Result<T, CallError>>,
    /// The page, for data and session.
    show: impl Fn(T, Option<Session>) -> AnyView + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    let (reader, unsent) = (Reader::current(), unsent::current());
    view! {
        <Transition fallback=|| view! { <Skeleton height="h-40" /> }>
            {move || {
                // Both are read before either is examined: what is not read is not waited for.
                let (session, loaded) = (reader.loaded(), data.get());
                let (session, loaded) = (session?.ok(), loaded?);
                // An effect runs when the page has been drawn.
                Effect::new(move |_| untrack(|| unsent.restore()));
                Some(
                    match loaded {
                        Ok(data) => show(data, session),
                        Err(error) => view! { <PageHead title=title /><Failure error=error /> }.into_any(),
                    },
                )
            }}
        </Transition>
    }
    .into_any()
}
