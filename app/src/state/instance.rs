//! The name and the colour of this deployment (`HEADGATE_INSTANCE`), so that nobody purges production by mistake.

use leptos::prelude::*;
use model::instance::Instance;

/// None where it has no name. The server provides it, the browser reads it from `<html data-instance>`.
pub fn current() -> Option<Instance> {
    use_context()
}

/// What the titles of all pages end with.
pub fn title() -> String {
    current().map_or_else(|| "Headgate".to_owned(), |instance| format!("{} · Headgate", instance.name))
}
