//! The console's server functions: public endpoints, each at its own path below `/console`.
//!
//! The framework answers every refusal with 500, and redirects clients that accept HTML to the `Referer` of the request, which may be another
//! site. This layer changes that for all of them: the actor is checked before the arguments are read, a refusal has its own status and a line
//! in the log, and only forms are redirected, to a page of this console.

use super::pages::{context, to_sign_in, wants_page};
use crate::{api::extract::read_form, state::AppState};
use app::calls::error::{CallError, FormRefused};
use app::calls::theme::SetTheme;
use app::server::{actor, redirect};
use app::state::base_path::BasePath;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest as _, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use leptos::server_fn::{self, ServerFn as _, error::SERVER_FN_ERROR_HEADER, redirect::REDIRECT_HEADER};
use model::{actor::Actor, rules::permission::Permission};
use serde::Deserialize;

/// Refusals have a few words.
const MAX_REFUSAL_BYTES: usize = 1 << 20;

/// The routes of all server functions. The caller wraps them with the layers of [`crate::router`].
pub fn calls(state: &AppState) -> Router {
    let mut router = Router::new();
    for (path, method) in server_fn::axum::server_fn_paths() {
        let context = context(state);
        let handle = async move |request: Request<Body>| {
            let context = context.clone();
            leptos_axum::handle_server_fns_with_context(move || context.provide(), request).await
        };
        let Ok(method) = MethodFilter::try_from(method) else { continue };
        router = router.route(path, on(method, handle));
    }
    router.layer(from_fn_with_state(state.clone(), answer))
}

async fn answer(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let who = request.extensions().get::<Actor>().map(Actor::owner);
    let is_form = request.method() == Method::POST;
    let is_plain_form = is_form && wants_page(request.headers());
    let FormRefused { because, page } = match run(&state, request, next).await {
        Ok(response) if is_plain_form => return follow_redirect(response),
        Ok(response) => return response,
        Err(refused) => refused,
    };
    let status = StatusCode::from_u16(because.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    tracing::info!(call = path, who, status = status.as_u16(), reason = %because, "a call of the console was refused");
    if is_plain_form && !page.is_empty() {
        return see_other(&page);
    }
    if is_plain_form && because == CallError::SignedOut {
        return to_sign_in(&state.settings.base_path, "/", None);
    }
    let wait = match &because {
        CallError::TooSoon { seconds } => Some(*seconds),
        CallError::TooSlow | CallError::Unavailable => Some(5),
        _ => None,
    };
    let body = if is_form {
        Json(FormRefused { because, page }).into_response()
    } else {
        Json(because).into_response()
    };
    let mut response = (status, [(header::CACHE_CONTROL, "no-store")], body).into_response();
    if let Some(seconds) = wait {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The function's answer, or why it was refused.
async fn run(state: &AppState, mut request: Request, next: Next) -> Result<Response, FormRefused> {
    // The theme can be chosen on the sign-in page.
    if request.uri().path() != SetTheme::PATH
        && let Err(because) = actor::of(request.extensions(), Permission::OpenConsole)
    {
        return Err(page_of_lost_form(state, request, because).await);
    }
    request.headers_mut().remove(header::REFERER);
    request.headers_mut().remove(header::ACCEPT);
    let (request, form) = match read_form(request).await {
        Ok(read) => read,
        Err(problem) => return Ok(problem.into_response()),
    };
    // Invalid UTF-8 is the sender's fault; the framework would report it as an internal error.
    if str::from_utf8(&form).is_err() {
        return Err(CallError::Invalid("the form is not valid UTF-8".into()).into());
    }
    let response = next.run(request).await;
    if !response.headers().contains_key(SERVER_FN_ERROR_HEADER) {
        return Ok(response);
    }
    let refusal = to_bytes(response.into_body(), MAX_REFUSAL_BYTES).await.unwrap_or_default();
    Err(serde_json::from_slice(&refusal).map_or_else(|_| CallError::Broken.into(), Refusal::into))
}

/// A call without a session does nothing. For a form, its page says so after the sign-in.
async fn page_of_lost_form(state: &AppState, request: Request, because: CallError) -> FormRefused {
    if because != CallError::SignedOut || request.method() != Method::POST {
        return because.into();
    }
    let form = String::from_request(request, &()).await.unwrap_or_default();
    let page = redirect::page_of_lost_form(&form)
        .map(|url| BasePath::new(&state.settings.base_path).join(&url.to_string()));
    FormRefused { because, page: page.unwrap_or_default() }
}

/// The error of a server function as it is serialised.
#[derive(Deserialize)]
#[serde(untagged)]
enum Refusal {
    Form(FormRefused),
    Call(CallError),
}

impl From<Refusal> for FormRefused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Form(refused) => refused,
            Refusal::Call(because) => because.into(),
        }
    }
}

/// Without JavaScript the browser follows the redirect, and not the console's router.
fn follow_redirect(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    if parts.headers.remove(REDIRECT_HEADER).is_some() {
        parts.status = StatusCode::SEE_OTHER;
    }
    Response::from_parts(parts, body)
}

fn see_other(page: &str) -> Response {
    let location = HeaderValue::try_from(page).unwrap_or(HeaderValue::from_static("/"));
    let headers =
        [(header::LOCATION, location), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (StatusCode::SEE_OTHER, headers).into_response()
}
