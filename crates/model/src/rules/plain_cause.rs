//! The plain cause of a failure: the status, and at most one sentence of what was said with it. Bodies are read and never quoted, so that no markup
//! and no JSON comes out, whatever an external system answers.

use crate::text::{is_control, sanitise};
use http::StatusCode;
use serde_json::{Deserializer, Map, Value};

const MAX_CHARS: usize = 140;
/// In the head of a column.
const MAX_SHORT_CHARS: usize = 60;
/// A sentence is not ended before, so that `Error. The price is missing.` is one.
const MIN_SENTENCE_BYTES: usize = 20;
const NOTHING_SAID: &str = "no reason given";
/// Fields in which JSON says what is wrong, the plainest first: those of problem documents and of most APIs, `msg` of FastAPI, `error_description` of
/// OAuth, `errors` of Shopify, JSON:API and GraphQL.
const FIELDS: [&str; 7] = ["message", "detail", "msg", "error_description", "title", "error", "errors"];
/// Elements in which markup says it: the title of a page, the fault of SOAP, the error of S3.
const ELEMENTS: [&str; 3] = ["title", "faultstring", "message"];
/// Elements within a line of text.
const INLINE: [&str; 10] = ["a", "b", "code", "em", "i", "small", "span", "strong", "tt", "u"];
/// What ends a sentence, and is left to the one that it becomes a part of.
const ENDS: [char; 6] = ['.', ':', ';', ',', '!', ' '];
/// `&amp;` last, because it makes others.
const ENTITIES: [(&str, &str); 8] = [
    ("&nbsp;", " "),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&amp;", "&"),
];

/// The cause as a sentence without its full stop: `422 Unprocessable Entity: the price is missing`.
#[must_use]
pub fn sentence(error: &str, response_status: Option<i16>) -> String {
    let (status, _) = parts(error, response_status);
    let cause = match (status.map(status_words), said(error, response_status)) {
        (Some(answered), Some(said)) if said.starts_with(&answered) => said,
        (Some(answered), Some(said)) => format!("{answered}: {said}"),
        (Some(answered), None) => answered,
        (None, Some(said)) => said,
        (None, None) => NOTHING_SAID.to_owned(),
    };
    sanitise(&cause, MAX_CHARS)
}

/// The cause for the head of a column, where possible by the name that an API gives it: `400 validation failed`.
#[must_use]
pub fn short(error: &str, response_status: Option<i16>) -> String {
    let (status, body) = parts(error, response_status);
    let name = name_in(body).filter(|name| says_more(name, status));
    let cause = match (status, name.or_else(|| said(error, response_status))) {
        (Some(status), Some(said)) if said.starts_with(&status.to_string()) => said,
        (Some(status), Some(said)) => format!("{status} {said}"),
        (Some(status), None) => status_words(status),
        (None, Some(said)) => said,
        (None, None) => NOTHING_SAID.to_owned(),
    };
    sanitise(&cause, MAX_SHORT_CHARS)
}

/// What an error or an answer says in addition to its status: at most one sentence.
#[must_use]
pub fn said(text: &str, response_status: Option<i16>) -> Option<String> {
    let (status, body) = parts(text, response_status);
    plain(body).filter(|said| says_more(said, status))
}

/// Whether [`sentence`] has all of a text: there is nothing more to show.
#[must_use]
pub fn is_whole(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_prefix("answered ").unwrap_or(text);
    sentence(text, None) == text.trim_end_matches(ENDS)
}

/// `503 Service Unavailable`; `599`, which has no name.
#[must_use]
pub fn status_words(status: i16) -> String {
    let code = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    match code.and_then(|code| code.canonical_reason()) {
        Some(reason) => format!("{status} {reason}"),
        None => status.to_string(),
    }
}

fn says_more(said: &str, status: Option<i16>) -> bool {
    status.is_none_or(|status| !status_words(status).to_lowercase().contains(&said.to_lowercase()))
}

