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
mod tests;
