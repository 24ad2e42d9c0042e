//! Cookies the console sets.

use super::context;
use crate::calls::error::CallError;
use crate::state::job_columns;
use crate::state::theme::{COOKIE, Theme};
use axum::http::{HeaderValue, header};
use leptos::prelude::*;
use leptos_axum::ResponseOptions;
use model::job_columns::JobColumns;

/// Carries a new API key to the page that shows it.
const NEW_KEY: &str = "headgate-new-key";

/// Hands a new key to the next page, which deletes the cookie; it lives for a minute at most. So the key is in no address and no log,
/// and no script can read it.
pub fn set_new_key(key: &str) -> Result<(), CallError> {
    let cx = context::current()?;
    let secure = if (cx.is_https)(&context::headers()) { "; Secure" } else { "" };
    let cookie = format!("{NEW_KEY}={key}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict{secure}");
    append(&cookie)
}

/// The key that was just created. A page that shows it deletes the cookie; a script calls `forget_new_key` after showing it, because a fetched
/// answer may be loaded twice.
pub fn take_new_key() -> Result<Option<String>, CallError> {
    let key = find(NEW_KEY);
    if key.is_some() && context::is_page() {
        forget_new_key()?;
    }
    Ok(key)
}

pub fn forget_new_key() -> Result<(), CallError> {
    append(&format!("{NEW_KEY}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"))
}

/// The chosen columns of the list of jobs, or the default ones.
pub fn job_columns() -> JobColumns {
    find(job_columns::COOKIE).map(|value| job_columns::from_cookie(&value)).unwrap_or_default()
}

/// Remembers the columns for a year; the default columns delete the cookie.
pub fn set_job_columns(columns: &JobColumns) -> Result<(), CallError> {
    let age = if *columns == JobColumns::default() { 0 } else { 31_536_000 };
    let (name, value) = (job_columns::COOKIE, job_columns::to_cookie(columns));
    append(&format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax"))
}

/// Remembers the theme for a year. Scripts may read it: it says nothing about the reader.
pub fn set_theme(theme: Theme) -> Result<(), CallError> {
    let cookie = format!("{COOKIE}={}; Path=/; Max-Age=31536000; SameSite=Lax", theme.as_str());
    append(&cookie)
}

fn find(wanted: &str) -> Option<String> {
    let headers = context::headers();
    let mut cookies = headers.get_all(header::COOKIE).iter().filter_map(|header| header.to_str().ok());
    cookies.find_map(|header| {
        let mut pairs = header.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned())
    })
}

fn append(cookie: &str) -> Result<(), CallError> {
    let value = HeaderValue::from_str(cookie).map_err(|_| CallError::Broken)?;
    use_context::<ResponseOptions>().ok_or(CallError::Broken)?.append_header(header::SET_COOKIE, value);
    Ok(())
}
