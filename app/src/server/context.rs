//! What a request of the console has access to.

use crate::{
    calls::error::{CallError, ResponseStatus},
    state::{base_path::BasePath, page_files::PageFiles, theme::Theme},
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use leptos::{nonce::use_nonce, prelude::*};
use leptos_axum::ResponseOptions;
use leptos_router::location::RequestUrl;
use model::instance::Instance;
use service::Headgate;
use std::sync::Arc;

/// The program provides it to every render and every server function.
#[derive(Clone)]
pub struct ConsoleContext {
    pub headgate: Headgate,
    /// Seconds by which lists lag behind (read replica), where the lag is worth a notice.
    pub lists_behind: Arc<dyn Fn() -> Option<i64> + Send + Sync>,
    /// Whether the request came over https.
    pub is_https: fn(&HeaderMap) -> bool,
    pub base_path: BasePath,
    pub instance: Option<Instance>,
    pub page_files: PageFiles,
}

impl ConsoleContext {
    /// The additional context of routes and server functions.
    pub fn provide(&self) {
        provide_context(self.clone());
        provide_context(self.base_path.clone());
        provide_context(self.page_files);
        if let Some(instance) = self.instance.clone() {
            provide_context(instance);
        }
        provide_context(theme().unwrap_or(Theme::System));
        if let Some(response) = use_context::<ResponseOptions>() {
            let status = response.clone();
            provide_context(ResponseStatus(Arc::new(move |code| {
                if let Ok(code) = StatusCode::from_u16(code) {
                    status.set_status(code);
                    if code == StatusCode::SERVICE_UNAVAILABLE {
                        let soon = HeaderValue::from_static("5");
                        status.insert_header(header::RETRY_AFTER, soon.clone());
                        // Not standardised, but every browser does it: the page recovers without a script.
                        status.insert_header(header::REFRESH, soon);
                    }
                }
            })));
            secure(&response);
        }
    }
}

/// The context of the request being answered.
pub fn current() -> Result<ConsoleContext, CallError> {
    use_context().ok_or(CallError::Broken)
}

/// Whether the response is a page, not the answer to a script's call.
pub fn is_page() -> bool {
    use_context::<RequestUrl>().is_some()
}

/// The headers of the request being answered.
pub(super) fn headers() -> HeaderMap {
    use_context::<Parts>().map(|parts| parts.headers).unwrap_or_default()
}

/// The theme that the request's cookie names.
fn theme() -> Option<Theme> {
    let headers = headers();
    let header = headers.get(header::COOKIE)?.to_str().ok()?;
    Some(Theme::from_cookie_header(header))
}

/// Scripts only with this page's nonce, styles only from files, nothing from elsewhere.
fn secure(response: &ResponseOptions) {
    let Some(nonce) = use_nonce() else { return };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
}
