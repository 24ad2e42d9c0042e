//! The answer with a file: type, encoding and caching.

use super::{SiteFile, encoding::Encoding};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// For URLs with the version in the query: their content never changes.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// The build puts a hash of the content into the name of this folder.
const CONTENT_ADDRESSED: &str = "pkg/split/";
/// For fonts: their names have no version, but they hardly ever change, and revalidating them each time makes text flicker.
const ONE_DAY: &str = "public, max-age=86400";
/// Cached, but revalidated before each use, so that page and script match after an upgrade.
const REVALIDATE: &str = "no-cache";

/// A file that was found, in the encoding that is sent.
pub(super) struct Found<'a> {
    /// The plain path, which determines the type.
    pub(super) path: &'a str,
    pub(super) file: SiteFile,
    pub(super) encoding: Encoding,
    /// The version of the plain file, whatever encoding is sent.
    pub(super) version: String,
}

impl Found<'_> {
    pub(super) fn respond(self, uri: &Uri, request: &HeaderMap) -> Response {
        let tag = self.entity_tag();
        let mut headers = HeaderMap::new();
        let mut set = |name, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        set(header::CACHE_CONTROL, self.cache_control(uri));
        set(header::ETAG, &tag);
        set(header::VARY, "accept-encoding");
        if matches_etag(request, &tag) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        set(header::CONTENT_TYPE, &content_type(self.path));
        if let Some(encoding) = self.encoding.name() {
            set(header::CONTENT_ENCODING, encoding);
        }
        (headers, self.file.bytes).into_response()
    }

    /// Each encoding is a representation of its own, so it has a tag of its own.
    fn entity_tag(&self) -> String {
        match self.encoding.name() {
            Some(encoding) => format!("\"{}-{encoding}\"", self.file.version),
            None => format!("\"{}\"", self.file.version),
        }
    }

    fn cache_control(&self, uri: &Uri) -> &'static str {
        let asked = uri.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("v=")));
        if asked.is_some_and(|version| version == self.version) || self.path.starts_with(CONTENT_ADDRESSED) {
            IMMUTABLE
        } else if self.path.starts_with("fonts/") {
            ONE_DAY
        } else {
            REVALIDATE
        }
    }
}

/// Whether `If-None-Match` has this tag, by weak comparison as RFC 9110 requires: a proxy that recompresses makes tags weak.
fn matches_etag(request: &HeaderMap, tag: &str) -> bool {
    request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        value
            .split(',')
            .map(str::trim)
            .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
    })
}

fn content_type(path: &str) -> String {
    let guess = mime_guess::from_path(path).first_or_octet_stream();
    // No charset for wasm: browsers compile it while streaming only if the type is exactly `application/wasm`.
    if guess.type_() == mime_guess::mime::TEXT {
        format!("{guess}; charset=utf-8")
    } else {
        guess.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(encoding: Encoding) -> Found<'static> {
        let file = SiteFile { bytes: "body { }".into(), version: "1f".into() };
        Found { path: "pkg/headgate.css", file, encoding, version: "1f".into() }
    }

    fn header<'a>(response: &'a Response, name: &str) -> &'a str {
        response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn types_are_those_that_browsers_require() {
        assert_eq!(content_type("pkg/headgate_bg.wasm"), "application/wasm");
        assert_eq!(content_type("pkg/headgate.js"), "text/javascript; charset=utf-8");
        assert_eq!(content_type("pkg/headgate.css"), "text/css; charset=utf-8");
        assert_eq!(content_type("fonts/inter.woff2"), "font/woff2");
        assert_eq!(content_type("favicon.svg"), "image/svg+xml");
    }

    #[test]
    fn each_encoding_has_a_tag_of_its_own() {
        let uri = Uri::from_static("/pkg/headgate.css");
        let brotli = found(Encoding::Brotli).respond(&uri, &HeaderMap::new());
        assert_eq!((header(&brotli, "etag"), header(&brotli, "content-encoding")), ("\"1f-br\"", "br"));
        let plain = found(Encoding::Identity).respond(&uri, &HeaderMap::new());
        assert_eq!((header(&plain, "etag"), header(&plain, "content-encoding")), ("\"1f\"", ""));
        assert_eq!(header(&plain, "vary"), "accept-encoding");
    }

    #[test]
    fn a_client_with_a_matching_tag_gets_no_body() {
        for (known, status) in
            [("\"1f-br\"", 304), ("W/\"1f-br\"", 304), ("\"0\", \"1f-br\"", 304), ("*", 304), ("\"1f\"", 200)]
        {
            let mut request = HeaderMap::new();
            request.insert(header::IF_NONE_MATCH, known.parse().unwrap());
            let response = found(Encoding::Brotli).respond(&Uri::from_static("/"), &request);
            assert_eq!(response.status().as_u16(), status, "{known}");
        }
    }

    #[test]
    fn only_a_matching_version_is_immutable() {
        let cache_control = |uri| found(Encoding::Identity).cache_control(&Uri::from_static(uri));
        assert_eq!(cache_control("/pkg/headgate.css?v=1f"), IMMUTABLE);
        assert_eq!(cache_control("/pkg/headgate.css?v=0"), REVALIDATE);
        assert_eq!(cache_control("/pkg/headgate.css"), REVALIDATE);
    }

    #[test]
    fn content_addressed_files_are_immutable() {
        let part = Found { path: "pkg/split/1f/jobs.pack", ..found(Encoding::Identity) };
        assert_eq!(part.cache_control(&Uri::from_static("/pkg/split/1f/jobs.pack")), IMMUTABLE);
    }
}
