//! A page's data, waited for: whole on the server, kept on screen while newer data is on its way.

use super::{Failure, PageHead, Reader};
use crate::{
    calls::{error::CallError, session::Session},
    ui::Skeleton,
};
use leptos::prelude::*;

/// Shows what was loaded, or why it could not be.
///
/// The view is made when data arrives and not when it is asked for. The other way round (a `Suspend`) the signals of the
/// view on screen are gone while it still stands there, and the next tick of its clock finds nothing to read.
#[component]
pub fn Loaded<T>(
    /// The page's title, for when there is nothing else to show.
    title: &'static str,
    /// What the page shows.
    data: Resource<Result<T, CallError>>,
    /// The page, for its reader.
    show: impl Fn(T, Option<Session>) -> AnyView + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + Send + Sync + 'static,
{
    let reader = Reader::current();
    view! {
        <Transition fallback=|| view! { <Skeleton height="h-40" /> }>
            {move || {
                // Both are read before either is judged: what is not read is not waited for.
                let (session, loaded) = (reader.loaded(), data.get());
                let (session, loaded) = (session?.ok(), loaded?);
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
