//! Follows the object that a page is about: the event stream sends it as soon as it changes.

use super::freeze::{self, Newest};
use super::live;
use leptos::prelude::*;
use model::opened::{LiveUpdate, Opened};
use serde::de::DeserializeOwned;

/// The last event about the object; none before the first one, and nothing newer while the page is frozen.
pub fn follow<T>(opened: Opened) -> RwSignal<Option<LiveUpdate<T>>>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let shown = RwSignal::new(None);
    let (live, newest) = (live::current(), Newest::new(shown, freeze::is_on()));
    Effect::new(move |_| live.open(opened));
    Effect::new(move |_| {
        if let Some(event) = live.last_event(opened).and_then(|text| serde_json::from_str(&text).ok()) {
            newest.push(event);
        }
    });
    on_cleanup(move || live.close(opened));
    shown
}
