//! `/api/openapi.json` and `/api/docs`: the document, and Swagger UI to read it with. All files are in the binary: it works offline, and
//! under a content security policy without `unsafe-inline`.

use super::problem::Problem;
use axum::{
    Router,
    extract::Path,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use std::sync::Arc;
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::Config;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Links are relative: the page may lie behind any prefix.
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
    // Their page and its start load another document.
    let is_asset = !matches!(name.as_str(), "index.html" | "swagger-initializer.js");
    match utoipa_swagger_ui::serve(&name, Arc::new(Config::default())) {
        Ok(Some(file)) if is_asset => {
            let kind = [
                (header::CONTENT_TYPE, file.content_type),
                (header::CACHE_CONTROL, "max-age=3600".to_owned()),
            ];
            let encoding = file.gzpipped.then_some([(header::CONTENT_ENCODING, "gzip")]);
            let body = file.bytes.into_owned();
            match encoding {
                Some(encoding) => (kind, encoding, body).into_response(),
                None => (kind, body).into_response(),
            }
        }
        _ => Problem::not_found().into_response(),
    }
}
