//! `/api/openapi.json` and `/api/docs`: the document, and Swagger UI to read it. All files are in the binary, so it works offline and under a
//! content security policy without `unsafe-inline`.

use super::problem::Problem;
use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::read::GzDecoder;
use std::{io::Read as _, sync::Arc};
use utoipa::openapi::OpenApi;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Links are relative, because the page may be served below any prefix.
const PAGE: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Headgate API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/index.css">
<link rel="icon" type="image/png" sizes="32x32" href="docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<noscript>This page needs JavaScript; the document itself is <a href="openapi.json">openapi.json</a>.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"#;

const START: &str = r##"window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  docExpansion: "list",
  filter: true,
  defaultModelsExpandDepth: 0,
  presets: [SwaggerUIBundle.presets.apis],
  validatorUrl: null
});
"##;

pub(super) fn router(openapi: &OpenApi) -> Router {
    let json: Arc<str> = openapi.to_json().unwrap_or_else(|error| format!("\"{error}\"")).into();
    Router::new()
        .route(
            "/openapi.json",
            get(move || async move { ([(header::CONTENT_TYPE, "application/json")], json.to_string()) }),
        )
        .route("/docs", get(page))
        .route("/docs/", get(async || (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, "../docs")])))
        .route("/docs/{file}", get(file))
        .method_not_allowed_fallback(super::method_not_allowed)
        .fallback(super::not_found)
}

async fn page() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, PAGE)
}

async fn file(Path(name): Path<String>) -> Response {
    if name == "start.js" {
        return ([(header::CONTENT_TYPE, "text/javascript")], START).into_response();
    }
    match swagger_ui(&name).and_then(|(kind, file)| Some((kind, decompressed(file)?))) {
        Some((kind, file)) => {
            ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "max-age=3600")], file).into_response()
        }
        None => Problem::not_found().into_response(),
    }
}

/// A file's type, and its content as `build.rs` compressed it.
fn swagger_ui(name: &str) -> Option<(&'static str, &'static [u8])> {
    macro_rules! built {
        ($name:literal) => {
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz"))
        };
    }
    Some(match name {
        "swagger-ui.css" => ("text/css", built!("swagger-ui.css")),
        "index.css" => ("text/css", built!("index.css")),
        "swagger-ui-bundle.js" => ("text/javascript", built!("swagger-ui-bundle.js")),
        "favicon-32x32.png" => ("image/png", built!("favicon-32x32.png")),
        "LICENSE" => ("text/plain", built!("LICENSE")),
        "NOTICE" => ("text/plain", built!("NOTICE")),
        _ => return None,
    })
}

fn decompressed(file: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    GzDecoder::new(file).read_to_end(&mut plain).is_ok().then_some(plain)
}
