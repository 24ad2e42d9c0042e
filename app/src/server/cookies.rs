//! Cookies the console sets.

use super::context;
use crate::{
    calls::error::CallError,
    state::theme::{COOKIE, Theme},
};
use axum::http::{HeaderValue, header};
use leptos::prelude::*;
use leptos_axum::ResponseOptions;

/// The theme the request's cookie names.
pub fn theme() -> Option<Theme> {
    let headers = context::headers();
    let header = headers.get(header::COOKIE)?.to_str().ok()?;
    Some(Theme::from_cookie_header(header))
}

/// Remembers the theme for a year. Scripts may read it: it says nothing about the reader.
///
/// # Errors
/// Never inside a request.
pub fn set_theme(theme: Theme) -> Result<(), CallError> {
    let cookie = format!("{COOKIE}={}; Path=/; Max-Age=31536000; SameSite=Lax", theme.as_str());
    let value = HeaderValue::from_str(&cookie).map_err(|_| CallError::Broken)?;
    use_context::<ResponseOptions>().ok_or(CallError::Broken)?.append_header(header::SET_COOKIE, value);
    Ok(())
}
