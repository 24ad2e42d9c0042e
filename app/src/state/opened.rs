//! What the page is about, as soon as it changes: told by the stream of the live numbers.

use super::{
    hold::{self, Newest},
    live,
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
    let (live, newest) = (live::current(), Newest::new(shown, hold::is_on()));
    Effect::new(move |_| live.open(opened));
    Effect::new(move |_| {
        if let Some(told) = live.told(opened).and_then(|text| serde_json::from_str(&text).ok()) {
            newest.tell(told);
        }
    });
    on_cleanup(move || live.close(opened));
    shown
}
