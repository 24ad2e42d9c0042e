//! What real systems answered, whole and cut at every character.

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
