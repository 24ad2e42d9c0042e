//! What can be done with selected dead letters.

use super::Rights;
use crate::calls::bulk::Bulk;
use crate::state::base_path;
use crate::ui::{Button, ButtonKind, Glyph, HiddenFields, PostForm, form_action};
use leptos::prelude::*;

/// Purging leads to its question with a GET, so that the question has an address and a count.
#[component]
pub fn SelectedActions(rights: Rights, back: String) -> impl IntoView {
    let bulk = form_action::<Bulk>();
    let hidden =
        HiddenFields::default().with("subject", "dead_letters").with("action", "requeue").with("back", back);
    rights.steer.then(|| {
        view! {
            <PostForm
                action=bulk
                id="chosen"
                class="flex flex-wrap items-center gap-2 px-4 py-2.5 border-t border-line"
                hidden=hidden
            >
                <span class="type-label text-muted mr-1">"Selected:"</span>
                <Button glyph=Glyph::Undo key="r">"Requeue"</Button>
                {rights
                    .purge
                    .then(|| {
                        view! {
                            <Button
                                kind=ButtonKind::Danger
                                glyph=Glyph::Trash
                                method="get"
                                to=base_path::current().join("/dead-letters")
                                name="confirm"
                                value="purge"
                            >
                                "Purge"
                            </Button>
                        }
                    })}
            </PostForm>
        }
    })
}
