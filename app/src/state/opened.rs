//! What the page is about, as soon as it changes: an event stream of that thing alone, beside the one of the live numbers.

use super::{base_path, event_stream, hold};
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
    let is_held = hold::is_on();
    Effect::new(move |_| {
        let newest: StoredValue<Option<Told<T>>> = StoredValue::new(None);
        Effect::new(move |_| {
            if !is_held.get()
                && let Some(told) = newest.get_value()
            {
                shown.set(Some(told));
            }
        });
        let on_event = move |_: &str, text: &str| {
            let Ok(told) = serde_json::from_str::<Told<T>>(text) else { return false };
            newest.try_set_value(Some(told.clone()));
            if is_held.try_get_untracked() != Some(true) {
                shown.try_set(Some(told));
            }
            true
        };
        // The live badge tells of the stream beside it, which breaks with this one.
        event_stream::open(url.clone(), &[opened.kind()], on_event, |_| {});
    });
    shown
}
