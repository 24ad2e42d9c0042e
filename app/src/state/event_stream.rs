//! An event stream, open only while the tab is visible, because HTTP/1.1 allows six connections per origin over all tabs.

use chrono::{DateTime, TimeDelta, Utc};
use leptos::{prelude::*, wasm_bindgen::JsCast};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};
use wasm_bindgen::closure::Closure;
use web_sys::{EventSource, MessageEvent};

/// How a stream is doing.
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

/// The first pause before the stream is opened again; each further one is twice as long.
const FIRST_PAUSE: TimeDelta = TimeDelta::milliseconds(1_000);

/// No pause is longer: a server that is back is noticed within half a minute.
const LONGEST_PAUSE: TimeDelta = TimeDelta::milliseconds(30_000);

/// Something both the page and a listener hold.
type Shared<T> = Rc<RefCell<Option<T>>>;

/// What has to live as long as the page and be taken down with it.
struct Connection {
    source: Shared<EventSource>,
    reopen: Shared<Closure<dyn Fn()>>,
    timer: Rc<Cell<Option<i32>>>,
    on_visibility: Closure<dyn Fn()>,
    _on_message: Closure<dyn Fn(MessageEvent)>,
    _on_open: Closure<dyn Fn()>,
    _on_error: Closure<dyn Fn()>,
}

/// How long to wait after so many failures in a row: twice as long each time, and half of it by chance, so that the
/// browsers that one restart threw out do not come back in the same moment.
fn pause(failures: u32, chance: f64) -> TimeDelta {
    let whole = (FIRST_PAUSE * 2_i32.pow(failures.min(5))).min(LONGEST_PAUSE);
    whole / 2 + TimeDelta::milliseconds((whole.num_milliseconds() as f64 / 2.0 * chance) as i64)
}

/// Opens it, in the browser alone, until the component is gone. What comes is told by its name and its data, and answered by whether it was
/// understood.
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
            // The browser alone would come back every few seconds for ever, and after an HTTP error, such as a proxy's
            // 502, never.
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
                on_link(Link::Resting);
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
