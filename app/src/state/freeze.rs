//! Freezes the page while a dialog is open or rows are selected: somebody decides on what they see, so it must not change
//! meanwhile.

use leptos::prelude::*;

/// How many reasons there are to freeze the page.
#[derive(Clone, Copy)]
struct Reasons(RwSignal<usize>);

impl Reasons {
    fn add(self) {
        self.0.try_update(|n| *n += 1);
    }

    fn remove(self) {
        self.0.try_update(|n| *n = n.saturating_sub(1));
    }
}

/// For all pages of a tab.
pub fn provide() {
    provide_context(Reasons(RwSignal::new(0)));
}

/// Whether the page is frozen; never on the server, where nothing changes.
pub fn is_on() -> Signal<bool> {
    use_context::<Reasons>()
        .map_or_else(|| false.into(), |reasons| Signal::derive(move || reasons.0.get() > 0))
}

/// The latest value of a stream, shown at once, or when the page is no longer frozen.
pub struct Newest<T: 'static> {
    latest: StoredValue<Option<T>>,
    shown: RwSignal<Option<T>>,
    is_frozen: Signal<bool>,
}

impl<T: Clone + Send + Sync + 'static> Newest<T> {
    /// `shown` is what the page reads.
    pub fn new(shown: RwSignal<Option<T>>, is_frozen: Signal<bool>) -> Self {
        let latest = StoredValue::new(None);
        Effect::new(move |_| {
            if !is_frozen.get()
                && let Some(value) = latest.get_value()
            {
                shown.set(Some(value));
            }
        });
        Self { latest, shown, is_frozen }
    }

    /// Takes a value of the stream.
    pub fn push(&self, value: T) {
        self.latest.try_set_value(Some(value.clone()));
        if self.is_frozen.try_get_untracked() != Some(true) {
            self.shown.try_set(Some(value));
        }
    }

    /// Maps the latest value; none when there is none, or when the page is gone.
    pub fn map<U>(&self, make: impl FnOnce(&T) -> Option<U>) -> Option<U> {
        self.latest.try_with_value(|latest| make(latest.as_ref()?)).flatten()
    }
}

/// Freezes the page for as long as the component lives.
pub fn while_mounted() {
    while_true(true.into());
}

/// Freezes the page while the signal is true, such as while rows are selected.
pub fn while_true(wanted: Signal<bool>) {
    let Some(reasons) = use_context::<Reasons>() else { return };
    let counted = StoredValue::new(false);
    Effect::new(move |_| {
        let is = wanted.get();
        match (counted.get_value(), is) {
            (false, true) => reasons.add(),
            (true, false) => reasons.remove(),
            _ => {}
        }
        counted.set_value(is);
    });
    on_cleanup(move || {
        if counted.try_get_value() == Some(true) {
            reasons.remove();
        }
    });
}
