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

/// The key made a moment ago, as its cookie carries it.
const NEW_KEY: &str = "headgate-new-key";

/// Hands a new key to the page that follows, for a minute: neither address nor log ever holds it, and no script can read it.
///
/// # Errors
/// Never inside a request.
pub fn set_new_key(key: &str) -> Result<(), CallError> {
    let cx = context::current()?;
    let secure = if (cx.is_https)(&context::headers()) { "; Secure" } else { "" };
    let cookie = format!("{NEW_KEY}={key}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict{secure}");
    let value = HeaderValue::from_str(&cookie).map_err(|_| CallError::Broken)?;
    use_context::<ResponseOptions>().ok_or(CallError::Broken)?.append_header(header::SET_COOKIE, value);
    Ok(())
}

/// The key made within the last minute.
pub fn new_key() -> Option<String> {
    let headers = context::headers();
    let mut cookies = headers.get_all(header::COOKIE).iter().filter_map(|header| header.to_str().ok());
    cookies.find_map(|header| {
        header
            .split(';')
            .find_map(|cookie| cookie.trim().strip_prefix(NEW_KEY)?.strip_prefix('=').map(str::to_owned))
    })
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