/// The status and the body of an error, which delivery writes as `answered 503 Service Unavailable: …`.
fn parts(error: &str, response_status: Option<i16>) -> (Option<i16>, &str) {
    let answered = error.trim_start().strip_prefix("answered ").and_then(|rest| {
        let (head, body) = rest.split_once(": ").unwrap_or((rest, ""));
        let status = head.split_whitespace().next()?.parse::<i16>().ok()?;
        (100..1_000).contains(&status).then_some((Some(status), body))
    });
    answered.unwrap_or((response_status, error))
}

/// At most one sentence of a text, whatever it is made of.
fn plain(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if is_tag(text) {
        return in_markup(text);
    }
    let Some(at) = json_at(text) else { return line_of(&without_tags(text)) };
    let (before, json) = text.split_at(at);
    match (line_of(&without_tags(before)), in_json(json)) {
        (Some(before), Some(said)) => Some(format!("{before}: {said}")),
        (before, said) => said.or(before),
    }
}

/// Where JSON begins in a text.
fn json_at(text: &str) -> Option<usize> {
    text.match_indices(['{', '[']).map(|(at, _)| at).find(|at| {
        let next = text[at + 1..].trim_start().chars().next();
        if text[*at..].starts_with('{') {
            // A single quote is how Python writes a map.
            matches!(next, None | Some('"' | '\'' | '}' | '…'))
        } else {
            next == Some('{') || *at == 0 && next == Some('"')
        }
    })
}

fn in_json(json: &str) -> Option<String> {
    match first_value(json) {
        Some(value) => in_value(&value),
        None => FIELDS.iter().find_map(|field| plain(&field_of_cut(json, field)?)),
    }
}

/// The value that a text begins with; none when it was cut off.
fn first_value(json: &str) -> Option<Value> {
    Deserializer::from_str(json).into_iter::<Value>().next()?.ok()
}

fn in_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => plain(text),
        Value::Array(items) => items.iter().find_map(in_value),
        Value::Object(fields) => FIELDS.iter().find_map(|field| match (*field, fields.get(*field)?) {
            ("errors", Value::Object(by_field)) => in_errors(by_field),
            (_, value) => in_value(value),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// `{"title": ["can't be blank"]}`, as Shopify and Rails write it: the first field and what is wrong with it.
fn in_errors(by_field: &Map<String, Value>) -> Option<String> {
    by_field.iter().find_map(|(field, value)| {
        let said = in_value(value)?;
        // `base` is the whole object.
        let is_about_field = !matches!(field.as_str(), "base" | "message" | "detail");
        if is_about_field && said.starts_with(char::is_lowercase) {
            line_of(&format!("{field} {said}"))
        } else {
            Some(said)
        }
    })
}

/// A text of JSON that was cut off, which no parser reads: the string after a field's name, as far as it is there.
fn field_of_cut(json: &str, field: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{field}\""))?;
    let text = rest.trim_start().strip_prefix(':')?.trim_start();
    match Deserializer::from_str(text).into_iter::<String>().next()? {
        Ok(whole) => Some(whole),
        Err(error) if error.is_eof() => {
            let begun = text.trim_end_matches('…').trim_end_matches('\\');
            let begun: String = serde_json::from_str(&format!("{begun}\"")).ok()?;
            Some(format!("{begun}…"))
        }
        Err(_) => None,
    }
}

/// What an API calls the error: `validation_failed` becomes `validation failed`.
fn name_in(body: &str) -> Option<String> {
    const PATHS: [&str; 4] = ["/error", "/code", "/error/code", "/errors/0/code"];
    if is_tag(body.trim_start()) {
        return None;
    }
    let json = &body[json_at(body)?..];
    let name = match first_value(json) {
        Some(value) => PATHS
            .iter()
            .filter_map(|path| value.pointer(path)?.as_str().map(str::to_owned))
            .find(|name| is_name(name)),
        None => {
            ["error", "code"].iter().filter_map(|field| field_of_cut(json, field)).find(|name| is_name(name))
        }
    };
    name.map(|name| name.replace('_', " "))
}

