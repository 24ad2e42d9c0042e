use std::{cell::RefCell, fmt::Debug, sync::Once};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::{Context, SubscriberExt as _},
};

thread_local! {
    /// The statements of this thread, where somebody wants to know. A test has a thread, and everything in it runs there, the server too.
    static MADE: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// The statements that a test and its server make. (Each is an event of sqlx's.)
pub(crate) struct Statements(());

impl Statements {
    /// From now on.
    pub(crate) fn of_this_test() -> Self {
        static LISTENING: Once = Once::new();
        // For all threads: with a subscriber of one thread, another that tells of a statement first says for all that nobody listens.
        LISTENING.call_once(|| {
            let statements = Targets::new().with_target("sqlx::query", LevelFilter::TRACE);
            let subscriber = tracing_subscriber::registry().with(Listener.with_filter(statements));
            tracing::subscriber::set_global_default(subscriber).unwrap();
        });
        MADE.set(Some(Vec::new()));
        Self(())
    }

    /// How many said this.
    pub(crate) fn saying(&self, text: &str) -> usize {
        MADE.with_borrow(|made| made.iter().flatten().filter(|statement| statement.contains(text)).count())
    }
}

struct Listener;

impl<S: Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        MADE.with_borrow_mut(|made| {
            if let Some(made) = made {
                event.record(&mut Made(made));
            }
        });
    }
}

struct Made<'a>(&'a mut Vec<String>);

impl Visit for Made<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "db.statement" {
            self.0.push(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
