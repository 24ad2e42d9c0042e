//! What the page is about, as soon as it changes: an event stream of that thing alone, beside the one of the live numbers.

use super::{
    base_path, event_stream,
    hold::{self, Newest},
    revision,
};
use leptos::prelude::*;
use model::opened::{Opened, Told};
use serde::de::DeserializeOwned;

/// What it was told to be last; nothing before that, and nothing newer while the page stands still.
pub fn follow<T>(opened: Opened) -> RwSignal<Option<Told<T>>>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let shown = RwSignal::new(None);
    let url = base_path::current().join(&format!("/api/v1/live?open={opened}"));
    let (is_held, revision) = (hold::is_on(), revision::current());
    Effect::new(move |_| {
        let newest = Newest::new(shown, is_held);
        let on_event = move |name: &str, text: &str| {
            if name == "gone" {
                // The page asks again, and says that there is nothing any more.
                revision.next();
                return true;
            }
            let Ok(told) = serde_json::from_str::<Told<T>>(text) else { return false };
            newest.tell(told);
            true
        };
        // The live badge tells of the stream beside it, which breaks with this one.
        event_stream::open(url.clone(), &[opened.kind(), "gone"], on_event, |_| {});
    });
    shown
}