fn is_name(text: &str) -> bool {
    (2..=40).contains(&text.len())
        && text.contains(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

fn is_tag(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('<')
        && chars.next().is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
}

fn in_markup(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let element = |name: &str| {
        let open = format!("<{name}");
        let rest = &text[lower.find(&open)? + open.len()..];
        // Another element, whose name only begins so.
        if rest.starts_with(char::is_alphanumeric) {
            return None;
        }
        let (_, content) = rest.split_once('>')?;
        line_of(&without_tags(content.split_once("</").map_or(content, |(content, _)| content)))
    };
    ELEMENTS.into_iter().find_map(element).or_else(|| line_of(&without_tags(text)))
}

/// The text between tags, without scripts, styles and comments. What is in different blocks is on different lines.
fn without_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        kept.push_str(before);
        if !is_tag(tag) {
            kept.push('<');
            rest = &tag[1..];
            continue;
        }
        let name: String = tag
            .trim_start_matches(['<', '/'])
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        if !INLINE.contains(&name.as_str()) {
            kept.push('\n');
        }
        // The text may be cut within a tag.
        let end = if tag.starts_with("<!--") { "-->" } else { ">" };
        rest = tag.split_once(end).map_or("", |(_, rest)| rest);
        if matches!(name.as_str(), "script" | "style") && !tag.starts_with("</") {
            let close = rest.to_ascii_lowercase().find(&format!("</{name}"));
            rest = close.map_or("", |at| &rest[at..]);
        }
    }
    kept.push_str(rest);
    if kept.contains('&') {
        kept = ENTITIES.iter().fold(kept, |text, (entity, sign)| text.replace(entity, sign));
    }
    kept
}

/// The first sentence of the first line that has one, without what is no text in it.
fn line_of(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let signs: String = line.chars().map(text_sign).collect();
        let words = signs.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = first_sentence(&words).trim_end_matches(ENDS);
        sentence.contains(char::is_alphanumeric).then(|| sanitise(sentence, MAX_CHARS))
    })
}

/// Signs of markup and of JSON become others that look alike.
fn text_sign(c: char) -> char {
    match c {
        '<' => '‹',
        '>' => '›',
        '{' => '(',
        '}' => ')',
        '\u{fffd}' => ' ',
        c if is_control(c) => ' ',
        c => c,
    }
}

