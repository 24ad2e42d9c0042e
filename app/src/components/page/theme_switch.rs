//! Light, dark, system: one button that cycles through them.

use crate::calls::theme::SetTheme;
use crate::state::page_url;
use crate::state::theme::{self, Theme};
use crate::ui::{Glyph, HiddenFields, Icon, PostForm, quiet_action};
use leptos::prelude::*;

/// Without a script it is a POST and a redirect back. With one nothing else on the page changes, such as rows that are selected.
#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let set = quiet_action::<SetTheme>();
    let chosen = theme::current();
    let url = page_url::current();
    // The page changes at once; the cookie follows.
    Effect::new(move |_| {
        if let Some(SetTheme { theme, .. }) = set.input().get() {
            theme::apply(theme);
            chosen.set(theme);
        }
    });
    move || {
        let now = chosen.get();
        let next = now.next();
        let glyph = match now {
            Theme::Light => Glyph::Sun,
            Theme::Dark => Glyph::Moon,
            Theme::System => Glyph::Monitor,
        };
        let hidden = HiddenFields::default().with("theme", next.as_str()).with("back", url.get().to_string());
        let says = format!("Theme: {}. Change to {}", now.as_str(), next.as_str());
        view! {
            <PostForm action=set hidden=hidden>
                <button
                    type="submit"
                    class="grid place-items-center w-7 h-7 rounded-[7px] text-muted hover:bg-sunken hover:text-ink"
                    aria-label=says.clone()
                    title=says
                >
                    <Icon glyph=glyph size="w-[15px] h-[15px]" />
                </button>
            </PostForm>
        }
    }
}
