//! The live stream: one `EventSource` per tab, open only while the tab is visible, because HTTP/1.1 allows six
//! connections per origin over all tabs.
//!
//! The first render never uses it: pages show what they were loaded with until the first message arrives.

use super::base_path;
use chrono::{DateTime, TimeDelta, Utc};
use leptos::{prelude::*, wasm_bindgen::JsCast};
use model::stats::Snapshot;
use std::{cell::RefCell, rc::Rc};
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
    /// Broken; it is being opened again.
    Broken,
    /// The tab is hidden.
    Resting,
}

/// The stream's last word.
#[derive(Clone, Copy)]
pub struct Live {
    snapshot: RwSignal<Option<Snapshot>>,
    received_at: RwSignal<Option<DateTime<Utc>>>,
    link: RwSignal<Link>,
}

/// A snapshot is due every second; after three missed ones the numbers are called old.
const STALE_AFTER: TimeDelta = TimeDelta::milliseconds(4_500);

impl Live {
    /// The newest gauges: the stream's, or `first` before it speaks.
    pub fn or(self, first: Snapshot) -> Signal<Snapshot> {
        // A memo: dozens of cells read it, and each reading would copy every integration.
        Memo::new(move |_| {
            self.snapshot
                .with(|live| live.as_ref().filter(|live| live.at >= first.at).unwrap_or(&first).clone())
        })
        .into()
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
}

/// Opens the stream in the browser; on the server it only makes the signals.
pub fn provide() -> Live {
    let live = Live {
        snapshot: RwSignal::new(None),
        received_at: RwSignal::new(None),
        link: RwSignal::new(Link::Starting),
    };
    let url = base_path::current().join("/api/v1/live");
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
    on_visibility: Closure<dyn Fn()>,
    _on_snapshot: Closure<dyn Fn(MessageEvent)>,
    _on_open: Closure<dyn Fn()>,
    _on_error: Closure<dyn Fn()>,
}

fn connect(url: &str, live: Live) {
    let source: Shared<EventSource> = Rc::default();
    let reopen: Shared<Closure<dyn Fn()>> = Rc::default();
    let on_snapshot = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
        let text = event.data().as_string();
        if let Some(snapshot) = text.and_then(|text| serde_json::from_str::<Snapshot>(&text).ok()) {
            live.snapshot.try_set(Some(snapshot));
            live.received_at.try_set(Some(Utc::now()));
            live.link.try_set(Link::Open);
        }
    });
    let on_open = Closure::<dyn Fn()>::new(move || {
        live.link.try_set(Link::Open);
    });
    let on_error = Closure::<dyn Fn()>::new({
        let (source, reopen) = (source.clone(), reopen.clone());
        move || {
            live.link.try_set(Link::Broken);
            // After an HTTP error, such as a proxy's 502, the browser gives up for good: open it again by hand.
            let is_closed = source.borrow().as_ref().is_some_and(|s| s.ready_state() == EventSource::CLOSED);
            if let (true, Some(again)) = (is_closed, reopen.borrow().as_ref()) {
                let _ = window().set_timeout_with_callback_and_timeout_and_arguments_0(
                    again.as_ref().unchecked_ref(),
                    2_000,
                );
            }
        }
    });
    let open = {
        let source = source.clone();
        let url = url.to_owned();
        let snapshot = on_snapshot.as_ref().clone();
        let (opened, failed) = (on_open.as_ref().clone(), on_error.as_ref().clone());
        move || {
            if let Some(old) = source.borrow_mut().take() {
                old.close();
            }
            if document().hidden() {
                live.link.try_set(Link::Resting);
                return;
            }
            if let Ok(new) = EventSource::new(&url) {
                let _ = new.add_event_listener_with_callback("snapshot", snapshot.unchecked_ref());
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
        if let Some(source) = connection.source.borrow_mut().take() {
            source.close();
        }
        connection.reopen.borrow_mut().take();
    });
}
