//! The HTML document around the console.

use crate::{
    app::App,
    state::{base_path, page_files, theme},
};
use leptos::{nonce::use_nonce, prelude::*};
use leptos_meta::MetaTags;

/// Renders the document. Theme and mount prefix come from the request's context and stand on `<html>`, where the
/// browser finds them again; so the first paint has the right colours without a script.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let base = base_path::current();
    let theme = theme::current().get_untracked();
    let style = base.join(&format!("/{}/{}.css", options.site_pkg_dir, options.output_name));
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=theme.attribute() data-base=base.as_str().to_owned()>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                // Stricter than the browser's default, and not so strict that forms come without their origin.
                <meta name="referrer" content="same-origin" />
                <meta name="robots" content="noindex" />
                <link rel="stylesheet" href=style />
                <link rel="icon" type="image/svg+xml" href=base.join("/favicon.svg") />
                {page_files::loader().map(|loader| view! { <link rel="modulepreload" href=loader nonce=use_nonce() /> })}
                <HydrationScripts options=options root=base.as_str().to_owned() />
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}
