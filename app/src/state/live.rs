//! Live numbers: one event stream per tab.
//!
//! The first render never uses them: pages show what they were loaded with until the first event arrives. While the page is
//! frozen ([`super::freeze`]), events are kept and not shown.

use super::base_path;
use super::event_stream::{self, Link};
use super::freeze::{self, Newest};
use super::revision::{self, Revision};
use crate::calls::{error::CallError, session::load_session};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::{prelude::*, task::spawn_local};
use model::{opened::Opened, snapshot_changes::SnapshotChanges, stats::Snapshot};

/// The latest values of the stream.
#[derive(Clone, Copy)]
pub struct Live {
    snapshot: RwSignal<Option<Snapshot>>,
    received_at: RwSignal<Option<DateTime<Utc>>>,
    link: RwSignal<Link>,
    is_frozen: Signal<bool>,
    frozen_since: RwSignal<Option<DateTime<Utc>>>,
    refusal: RwSignal<Option<Refusal>>,
    opened: RwSignal<Option<Opened>>,
    last_event: RwSignal<Option<(Opened, String)>>,
}

/// A background request of the page that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When the first of the failures in a row happened.
    pub since: DateTime<Utc>,
    /// The last error.
    pub error: CallError,
}

/// A snapshot is due every second; after three missed ones the numbers count as old.
const STALE_AFTER: TimeDelta = TimeDelta::milliseconds(4_500);

impl Live {
    /// The newest gauges: the stream's, or `first` until there are any.
    pub fn or(self, first: Snapshot) -> Signal<Snapshot> {
        // A memo, because dozens of cells read it, and each reading would copy every integration.
        Memo::new(move |_| {
            self.snapshot.with(|live| since(live.as_ref(), first.at).unwrap_or(&first).clone())
        })
        .into()
    }

    /// Whether the stream's gauges are of this time or later.
    pub fn is_current_since(self, at: DateTime<Utc>) -> bool {
        self.snapshot.with(|live| since(live.as_ref(), at).is_some())
    }

    /// The stream's gauges, without a first value of the page.
    pub fn snapshot(self) -> Signal<Option<Snapshot>> {
        self.snapshot.into()
    }

    pub fn link(self) -> Signal<Link> {
        self.link.into()
    }

    /// How old the newest gauges are, and whether that is older than it should be.
    pub fn age(self, now: DateTime<Utc>) -> Option<(TimeDelta, bool)> {
        let age = now - self.received_at.get()?;
        Some((age, age > STALE_AFTER))
    }

    /// The time of the streamed values that the page shows.
    pub fn shown_at(self) -> Option<DateTime<Utc>> {
        self.frozen_since().or_else(|| self.received_at.get())
    }

    /// Since when the page is frozen.
    pub fn frozen_since(self) -> Option<DateTime<Utc>> {
        self.frozen_since.get()
    }

    /// The failure of the page's background requests; none while they succeed.
    pub fn refusal(self) -> Option<Refusal> {
        self.refusal.get()
    }

    /// Whether the session has ended: signed out in another tab, or expired.
    fn is_signed_out(self) -> bool {
        let is_it =
            |refusal: &Option<Refusal>| matches!(refusal, Some(Refusal { error: CallError::SignedOut, .. }));
        self.refusal.try_with_untracked(is_it) == Some(true)
    }

    /// Asks the stream for events about one object, at most one per page.
    pub fn open(self, opened: Opened) {
        self.opened.set(Some(opened));
    }

    /// Stops them, unless another page has opened its own object meanwhile.
    pub fn close(self, opened: Opened) {
        if self.opened.try_get_untracked() == Some(Some(opened)) {
            self.opened.set(None);
        }
    }

    /// The last event about the object, as JSON.
    pub fn last_event(self, opened: Opened) -> Option<String> {
        self.last_event
            .with(|event| event.as_ref().filter(|(of, _)| *of == opened).map(|(_, text)| text.clone()))
    }

    /// Reports that a background request of the page succeeded.
    pub fn call_succeeded(self) {
        if self.refusal.try_with_untracked(Option::is_some) == Some(true) {
            self.refusal.set(None);
        }
    }

    /// Reports that a background request of the page failed.
    pub fn call_failed(self, error: CallError) {
        self.refusal.try_update(|refusal| {
            let since = refusal.as_ref().map_or_else(Utc::now, |refusal| refusal.since);
            *refusal = Some(Refusal { since, error });
        });
    }
}

/// The streamed snapshot, unless it is older.
fn since(live: Option<&Snapshot>, at: DateTime<Utc>) -> Option<&Snapshot> {
    live.filter(|live| live.at >= at)
}

/// Opens the stream in the browser; on the server only creates the signals.
pub fn provide() -> Live {
    let live = Live {
        snapshot: RwSignal::new(None),
        received_at: RwSignal::new(None),
        link: RwSignal::new(Link::Starting),
        is_frozen: freeze::is_on(),
        frozen_since: RwSignal::new(None),
        refusal: RwSignal::new(None),
        opened: RwSignal::new(None),
        last_event: RwSignal::new(None),
    };
    let url = base_path::current().join("/api/v1/live?changes=true");
    let revision = revision::current();
    // A memo: a page that loads its data again opens the same object, and the stream stays connected.
    let opened = Memo::new(move |_| live.opened.get());
    Effect::new(move |_| connect(&url, opened.get(), live, revision));
    provide_context(live);
    live
}

pub fn current() -> Live {
    use_context::<Live>().unwrap_or_else(provide)
}

fn connect(url: &str, opened: Option<Opened>, live: Live, revision: Revision) {
    Effect::new(move |_| live.frozen_since.set(live.is_frozen.get().then(Utc::now)));
    let newest = Newest::new(live.snapshot, live.is_frozen);
    let on_event = move |name: &str, text: &str| {
        let snapshot = match name {
            "changes" => {
                let changes = serde_json::from_str::<SnapshotChanges>(text).ok();
                newest.map(|snapshot| changes?.onto(snapshot))
            }
            "snapshot" => serde_json::from_str::<Snapshot>(text).ok(),
            "gone" => {
                // The page loads again, and shows that the object no longer exists.
                revision.next();
                return true;
            }
            _ => {
                live.last_event.try_set(opened.map(|opened| (opened, text.to_owned())));
                return true;
            }
        };
        let Some(snapshot) = snapshot else { return false };
        newest.push(snapshot);
        live.received_at.try_set(Some(Utc::now()));
        true
    };
    let on_link = move |link| {
        live.link.try_set(link);
        match link {
            Link::Open if live.is_signed_out() => live.call_succeeded(),
            // An `EventSource` does not say why it broke. Without a session every response is 401, so the session is checked.
            Link::Broken { .. } => spawn_local(async move {
                if let Err(error @ CallError::SignedOut) = load_session().await {
                    live.call_failed(error);
                }
            }),
            _ => {}
        }
    };
    match opened {
        Some(opened) => {
            let events = ["snapshot", "changes", opened.kind(), "gone"];
            event_stream::open(format!("{url}&open={opened}"), &events, on_event, on_link);
        }
        None => event_stream::open(url.to_owned(), &["snapshot", "changes"], on_event, on_link),
    }
}
