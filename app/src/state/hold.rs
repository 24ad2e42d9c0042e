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
