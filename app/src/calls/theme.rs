//! The choice of theme: only a cookie, so that it also works before signing in.

use super::{error::FormRefused, json::Json};
use crate::state::theme::Theme;
use leptos::prelude::*;

/// Remembers the theme for a year.
#[server(prefix = "/console", endpoint = "theme", output = Json)]
pub async fn set_theme(theme: Theme, back: String) -> Result<(), FormRefused> {
    use crate::server::{cookies, redirect};
    cookies::set_theme(theme)?;
    redirect::to_page(&back);
    Ok(())
}
