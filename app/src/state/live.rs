//! The live numbers: one event stream per tab.
//!
//! The first render never uses it: pages show what they were loaded with until the first message arrives. While the page
//! stands still (`hold`), messages are kept and not shown.

use super::{
    base_path,
    event_stream::{self, Link},
    hold::{self, Newest},
    revision::{self, Revision},
};
use crate::calls::{error::CallError, session::load_session};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::{prelude::*, task::spawn_local};
use model::{opened::Opened, snapshot_changes::SnapshotChanges, stats::Snapshot};

/// The stream's last word.
#[derive(Clone, Copy)]
pub struct Live {
    snapshot: RwSignal<Option<Snapshot>>,
    received_at: RwSignal<Option<DateTime<Utc>>>,
    link: RwSignal<Link>,
    is_held: Signal<bool>,
    held_since: RwSignal<Option<DateTime<Utc>>>,
    refusal: RwSignal<Option<Refusal>>,
    opened: RwSignal<Option<Opened>>,
    told: RwSignal<Option<(Opened, String)>>,
}

/// What the page asked for by itself and did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Of the first of the calls in a row that failed.
    pub since: DateTime<Utc>,
    /// What the last one said.
    pub error: CallError,
}

/// A snapshot is due every second; after three missed ones the numbers are called old.
const STALE_AFTER: TimeDelta = TimeDelta::milliseconds(4_500);

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

    /// Whether the session has ended, in another tab or by its time.
    fn is_signed_out(self) -> bool {
        let is_it =
            |refusal: &Option<Refusal>| matches!(refusal, Some(Refusal { error: CallError::SignedOut, .. }));
        self.refusal.try_with_untracked(is_it) == Some(true)
    }

    /// The stream tells of that as well: a page is about one thing at most.
    pub fn open(self, opened: Opened) {
        self.opened.set(Some(opened));
    }

    /// The page about that is gone; another one may have its own open by now.
    pub fn close(self, opened: Opened) {
        if self.opened.try_get_untracked() == Some(Some(opened)) {
            self.opened.set(None);
        }
    }

    /// What the stream told of it last.
    pub fn told(self, opened: Opened) -> Option<String> {
        self.told.with(|told| told.as_ref().filter(|(of, _)| *of == opened).map(|(_, text)| text.clone()))
    }

    /// A call that the page makes by itself was answered.
    pub fn answered(self) {
        if self.refusal.try_with_untracked(Option::is_some) == Some(true) {
            self.refusal.set(None);
        }
    }

    /// A call that the page makes by itself failed.
    pub fn unanswered(self, error: CallError) {
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
        opened: RwSignal::new(None),
        told: RwSignal::new(None),
    };
    let url = base_path::current().join("/api/v1/live?changes=true");
    let revision = revision::current();
    // A memo: a page that is loaded anew has the same open, and its stream stays.
    let opened = Memo::new(move |_| live.opened.get());
    Effect::new(move |_| connect(&url, opened.get(), live, revision));
    provide_context(live);
    live
}

/// The stream of this page.
pub fn current() -> Live {
    use_context::<Live>().unwrap_or_else(provide)
}

fn connect(url: &str, opened: Option<Opened>, live: Live, revision: Revision) {
    Effect::new(move |_| live.held_since.set(live.is_held.get().then(Utc::now)));
    let newest = Newest::new(live.snapshot, live.is_held);
    let on_event = move |name: &str, text: &str| {
        let told = match name {
            "changes" => {
                let changes = serde_json::from_str::<SnapshotChanges>(text).ok();
                newest.map(|snapshot| changes?.onto(snapshot))
            }
            "snapshot" => serde_json::from_str::<Snapshot>(text).ok(),
            "gone" => {
                // The page asks again, and says that there is nothing any more.
                revision.next();
                return true;
            }
            _ => {
                live.told.try_set(opened.map(|opened| (opened, text.to_owned())));
                return true;
            }
        };
        let Some(snapshot) = told else { return false };
        newest.tell(snapshot);
        live.received_at.try_set(Some(Utc::now()));
        true
    };
    let on_link = move |link| {
        live.link.try_set(link);
        match link {
            Link::Open if live.is_signed_out() => live.answered(),
            // A stream says that it broke and not why: without a session every answer is 401.
            Link::Broken { .. } => spawn_local(async move {
                if let Err(error @ CallError::SignedOut) = load_session().await {
                    live.unanswered(error);
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