fn first_sentence(line: &str) -> &str {
    let ends = line.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    let end = ends.filter(|end| *end >= MIN_SENTENCE_BYTES).find(|end| {
        let mut next = line[*end..].chars();
        next.next() == Some(' ') && next.next().is_some_and(char::is_uppercase)
    });
    end.map_or(line, |end| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NGINX: &str = "<html>\u{fffd}\n<head><title>502 Bad Gateway</title></head>\u{fffd}\n<body>\u{fffd}\n<center><h1>502 Bad Gateway</h1></center>\u{fffd}\n<hr><center>nginx/1.25.3</center>\u{fffd}\n</body>\u{fffd}\n</html>";
    const SOAP: &str = r#"<?xml version="1.0"?><soap:Envelope><soap:Body><soap:Fault><faultcode>soap:Client</faultcode><faultstring>Invalid order</faultstring></soap:Fault></soap:Body></soap:Envelope>"#;
    const FASTAPI: &str =
        r#"{"detail":[{"loc":["body","price"],"msg":"field required","type":"value_error.missing"}]}"#;
    const PROBLEM: &str = r#"{"type":"https://example.com/probs/out-of-credit","title":"You do not have enough credit.","status":403,"detail":"Your balance is 30, but that costs 50.","instance":"/account/12345"}"#;

    /// Bodies with their statuses, the sentence and the head of a column.
    const ANSWERS: &[(i16, &str, &str, &str)] = &[
        // Shopify.
        (
            422,
            r#"{"errors":{"title":["can't be blank"]}}"#,
            "422 Unprocessable Entity: title can't be blank",
            "422 title can't be blank",
        ),
        (
            401,
            r#"{"errors":"[API] Invalid API key or access token (unrecognized login or wrong password)"}"#,
            "401 Unauthorized: [API] Invalid API key or access token (unrecognized login or wrong password)",
            "401 [API] Invalid API key or access token (unrecognized logi…",
        ),
        (
            429,
            r#"{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}"#,
            "429 Too Many Requests: Throttled",
            "429 Throttled",
        ),
        (
            406,
            r#"{"errors":{"base":["the shop is frozen"]}}"#,
            "406 Not Acceptable: the shop is frozen",
            "406 the shop is frozen",
        ),
        // RFC 9457, Google, JSON:API, FastAPI, Spring, Laravel, OAuth.
        (
            403,
            PROBLEM,
            "403 Forbidden: Your balance is 30, but that costs 50",
            "403 Your balance is 30, but that costs 50",
        ),
        (
            404,
            r#"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}"#,
            "404 Not Found: Requested entity was not found",
            "404 Requested entity was not found",
        ),
        (
            422,
            r#"{"errors":[{"code":"price_invalid","title":"Invalid","detail":"price must be positive"}]}"#,
            "422 Unprocessable Entity: price must be positive",
            "422 price invalid",
        ),
        (422, FASTAPI, "422 Unprocessable Entity: field required", "422 field required"),
        (
            400,
            r#"{"timestamp":"2026-11-22T10:00:00Z","status":400,"error":"Bad Request","path":"/orders"}"#,
            "400 Bad Request",
            "400 Bad Request",
        ),
        (
            422,
            r#"{"message":"The given data was invalid.","errors":{"price":["The price is required."]}}"#,
            "422 Unprocessable Entity: The given data was invalid",
            "422 The given data was invalid",
        ),
        (
            401,
            r#"{"error":"invalid_grant","error_description":"The refresh token has expired."}"#,
            "401 Unauthorized: The refresh token has expired",
            "401 invalid grant",
        ),
        (400, r#"{"error":"validation"}"#, "400 Bad Request: validation", "400 validation"),
        (
            400,
            r#"{"error":"validation_failed","field":"ean","detail":"EAN-13 check digit of sku-7 is wrong"}"#,
            "400 Bad Request: EAN-13 check digit of sku-7 is wrong",
            "400 validation failed",
        ),
        (400, r#"["no price","no title"]"#, "400 Bad Request: no price", "400 no price"),
        (
            400,
            r#"{"message":"<p>Sending is <b>not</b> allowed</p>"}"#,
            "400 Bad Request: Sending is not allowed",
            "400 Sending is not allowed",
        ),
        (500, r#"{"trace":"9f86d081","ok":false}"#, "500 Internal Server Error", "500 Internal Server Error"),
        (500, "{}", "500 Internal Server Error", "500 Internal Server Error"),
        // Cut off.
        (
            400,
            r#"{"code":17,"message":"The field price must be a num…"#,
            "400 Bad Request: The field price must be a num…",
            "400 The field price must be a num…",
        ),
        (
            422,
            r#"{"errors":[{"field":"price","message":"must be \"positive\"","doc":"https://x.te…"#,
            "422 Unprocessable Entity: must be \"positive\"",
            "422 must be \"positive\"",
        ),
        (
            400,
            r#"{"error":"validation_failed","items":[{"id":…"#,
            "400 Bad Request: validation_failed",
            "400 validation failed",
        ),
        (400, r#"{"trace":"9f86d081884c7d65","st…"#, "400 Bad Request", "400 Bad Request"),
        (400, r#"{"message":"…"#, "400 Bad Request", "400 Bad Request"),
        // Markup.
        (502, NGINX, "502 Bad Gateway", "502 Bad Gateway"),
        (
            503,
            "<!DOCTYPE html><html><head><style>p { x: 1 }</style><title>\nDown for maintenance &amp; repairs </title>",
            "503 Service Unavailable: Down for maintenance & repairs",
            "503 Down for maintenance & repairs",
        ),
        (
            409,
            "<script>if (a < b) { x(\"}\") }</script><!-- <b>no</b> --><div>Order &#39;7&#39; does <b>not</b> match</div><p>Bye</p>",
            "409 Conflict: Order '7' does not match",
            "409 Order '7' does not match",
        ),
        (500, SOAP, "500 Internal Server Error: Invalid order", "500 Invalid order"),
        (
            403,
            "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>Access is denied</Message>",
            "403 Forbidden: Access is denied",
            "403 Access is denied",
        ),
        // Plain text.
        (
            400,
            "unknown attribute: price",
            "400 Bad Request: unknown attribute: price",
            "400 unknown attribute: price",
        ),
        (
            500,
            "Something went wrong on our side. Please try again later!\n  at main.js:7",
            "500 Internal Server Error: Something went wrong on our side",
            "500 Something went wrong on our side",
        ),
        (504, "", "504 Gateway Timeout", "504 Gateway Timeout"),
    ];

    /// As delivery writes it.
    fn answered(status: i16, body: &str) -> String {
        let answered = format!("answered {}", status_words(status));
        if body.is_empty() { answered } else { format!("{answered}: {body}") }
    }

    #[test]
    fn an_answer_becomes_one_plain_sentence() {
        for &(status, body, whole, head) in ANSWERS {
            let error = answered(status, body);
            assert_eq!(sentence(&error, None), whole, "{error}");
            assert_eq!(sentence(body, Some(status)), whole, "{body}");
            assert_eq!(short(&error, None), head, "{error}");
        }
    }

    #[test]
    fn an_error_without_an_answer_is_its_first_sentence() {
        for (error, whole) in [
            ("no answer within 2 s", "no answer within 2 s"),
            ("The worker vanished.", "The worker vanished"),
            ("TLS: invalid peer certificate: UnknownIssuer", "TLS: invalid peer certificate: UnknownIssuer"),
            ("answered in no way", "answered in no way"),
            ("Error. The price is missing.", "Error. The price is missing"),
            ("first line\u{fffd}\u{7}\n\tsecond", "first line"),
            ("\n  \n- the third\n", "- the third"),
            (r#"Request failed: {"message":"no price"}"#, "Request failed: no price"),
            (r#"unexpected token in {"a":1} at 3"#, "unexpected token in"),
            ("{'error': 'no price'}", "no reason given"),
            ("expected {price} < 5", "expected (price) ‹ 5"),
            ("product <b>Blue shirt</b> is unknown", "product Blue shirt is unknown"),
            ("", "no reason given"),
            ("…", "no reason given"),
        ] {
            assert_eq!(sentence(error, None), whole, "{error}");
        }
        assert_eq!(sentence("", Some(599)), "599");
        assert_eq!(sentence(&"long ".repeat(500), None).chars().count(), MAX_CHARS + 1);
    }

    #[test]
    fn nothing_of_a_body_is_quoted_wherever_it_was_cut() {
        for &(status, body, ..) in ANSWERS {
            for (at, _) in body.char_indices() {
                let error = answered(status, &body[..at]);
                for error in [format!("{error}…"), body[..at].to_owned(), error] {
                    for cause in [sentence(&error, None), short(&error, None)] {
                        assert!(!cause.contains(['<', '{']) && !cause.contains('\n'), "{cause} of {error}");
                        assert!(!cause.is_empty() && cause.chars().count() <= MAX_CHARS + 1, "{cause}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_text_that_is_shown_whole_needs_no_click() {
        for (text, whole) in [
            ("connection refused", true),
            ("The worker vanished.", true),
            ("answered 503 Service Unavailable", true),
            ("answered 503 Service Unavailable: upstream is down", true),
            ("one\ntwo", false),
            (NGINX, false),
            (r#"answered 400 Bad Request: {"error":"bad"}"#, false),
        ] {
            assert_eq!(is_whole(text), whole, "{text}");
        }
    }
}
