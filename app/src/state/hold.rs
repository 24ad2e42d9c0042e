//! What makes the page stand still: a question that is open, rows that are ticked. Somebody decides on what they see,
//! so nothing of it may change meanwhile.

use leptos::prelude::*;

/// How many reasons to stand still there are.
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

/// One for all pages of a tab.
pub fn provide() {
    provide_context(Reasons(RwSignal::new(0)));
}

/// Whether the page stands still. Never on the server, where nothing moves.
pub fn is_on() -> Signal<bool> {
    use_context::<Reasons>()
        .map_or_else(|| false.into(), |reasons| Signal::derive(move || reasons.0.get() > 0))
}

/// What a stream told last: shown at once, or when the page stands still no more.
pub struct Newest<T: 'static> {
    told: StoredValue<Option<T>>,
    shown: RwSignal<Option<T>>,
    is_held: Signal<bool>,
}

impl<T: Clone + Send + Sync + 'static> Newest<T> {
    /// Nothing so far; `shown` is what the page reads.
    pub fn new(shown: RwSignal<Option<T>>, is_held: Signal<bool>) -> Self {
        let told = StoredValue::new(None);
        Effect::new(move |_| {
            if !is_held.get()
                && let Some(newest) = told.get_value()
            {
                shown.set(Some(newest));
            }
        });
        Self { told, shown, is_held }
    }

    /// The stream told this.
    pub fn tell(&self, newest: T) {
        self.told.try_set_value(Some(newest.clone()));
        if self.is_held.try_get_untracked() != Some(true) {
            self.shown.try_set(Some(newest));
        }
    }

    /// Made of what was told last; none where nothing was, or the page is gone.
    pub fn map<U>(&self, make: impl FnOnce(&T) -> Option<U>) -> Option<U> {
        self.told.try_with_value(|told| make(told.as_ref()?)).flatten()
    }
}

/// Stands still for as long as the component lives.
pub fn while_here() {
    while_true(true.into());
}

/// Stands still while something is so, such as rows being ticked.
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
