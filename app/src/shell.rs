//! The HTML document around the console.

use crate::app::App;
use crate::components::LOGO_PATH;
use crate::state::{base_path, instance, page_files, theme};
use leptos::{nonce::use_nonce, prelude::*};
use leptos_meta::MetaTags;
use serde_json::json;

/// Starts hydration. Leptos' own script would begin before the page is painted.
const START: &str = include_str!("start.js");

const FONTS: [&str; 2] =
    ["/fonts/inter-latin-wght-normal.woff2", "/fonts/jetbrains-mono-latin-wght-normal.woff2"];

/// Renders the document. Theme and mount prefix come from the request's context and are attributes of `<html>`, where the
/// browser reads them again, so the first paint has the right colours without a script.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let base = base_path::current();
    let theme = theme::current().get_untracked();
    let instance = instance::current();
    let icon = instance
        .as_ref()
        .and_then(|instance| instance.colour.as_deref())
        .map_or_else(|| base.join("/favicon.svg"), coloured_icon);
    let file =
        |ending: &str| base.join(&format!("/{}/{}{ending}", options.site_pkg_dir, options.output_name));
    let (style, module, wasm) = (file(".css"), file(".js"), file("_bg.wasm"));
    let start = format!("{}({}, {})", START.trim_end(), json!(module), json!(wasm));
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=theme.attribute() data-base=base.as_str().to_owned() data-instance=instance.as_ref().map(ToString::to_string)>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                // Stricter than the browser's default, but `no-referrer` would send forms without their origin.
                <meta name="referrer" content="same-origin" />
                <meta name="robots" content="noindex" />
                // Preloaded, because fonts found only in the style sheet arrive after the first paint and shift the layout.
                {FONTS
                    .map(|font| {
                        view! { <link rel="preload" href=base.join(font) r#as="font" r#type="font/woff2" crossorigin="anonymous" /> }
                    })}
                <link rel="stylesheet" href=style />
                <link rel="icon" type="image/svg+xml" href=icon />
                {page_files::loader().map(|loader| view! { <link rel="later" href=loader nonce=use_nonce() /> })}
                <link rel="later" href=module nonce=use_nonce() />
                <link rel="later" href=wasm r#as="fetch" crossorigin="anonymous" />
                <script type="module" nonce=use_nonce() inner_html=start></script>
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// The logo in the colour of this deployment: in a row of tabs it is all one sees.
fn coloured_icon(colour: &str) -> String {
    let colour = colour.replace('#', "%23");
    format!(
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='{colour}' \
         stroke-width='2.2' stroke-linecap='round'%3E%3Cpath d='{LOGO_PATH}'/%3E%3C/svg%3E"
    )
}
