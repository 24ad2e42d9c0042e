use std::{cell::RefCell, fmt::Debug, sync::Once};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context, SubscriberExt as _};

thread_local! {
    /// The statements of this thread, if it records them. A test and its server run in one thread.
    static RECORDED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Records the statements of a test and its server, from sqlx's events.
pub(crate) struct Statements(());

impl Statements {
    /// Records from now on.
    pub(crate) fn of_this_test() -> Self {
        static LISTENING: Once = Once::new();
        // Global, because tracing caches interest per call site: with a subscriber of one thread, a statement of another thread could disable the
        // event for all.
        LISTENING.call_once(|| {
            let statements = Targets::new().with_target("sqlx::query", LevelFilter::TRACE);
            let subscriber = tracing_subscriber::registry().with(Listener.with_filter(statements));
            tracing::subscriber::set_global_default(subscriber).unwrap();
        });
        RECORDED.set(Some(Vec::new()));
        Self(())
    }

    /// The number of statements that contain the text.
    pub(crate) fn count(&self, text: &str) -> usize {
        RECORDED.with_borrow(|recorded| {
            recorded.iter().flatten().filter(|statement| statement.contains(text)).count()
        })
    }
}

struct Listener;

impl<S: Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        RECORDED.with_borrow_mut(|recorded| {
            if let Some(recorded) = recorded {
                event.record(&mut Recorder(recorded));
            }
        });
    }
}

struct Recorder<'a>(&'a mut Vec<String>);

impl Visit for Recorder<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "db.statement" {
            self.0.push(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
