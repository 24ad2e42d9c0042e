//! The console's pages, and the permission each needs.
//!
//! Pages check access themselves as well. This check answers before anything is rendered: without a session with a redirect to the sign-in,
//! with the wrong role with 403.

use crate::console_files;
use crate::middleware::is_https;
use crate::replica::Replica;
use crate::state::{AppState, leptos_options};
use app::{
    calls::error::CallError,
    components::page_table::ConsolePage,
    pages::forbidden_document,
    server::{actor, context::ConsoleContext},
    shell::shell,
    state::{base_path::BasePath, theme::Theme},
};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use leptos::{prelude::provide_context, server_fn};
use leptos_axum::{LeptosRoutes as _, generate_route_list_with_exclusions_and_ssg_and_context};
use model::{actor::Actor, rules::permission::Permission};
use std::sync::Arc;

/// Answered by `api::sign_in`, without JavaScript; the console's route of this path exists for the browser's router only.
const SIGN_IN_LINK: &str = "/sign-in/link/{token}";

/// Every page of the console, with the mount prefix in its path.
pub fn pages(state: &AppState) -> Router {
    let base = BasePath::new(&state.settings.base_path);
    let mut excluded: Vec<String> =
        server_fn::axum::server_fn_paths().map(|(path, _)| path.to_owned()).collect();
    excluded.push(base.join(SIGN_IN_LINK));
    let context = context(state);
    let (routes, _) = generate_route_list_with_exclusions_and_ssg_and_context(
        || shell(leptos_options()),
        Some(excluded),
        move || provide_context(base.clone()),
    );
    let options = state.leptos.clone();
    Router::new()
        .leptos_routes_with_context(state, routes, move || context.provide(), move || shell(options.clone()))
        .layer(from_fn_with_state(state.clone(), guard))
        .with_state(state.clone())
}

/// The answer to unknown paths: a page of the console, or a problem document for programs.
pub fn not_found(state: &AppState) -> Router {
    let context = context(state);
    let options = state.leptos.clone();
    let base = state.settings.base_path.clone();
    let page =
        leptos_axum::render_app_async_with_context(move || context.provide(), move || shell(options.clone()));
    Router::new().fallback(async move |request: Request| {
        let is_page = request.method() == Method::GET
            && wants_page(request.headers())
            && !request.uri().path().contains("/api/");
        if !is_page {
            return crate::api::problem::Problem::not_found().into_response();
        }
        // Without access to the console the answer does not tell which paths exist.
        let is_below = request.uri().path().starts_with(base.as_str());
        if let Some(refused) = is_below.then(|| refusal(&base, &request)).flatten() {
            return refused;
        }
        let mut response = page(request).await.into_response();
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    })
}

/// What pages and server functions can use.
pub(super) fn context(state: &AppState) -> ConsoleContext {
    ConsoleContext {
        headgate: state.headgate.clone(),
        lists_behind: {
            let replica = state.replica.clone();
            Arc::new(move || replica.as_ref().and_then(Replica::lists_behind))
        },
        is_https,
        base_path: BasePath::new(&state.settings.base_path),
        instance: state.settings.instance.clone(),
        page_files: console_files::page_files(),
    }
}

async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    match refusal(&state.settings.base_path, &request) {
        Some(refused) => refused,
        None => next.run(request).await,
    }
}

/// The answer instead of a page the actor may not open.
fn refusal(base: &str, request: &Request) -> Option<Response> {
    let path = request.uri().path();
    let page = path.strip_prefix(base).unwrap_or(path);
    match actor::of(request.extensions(), required_permission(page)?) {
        // The session cannot be checked: the page says so and recovers by itself.
        Ok(_) | Err(CallError::Unavailable) => None,
        Err(CallError::Forbidden) => {
            request.extensions().get::<Actor>().map(|actor| forbidden(base, actor, request.headers()))
        }
        Err(_) => Some(to_sign_in(base, page, request.uri().query())),
    }
}

/// The permission a page needs; `None`: anybody may open it.
fn required_permission(page: &str) -> Option<Permission> {
    let first = page.trim_start_matches('/').split('/').next().unwrap_or_default();
    match first {
        "sign-in" => None,
        _ => Some(ConsolePage::at(page).map_or(Permission::OpenConsole, ConsolePage::permission)),
    }
}

/// Redirects to the sign-in, which leads back to the page.
pub(super) fn to_sign_in(base: &str, page: &str, query: Option<&str>) -> Response {
    let wanted = query.map_or_else(|| page.to_owned(), |query| format!("{page}?{query}"));
    let next = if wanted == "/" || wanted.is_empty() {
        String::new()
    } else {
        format!(
            "?{}",
            url::form_urlencoded::Serializer::new(String::new()).append_pair("next", &wanted).finish()
        )
    };
    let location = HeaderValue::try_from(format!("{base}/sign-in{next}"));
    let location = location.unwrap_or_else(|_| HeaderValue::from_static("/sign-in"));
    let headers =
        [(header::LOCATION, location), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::SEE_OTHER, headers).into_response()
}

/// A page of its own, without JavaScript and without the console's files.
fn forbidden(base: &str, actor: &Actor, headers: &HeaderMap) -> Response {
    let cookies = headers.get(header::COOKIE).and_then(|cookies| cookies.to_str().ok()).unwrap_or_default();
    let page = forbidden_document(&BasePath::new(base), Theme::from_cookie_header(cookies), actor);
    let policy = "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; \
                  frame-ancestors 'none'";
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (StatusCode::FORBIDDEN, headers, page).into_response()
}

/// Whether the client is a browser that shows the answer.
pub(crate) fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .is_some_and(|accept| String::from_utf8_lossy(accept.as_bytes()).contains("text/html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_the_deployment_need_a_permission() {
        for (page, needed) in [
            ("/", Some(Permission::OpenConsole)),
            ("", Some(Permission::OpenConsole)),
            ("/jobs/018f", Some(Permission::OpenConsole)),
            ("/workers", Some(Permission::ReadDeployment)),
            ("/settings/users", Some(Permission::ReadDeployment)),
            ("/rate-limits", Some(Permission::ReadDeployment)),
            ("/audit-log", Some(Permission::ReadDeployment)),
            ("/wall", Some(Permission::OpenConsole)),
            ("/unknown", Some(Permission::OpenConsole)),
            ("/sign-in", None),
        ] {
            assert_eq!(required_permission(page), needed, "{page}");
        }
    }

    #[test]
    fn the_sign_in_remembers_the_requested_page() {
        let location = |base, page, query| to_sign_in(base, page, query).headers()[header::LOCATION].clone();
        assert_eq!(location("", "/", None), "/sign-in");
        assert_eq!(
            location("/gate", "/jobs", Some("status=failed")),
            "/gate/sign-in?next=%2Fjobs%3Fstatus%3Dfailed"
        );
    }
}
