//! The live stream: one `EventSource` per tab, open only while the tab is visible, because HTTP/1.1 allows six
//! connections per origin over all tabs.
//!
//! The first render never uses it: pages show what they were loaded with until the first message arrives. While the page
//! stands still (`hold`), messages are kept and not shown.

use super::{base_path, hold};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::{prelude::*, wasm_bindgen::JsCast};
use model::{snapshot_changes::SnapshotChanges, stats::Snapshot};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};
use wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent};

/// How the stream is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Not connected yet, or no script.
    #[default]
    Starting,
    /// Messages come.
    Open,
    /// Broken; it will be opened again.
    Broken {
        /// When the next attempt is made.
        again_at: DateTime<Utc>,
    },
    /// The tab is hidden.
    Resting,
}

/// The stream's last word.
#[derive(Clone, Copy)]
pub struct Live {
    snapshot: RwSignal<Option<Snapshot>>,
    received_at: RwSignal<Option<DateTime<Utc>>>,
    link: RwSignal<Link>,
    is_held: Signal<bool>,
    held_since: RwSignal<Option<DateTime<Utc>>>,
    refusal: RwSignal<Option<Refusal>>,
}

/// What the page asked for by itself and did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Of the first of the calls in a row that failed.
    pub since: DateTime<Utc>,
    /// What the last one said.
    pub error: String,
}

/// A snapshot is due every second; after three missed ones the numbers are called old.
const STALE_AFTER: TimeDelta = TimeDelta::milliseconds(4_500);

/// The first pause before the stream is opened again; each further one is twice as long.
const FIRST_PAUSE: TimeDelta = TimeDelta::milliseconds(1_000);

/// No pause is longer: a server that is back is noticed within half a minute.
const LONGEST_PAUSE: TimeDelta = TimeDelta::milliseconds(30_000);

impl Live {
    /// The newest gauges: the stream's, or `first` before it speaks.
    pub fn or(self, first: Snapshot) -> Signal<Snapshot> {
        // A memo: dozens of cells read it, and each reading would copy every integration.
        Memo::new(move |_| {
            self.snapshot.with(|live| since(live.as_ref(), first.at).unwrap_or(&first).clone())
        })
        .into()
    }

    /// Whether the stream's gauges are those, or newer.
    pub fn speaks_since(self, at: DateTime<Utc>) -> bool {
        self.snapshot.with(|live| since(live.as_ref(), at).is_some())
    }

    /// The stream's gauges alone.
    pub fn snapshot(self) -> Signal<Option<Snapshot>> {
        self.snapshot.into()
    }

    /// How the stream is doing.
    pub fn link(self) -> Signal<Link> {
        self.link.into()
    }

    /// Whether what is shown is older than it should be, and how old it is.
    pub fn age(self, now: DateTime<Utc>) -> Option<(TimeDelta, bool)> {
        let age = now - self.received_at.get()?;
        Some((age, age > STALE_AFTER))
    }

    /// Of when is what the stream told and the page shows.
    pub fn shown_at(self) -> Option<DateTime<Utc>> {
        self.held_since().or_else(|| self.received_at.get())
    }

    /// Since when the page stands still, if it does.
    pub fn held_since(self) -> Option<DateTime<Utc>> {
        self.held_since.get()
    }

    /// What the page asked for by itself and did not get; none while it gets everything.
    pub fn refusal(self) -> Option<Refusal> {
        self.refusal.get()
    }

    /// A call that the page makes by itself was answered.
    pub fn answered(self) {
        if self.refusal.try_with_untracked(Option::is_some) == Some(true) {
            self.refusal.set(None);
        }
    }

    /// A call that the page makes by itself failed.
    pub fn unanswered(self, error: &impl ToString) {
        let error = error.to_string();
        self.refusal.try_update(|refusal| {
            let since = refusal.as_ref().map_or_else(Utc::now, |refusal| refusal.since);
            *refusal = Some(Refusal { since, error });
        });
    }
}

/// What the stream told, unless that is older.
fn since(told: Option<&Snapshot>, at: DateTime<Utc>) -> Option<&Snapshot> {
    told.filter(|told| told.at >= at)
}

/// Opens the stream in the browser; on the server it only makes the signals.
pub fn provide() -> Live {
    let live = Live {
        snapshot: RwSignal::new(None),
        received_at: RwSignal::new(None),
        link: RwSignal::new(Link::Starting),
        is_held: hold::is_on(),
        held_since: RwSignal::new(None),
        refusal: RwSignal::new(None),
    };
    let url = base_path::current().join("/api/v1/live?changes=true");
    Effect::new(move |_| connect(&url, live));
    provide_context(live);
    live
}

/// The stream of this page.
pub fn current() -> Live {
    use_context::<Live>().unwrap_or_else(provide)
}

/// Something both the page and a listener hold.
type Shared<T> = Rc<RefCell<Option<T>>>;

/// What has to live as long as the page and be taken down with it.
struct Connection {
    source: Shared<EventSource>,
    reopen: Shared<Closure<dyn Fn()>>,
    timer: Rc<Cell<Option<i32>>>,
    on_visibility: Closure<dyn Fn()>,
    _on_snapshot: Closure<dyn Fn(MessageEvent)>,
    _on_open: Closure<dyn Fn()>,
    _on_error: Closure<dyn Fn()>,
}

