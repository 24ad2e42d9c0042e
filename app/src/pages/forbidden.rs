//! The answer to a page that the reader's role may not open. It is sent before anything of the console is rendered, so it has no
//! script and nothing of the page.

use crate::components::Refusal;
use crate::state::base_path::BasePath;
use crate::state::theme::Theme;
use crate::ui::Glyph;
use leptos::{prelude::*, reactive::owner::Owner};
use model::actor::{Actor, Role};

/// The whole document.
pub fn forbidden_document(base: &BasePath, theme: Theme, actor: &Actor) -> String {
    let (base, style) = (base.clone(), base.join("/pkg/headgate.css"));
    let icon = base.join("/favicon.svg");
    let why = why(actor);
    Owner::new().with(|| {
        provide_context(base);
        view! {
            <!DOCTYPE html>
            <html lang="en" data-theme=theme.attribute()>
                <head>
                    <meta charset="utf-8" />
                    <meta name="viewport" content="width=device-width, initial-scale=1" />
                    <meta name="color-scheme" content="light dark" />
                    <meta name="robots" content="noindex" />
                    <title>"Forbidden · Headgate"</title>
                    <link rel="stylesheet" href=style />
                    <link rel="icon" type="image/svg+xml" href=icon />
                </head>
                <body>
                    <Refusal code=403 glyph=Glyph::Hand title="Your role cannot open this page" text=why href="/" go="Overview" />
                </body>
            </html>
        }
        .to_html()
    })
}

/// Who the reader is signed in as, and whom to ask.
fn why(actor: &Actor) -> String {
    let who = format!("You are signed in as {} with the role {}.", actor.name, actor.role.as_str());
    match actor.role {
        Role::Operator => format!("{who} This key belongs to one app; the console shows all apps."),
        _ => {
            format!("{who} This page is for operators. Ask one of them to look it up or to change your role.")
        }
    }
}
