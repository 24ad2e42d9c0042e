//! The console's static files: scripts, wasm, styles, fonts and icons.
//!
//! A release embeds them and runs from any directory; a debug build reads them from `target/site`, so that the result of `cargo xtask front` is
//! visible after a reload. They are compressed at build time, never here.

#[cfg(debug_assertions)]
#[path = "disk.rs"]
mod site;
#[cfg(not(debug_assertions))]
#[path = "embedded.rs"]
mod site;

mod encoding;
mod pages;
mod response;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use encoding::Encoding;
pub use pages::page_files;
use response::Found;
#[cfg(not(debug_assertions))]
pub use site::{ReadEmbedded, embed};

/// Nothing is for search engines, because every page needs a session.
const ROBOTS: &str = "User-agent: *\nDisallow: /\n";

/// A file of the site in one encoding.
struct SiteFile {
    bytes: axum::body::Bytes,
    /// Changes whenever the content does; has visible characters without quotes.
    version: String,
}

/// `/pkg/…`, `/fonts/…`, the icons and `robots.txt`.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route(
            "/pkg/{*path}",
            get(async |Path(path): Path<String>, uri, headers| serve("pkg/", &path, &uri, &headers)),
        )
        .route(
            "/fonts/{*path}",
            get(async |Path(path): Path<String>, uri, headers| serve("fonts/", &path, &uri, &headers)),
        )
        .route("/favicon.svg", get(async |uri, headers| serve("", "favicon.svg", &uri, &headers)))
        .route("/favicon.ico", get(favicon_ico))
        .route("/robots.txt", get(async || ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], ROBOTS)))
}

/// The version of a file such as `pkg/headgate.css`: with `?v=` and the version browsers may cache the file for a year.
#[must_use]
pub fn version_of(path: &str) -> Option<String> {
    site::version_of(path)
}

/// Some clients request it whatever the page says; browsers accept an SVG there.
async fn favicon_ico(uri: Uri, headers: HeaderMap) -> Response {
    let name = if site::load("favicon.ico").is_some() { "favicon.ico" } else { "favicon.svg" };
    serve("", name, &uri, &headers)
}

fn serve(folder: &str, path: &str, uri: &Uri, headers: &HeaderMap) -> Response {
    let path = format!("{folder}{path}");
    // Compressed forms are served under the plain name only.
    if Encoding::is_suffix_of(&path) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let found = version_of(&path).and_then(|version| {
        let mut encodings = Encoding::accepted(headers).into_iter();
        let (file, encoding) = encodings
            .find_map(|encoding| Some((site::load(&format!("{path}{}", encoding.suffix()))?, encoding)))?;
        Some((file, encoding, version))
    });
    let Some((file, encoding, version)) = found else { return StatusCode::NOT_FOUND.into_response() };
    Found { path: &path, file, encoding, version }.respond(uri, headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    async fn get(method: &str, uri: &str) -> Response {
        let request = Request::builder().method(method).uri(uri).body(Body::empty()).unwrap();
        routes().with_state(()).oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn robots_txt_disallows_everything() {
        let answer = get("GET", "/robots.txt").await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(axum::body::to_bytes(answer.into_body(), 100).await.unwrap(), ROBOTS);
    }

    #[tokio::test]
    async fn unknown_paths_and_paths_outside_are_not_found() {
        for uri in [
            "/pkg/nothing.js",
            "/pkg/../../Cargo.toml",
            "/pkg/%2e%2e/%2e%2e/Cargo.toml",
            "/fonts/%2Fetc%2Fpasswd",
        ] {
            assert_eq!(get("GET", uri).await.status(), StatusCode::NOT_FOUND, "{uri}");
        }
    }

    #[tokio::test]
    async fn compressed_forms_have_no_path_of_their_own() {
        assert_eq!(get("GET", "/pkg/headgate.css.br").await.status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn files_are_read_only() {
        assert_eq!(get("POST", "/pkg/headgate.css").await.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(get("HEAD", "/robots.txt").await.status(), StatusCode::OK);
    }
}