/// How long to wait after so many failures in a row: twice as long each time, and half of it by chance, so that the
/// browsers that one restart threw out do not come back in the same moment.
fn pause(failures: u32, chance: f64) -> TimeDelta {
    let whole = (FIRST_PAUSE * 2_i32.pow(failures.min(5))).min(LONGEST_PAUSE);
    whole / 2 + TimeDelta::milliseconds((whole.num_milliseconds() as f64 / 2.0 * chance) as i64)
}

fn connect(url: &str, live: Live) {
    let source: Shared<EventSource> = Rc::default();
    let reopen: Shared<Closure<dyn Fn()>> = Rc::default();
    let timer: Rc<Cell<Option<i32>>> = Rc::default();
    let failures: Rc<Cell<u32>> = Rc::default();
    // What the stream said last; it is shown unless the page stands still.
    let newest: StoredValue<Option<Snapshot>> = StoredValue::new(None);
    Effect::new(move |_| {
        if live.is_held.get() {
            live.held_since.set(Some(Utc::now()));
        } else {
            live.held_since.set(None);
            if let Some(snapshot) = newest.get_value() {
                live.snapshot.set(Some(snapshot));
            }
        }
    });
    let on_snapshot = Closure::<dyn Fn(MessageEvent)>::new({
        let failures = failures.clone();
        move |event: MessageEvent| {
            let text = event.data().as_string().unwrap_or_default();
            let told = if event.type_() == "changes" {
                let changes = serde_json::from_str::<SnapshotChanges>(&text).ok();
                newest.try_with_value(|newest| changes?.onto(newest.as_ref()?)).flatten()
            } else {
                serde_json::from_str::<Snapshot>(&text).ok()
            };
            if let Some(snapshot) = told {
                newest.try_set_value(Some(snapshot.clone()));
                if live.is_held.try_get_untracked() != Some(true) {
                    live.snapshot.try_set(Some(snapshot));
                }
                live.received_at.try_set(Some(Utc::now()));
                live.link.try_set(Link::Open);
                failures.set(0);
            }
        }
    });
    let on_open = Closure::<dyn Fn()>::new(move || {
        live.link.try_set(Link::Open);
    });
    let on_error = Closure::<dyn Fn()>::new({
        let (source, reopen, timer) = (source.clone(), reopen.clone(), timer.clone());
        move || {
            // The browser alone would come back every few seconds for ever, and after an HTTP error, such as a proxy's
            // 502, never.
            if let Some(broken) = source.borrow_mut().take() {
                broken.close();
            }
            let now = Utc::now();
            let wait = pause(failures.get(), f64::from(now.timestamp_subsec_millis()) / 1_000.0);
            failures.set(failures.get().saturating_add(1));
            live.link.try_set(Link::Broken { again_at: now + wait });
            if let Some(again) = reopen.borrow().as_ref() {
                let handle = window().set_timeout_with_callback_and_timeout_and_arguments_0(
                    again.as_ref().unchecked_ref(),
                    wait.num_milliseconds() as i32,
                );
                timer.set(handle.ok());
            }
        }
    });
    let open = {
        let (source, timer) = (source.clone(), timer.clone());
        let url = url.to_owned();
        let snapshot = on_snapshot.as_ref().clone();
        let (opened, failed) = (on_open.as_ref().clone(), on_error.as_ref().clone());
        move || {
            if let Some(handle) = timer.take() {
                window().clear_timeout_with_handle(handle);
            }
            if let Some(old) = source.borrow_mut().take() {
                old.close();
            }
            if document().hidden() {
                live.link.try_set(Link::Resting);
                return;
            }
            if let Ok(new) = EventSource::new(&url) {
                for event in ["snapshot", "changes"] {
                    let _ = new.add_event_listener_with_callback(event, snapshot.unchecked_ref());
                }
                new.set_onopen(Some(opened.unchecked_ref()));
                new.set_onerror(Some(failed.unchecked_ref()));
                *source.borrow_mut() = Some(new);
            }
        }
    };
    open();
    *reopen.borrow_mut() = Some(Closure::new(open.clone()));
    let on_visibility = Closure::<dyn Fn()>::new(open);
    let _ = document()
        .add_event_listener_with_callback("visibilitychange", on_visibility.as_ref().unchecked_ref());
    let connection = send_wrapper::SendWrapper::new(Connection {
        source,
        reopen,
        timer,
        on_visibility,
        _on_snapshot: on_snapshot,
        _on_open: on_open,
        _on_error: on_error,
    });
    on_cleanup(move || {
        let connection = connection.take();
        let _ = document().remove_event_listener_with_callback(
            "visibilitychange",
            connection.on_visibility.as_ref().unchecked_ref(),
        );
        if let Some(handle) = connection.timer.take() {
            window().clear_timeout_with_handle(handle);
        }
        if let Some(source) = connection.source.borrow_mut().take() {
            source.close();
        }
        connection.reopen.borrow_mut().take();
    });
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_PAUSE, pause};
    use chrono::TimeDelta;

    #[test]
    fn pauses_double_up_to_half_a_minute_and_half_of_each_is_chance() {
        let bounds =
            |failures| (pause(failures, 0.0).num_milliseconds(), pause(failures, 1.0).num_milliseconds());
        assert_eq!([bounds(0), bounds(1), bounds(3)], [(500, 1_000), (1_000, 2_000), (4_000, 8_000)]);
        assert_eq!(pause(u32::MAX, 1.0), LONGEST_PAUSE);
        assert!(pause(0, 0.5) > TimeDelta::zero());
    }
}
