//! The end of the navigation: who is signed in, the theme, and the way out.

use crate::calls::session::Session;
use crate::components::ThemeSwitch;
use crate::state::base_path;
use crate::ui::{Glyph, Icon};
use leptos::prelude::*;

#[component]
pub fn Foot(session: Session) -> impl IntoView {
    let initials: String =
        session.name.chars().filter(|c| c.is_alphanumeric()).take(2).collect::<String>().to_uppercase();
    view! {
        <div class="foot">
            <div class="who flex items-center gap-[9px] min-w-0">
                <span class="avatar" aria-hidden="true">
                    {initials}
                </span>
                <span class="min-w-0">
                    <span class="block truncate" title=session.name.clone()>
                        {session.name.clone()}
                    </span>
                    <span class="block type-caption text-faint">{session.role.as_str()}</span>
                </span>
            </div>
            <div class="flex items-center gap-1">
                <ThemeSwitch />
                <form method="post" action=base_path::current().join("/sign-out")>
                    <button
                        type="submit"
                        class="flex items-center gap-1.5 h-7 px-2 rounded-[7px] type-label font-medium whitespace-nowrap text-muted hover:bg-sunken hover:text-ink"
                    >
                        <Icon glyph=Glyph::SignOut />
                        "Sign out"
                    </button>
                </form>
            </div>
        </div>
    }
    .into_any()
}
