//! On a phone the navigation is a menu under the name of the present page: a popover, which opens and closes without a script. On a wide
//! screen the style sheet always shows it.

use crate::components::page_table::ConsolePage;
use crate::state::page_url;
use crate::ui::{Glyph, Icon};
use leptos::{prelude::*, wasm_bindgen::JsCast, web_sys::HtmlElement};

/// The id of the element that holds the navigation.
pub const MENU: &str = "menu";

/// Opens the menu; links in it close it, because they load no document.
#[component]
pub fn MenuButton() -> impl IntoView {
    let url = page_url::current();
    let path = Memo::new(move |_| url.with(|url| url.path().to_owned()));
    let here = move || ConsolePage::at(&path.read()).map_or("Menu", ConsolePage::title);
    Effect::new(move |_| {
        path.track();
        let menu = document().get_element_by_id(MENU).and_then(|menu| menu.dyn_into::<HtmlElement>().ok());
        // It fails where the menu is not open.
        menu.map(|menu| menu.hide_popover());
    });
    view! {
        <button type="button" class="menu-button" popovertarget=MENU>
            <Icon glyph=Glyph::List />
            <span class="sr-only">"Menu: "</span>
            {here}
        </button>
    }
    .into_any()
}
