//! An event stream that is open only while the tab is visible, because browsers allow six HTTP/1.1 connections per origin over all tabs.

use chrono::{DateTime, TimeDelta, Utc};
use leptos::{prelude::*, wasm_bindgen::JsCast};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Not connected yet, or the page is not hydrated.
    #[default]
    Starting,
    Open,
    /// Broken; it will be opened again.
    Broken {
        /// When the next attempt is made.
        again_at: DateTime<Utc>,
    },
    Hidden,
}

/// The first pause before the stream is opened again; each further one is twice as long.
const FIRST_PAUSE: TimeDelta = TimeDelta::milliseconds(1_000);

/// A server that is back is noticed within half a minute.
const MAX_PAUSE: TimeDelta = TimeDelta::milliseconds(30_000);

/// Shared by the page and a listener.
type Shared<T> = Rc<RefCell<Option<T>>>;

/// Lives as long as the component and is closed with it.
struct Connection {
    source: Shared<EventSource>,
    reopen: Shared<Closure<dyn Fn()>>,
    timer: Rc<Cell<Option<i32>>>,
    on_visibility: Closure<dyn Fn()>,
    _on_message: Closure<dyn Fn(MessageEvent)>,
    _on_open: Closure<dyn Fn()>,
    _on_error: Closure<dyn Fn()>,
}

/// The pause after a number of failures in a row: it doubles each time, and half of it is random, so that the browsers
/// that one restart disconnected do not come back all at once.
fn pause(failures: u32, chance: f64) -> TimeDelta {
    let whole = (FIRST_PAUSE * 2_i32.pow(failures.min(5))).min(MAX_PAUSE);
    whole / 2 + TimeDelta::milliseconds((whole.num_milliseconds() as f64 / 2.0 * chance) as i64)
}

/// Opens the stream (in the browser only) until the component is disposed of. `on_event` gets name and data of each event and returns
/// whether it understood them.
pub fn open(
    url: String,
    events: &[&'static str],
    on_event: impl Fn(&str, &str) -> bool + 'static,
    on_link: impl Fn(Link) + Clone + 'static,
) {
    let source: Shared<EventSource> = Rc::default();
    let reopen: Shared<Closure<dyn Fn()>> = Rc::default();
    let timer: Rc<Cell<Option<i32>>> = Rc::default();
    let failures: Rc<Cell<u32>> = Rc::default();
    let on_message = Closure::<dyn Fn(MessageEvent)>::new({
        let (failures, on_link) = (failures.clone(), on_link.clone());
        move |event: MessageEvent| {
            if on_event(&event.type_(), &event.data().as_string().unwrap_or_default()) {
                on_link(Link::Open);
                failures.set(0);
            }
        }
    });
    let on_open = Closure::<dyn Fn()>::new({
        let on_link = on_link.clone();
        move || on_link(Link::Open)
    });
    let on_error = Closure::<dyn Fn()>::new({
        let (source, reopen, timer) = (source.clone(), reopen.clone(), timer.clone());
        let on_link = on_link.clone();
        move || {
            // Left alone, an `EventSource` would reconnect every few seconds for ever, and never after an HTTP error such as a
            // proxy's 502.
            if let Some(broken) = source.borrow_mut().take() {
                broken.close();
            }
            let now = Utc::now();
            let wait = pause(failures.get(), f64::from(now.timestamp_subsec_millis()) / 1_000.0);
            failures.set(failures.get().saturating_add(1));
            on_link(Link::Broken { again_at: now + wait });
            if let Some(again) = reopen.borrow().as_ref() {
                let handle = window().set_timeout_with_callback_and_timeout_and_arguments_0(
                    again.as_ref().unchecked_ref(),
                    wait.num_milliseconds() as i32,
                );
                timer.set(handle.ok());
            }
        }
    });
    let open_now = {
        let (source, timer) = (source.clone(), timer.clone());
        let (events, message) = (events.to_vec(), on_message.as_ref().clone());
        let (opened, failed) = (on_open.as_ref().clone(), on_error.as_ref().clone());
        move || {
            if let Some(handle) = timer.take() {
                window().clear_timeout_with_handle(handle);
            }
            if let Some(old) = source.borrow_mut().take() {
                old.close();
            }
            if document().hidden() {
                on_link(Link::Hidden);
                return;
            }
            if let Ok(new) = EventSource::new(&url) {
                for event in &events {
                    let _ = new.add_event_listener_with_callback(event, message.unchecked_ref());
                }
                new.set_onopen(Some(opened.unchecked_ref()));
                new.set_onerror(Some(failed.unchecked_ref()));
                *source.borrow_mut() = Some(new);
            }
        }
    };
    open_now();
    *reopen.borrow_mut() = Some(Closure::new(open_now.clone()));
    let on_visibility = Closure::<dyn Fn()>::new(open_now);
    let _ = document()
        .add_event_listener_with_callback("visibilitychange", on_visibility.as_ref().unchecked_ref());
    let connection = send_wrapper::SendWrapper::new(Connection {
        source,
        reopen,
        timer,
        on_visibility,
        _on_message: on_message,
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
    use super::{MAX_PAUSE, pause};
    use chrono::TimeDelta;

    #[test]
    fn pauses_double_up_to_half_a_minute_and_half_of_each_is_random() {
        let bounds =
            |failures| (pause(failures, 0.0).num_milliseconds(), pause(failures, 1.0).num_milliseconds());
        assert_eq!([bounds(0), bounds(1), bounds(3)], [(500, 1_000), (1_000, 2_000), (4_000, 8_000)]);
        assert_eq!(pause(u32::MAX, 1.0), MAX_PAUSE);
        assert!(pause(0, 0.5) > TimeDelta::zero());
    }
}
