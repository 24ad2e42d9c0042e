//! The console's keyboard shortcuts: `?` lists them.

use crate::state::{base_path, keys};
use leptos::{html, prelude::*};
use leptos_router::hooks::use_navigate;

#[component]
pub fn KeyHelp() -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    let navigate = use_navigate();
    let base = base_path::current();
    keys::on_plain(move |key, after_g| {
        if after_g {
            let path = match key {
                "o" => "/",
                "i" => "/integrations",
                "j" => "/jobs",
                "d" => "/dead-letters",
                _ => return false,
            };
            navigate(&base.join(path), Default::default());
            return true;
        }
        match key {
            "?" => dialog.get_untracked().is_some_and(|dialog| dialog.show_modal().is_ok()),
            "/" => keys::search(),
            "j" => keys::step(1),
            "k" => keys::step(-1),
            "x" => keys::toggle_row(),
            "r" => keys::requeue(),
            _ => false,
        }
    });
    view! {
        <dialog class="ask" node_ref=dialog aria-labelledby="keys-title">
            <h2 id="keys-title" class="type-section font-semibold mb-1.5">
                "Keyboard shortcuts"
            </h2>
            <dl class="kv">
                {keys::KEYS
                    .iter()
                    .map(|(key, does)| {
                        view! {
                            <dt>
                                <kbd>{*key}</kbd>
                            </dt>
                            <dd>{*does}</dd>
                        }
                    })
                    .collect_view()}
            </dl>
            <form method="dialog" class="flex justify-end">
                <button type="submit" class="input w-auto">"Close"</button>
            </form>
        </dialog>
    }
    .into_any()
}
