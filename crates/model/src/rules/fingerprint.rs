//! Groups errors by cause: removes everything from a message that varies between errors of one cause.

use crate::{failure::CauseId, id::IntegrationId};

/// Words of a message that are read, and characters that are kept of them: what comes later rarely names the cause.
const MAX_WORDS: usize = 40;
const MAX_CHARS: usize = 200;

/// Replaces numbers, units, times, ids, quoted parts and addresses by `#`, so that errors of one cause become equal.
#[must_use]
pub fn normalise(message: &str) -> String {
    let unquoted = without_quotes(message);
    let mut words: Vec<String> = Vec::new();
    let mut length = 0;
    for word in unquoted.split_whitespace().take(MAX_WORDS) {
        // Where an answer was cut depends on the length of its varying parts.
        if word.ends_with('…') {
            break;
        }
        let reduced = reduce(word);
        let last = words.last().map_or("", String::as_str);
        // A number and its unit, a date and its time, several ids in a row: these become one `#`.
        if last.ends_with('#') && (is_unit(&reduced) || reduced.trim_matches(is_frame) == "#") {
            continue;
        }
        length += reduced.len();
        words.push(reduced);
        if length > MAX_CHARS {
            break;
        }
    }
    words.join(" ")
}

/// Replaces quoted parts by `#`. In JSON, where all keys and values are quoted, including the cause, only the quotes are removed.
fn without_quotes(message: &str) -> String {
    let chars: Vec<char> = message.chars().take(4 * MAX_CHARS).collect();
    let mut text = String::with_capacity(chars.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let before = chars[..at].iter().rev().find(|c| !c.is_whitespace());
        let close = match c {
            '"' | '`' => Some(c),
            '“' => Some('”'),
            '«' => Some('»'),
            // Inside a word it is an apostrophe.
            '\'' | '‘' if at == 0 || !chars[at - 1].is_alphanumeric() => {
                Some(if c == '‘' { '’' } else { c })
            }
            _ => None,
        };
        let end =
            close.and_then(|close| chars[at + 1..].iter().position(|c| *c == close)).map(|n| at + 1 + n);
        let Some(end) = end else {
            text.push(c);
            at += 1;
            continue;
        };
        let after = chars[end + 1..].iter().find(|c| !c.is_whitespace());
        let is_json = matches!(before, Some(':' | '{' | '[' | ','))
            && matches!(after, Some(':' | '}' | ']' | ',') | None);
        if is_json {
            text.push(' ');
            text.extend(&chars[at + 1..end]);
            text.push(' ');
        } else {
            text.push('#');
        }
        at = end + 1;
    }
    text
}

/// Punctuation around a word.
fn is_frame(c: char) -> bool {
    !c.is_alphanumeric() && c != '#'
}

fn reduce(word: &str) -> String {
    let core = word.trim_matches(|c: char| !c.is_alphanumeric());
    if core.contains("://") || is_id(core) || is_mail(core) || has_port(core) {
        return word.replacen(core, "#", 1).chars().filter(|c| !c.is_alphanumeric()).collect();
    }
    let mut reduced = String::new();
    for part in split_keeping(word) {
        match part.chars().next() {
            Some(c) if c.is_alphanumeric() => push_part(&mut reduced, part),
            Some(c) => reduced.push(c),
            None => {}
        }
    }
    joined(&reduced)
}

/// Appends a run of letters and digits: as `#` if it is an id, otherwise with `#` for each number.
fn push_part(reduced: &mut String, part: &str) {
    if is_id(part) {
        reduced.push('#');
        return;
    }
    let mut in_number = false;
    for c in part.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_digit() {
            if !in_number {
                reduced.push('#');
            }
            in_number = true;
        } else {
            in_number = false;
            reduced.push(c);
        }
    }
    // `350ms`, `1.2kB`: the unit varies as well.
    if let Some(at) = reduced.rfind('#')
        && is_unit(&reduced[at + 1..])
    {
        reduced.truncate(at + 1);
    }
}

/// Merges numbers joined by a sign: dates, times, versions, addresses, ranges.
fn joined(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        out.push(c);
        at += 1;
        if c == '#' {
            while let (Some(sign), Some('#')) = (chars.get(at), chars.get(at + 1))
                && matches!(sign, '-' | ':' | '.' | ',' | '/' | '_' | '+' | 't' | 'x')
            {
                at += 2;
            }
            // The time zone.
            if matches!(chars.get(at..), Some(['z'])) {
                at += 1;
            }
        }
    }
    out
}

/// UUIDs, hashes, hexadecimal numbers, and letters mixed with digits: `ord_8f3kz92`, `AB-4711-X`.
fn is_id(core: &str) -> bool {
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    let is_plain = core.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let is_hex = core.len() >= 8 && core.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let switches =
        core.as_bytes().windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    let is_mixed = core.len() >= 6 && switches >= 3;
    let is_code = core.len() >= 5 && !core.bytes().any(|b| b.is_ascii_lowercase());
    is_plain && (is_hex && digits > 0 || (is_mixed || is_code) && digits >= 2)
}

fn is_mail(core: &str) -> bool {
    core.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
}

/// `shop-1.example.com:443`
fn has_port(core: &str) -> bool {
    core.rsplit_once(':').is_some_and(|(host, port)| {
        !port.is_empty()
            && port.bytes().all(|b| b.is_ascii_digit())
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
            && host.contains('.')
    })
}

fn is_unit(word: &str) -> bool {
    let word = word.trim_matches(is_frame);
    matches!(
        word,
        "ns" | "us"
            | "µs"
            | "ms"
            | "s"
            | "sec"
            | "secs"
            | "second"
            | "seconds"
            | "m"
            | "min"
            | "minute"
            | "minutes"
            | "h"
            | "hour"
            | "hours"
            | "d"
            | "day"
            | "days"
            | "b"
            | "byte"
            | "bytes"
            | "kb"
            | "mb"
            | "gb"
            | "kib"
            | "mib"
            | "gib"
    )
}

/// The runs of letters and digits of a word, and each character between them.
fn split_keeping(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if first.is_alphanumeric() {
            rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (part, left) = rest.split_at(end);
        rest = left;
        Some(part)
    })
}

/// The cause of an error, independent of the integration: a hash of HTTP status and normalised message (FNV-1a, 64 bits). It need not be
/// cryptographic: two causes with the same hash would only be shown together.
#[must_use]
pub fn cause_of(response_status: Option<i16>, message: &str) -> CauseId {
    let status = response_status.map_or_else(String::new, |status| status.to_string());
    let text = format!("{status}\n{}", normalise(message));
    CauseId(text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }))
}

/// The stable id of a cause in one integration. It begins with the cause, so that one index finds both.
#[must_use]
pub fn fingerprint(integration_id: IntegrationId, cause: CauseId) -> String {
    // The random end of a UUIDv7. `recover.sql` computes the same.
    let id = integration_id.to_string();
    format!("{cause}-{}", &id[id.len() - 12..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn messages_of_one_cause_become_equal() {
        for (one, other) in [
            ("Order 4711 not found", "order 12 not found"),
            ("timeout after 1.21 s", "timeout after 30.07 s"),
            ("timeout after 350ms", "timeout after 12 seconds"),
            ("no row 0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7", "no row 0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b8"),
            ("see https://x.test/a", "see https://y.test/b?c=1"),
            ("product \"Blue shirt\" is unknown", "product \"Mug, 0.3 l\" is unknown"),
            ("unknown customer 'Müller & Söhne'", "unknown customer 'ACME'"),
            ("locked since 2026-11-22T10:00:00Z", "locked since 2026-11-22 10:00:00.123+02:00"),
            ("trace 9f86d081884c7d65 lost", "trace 2c26b46b68ffc68f lost"),
            ("cannot reach 10.0.0.7:8080", "cannot reach shop-7.example.com:443"),
            ("no user a.b@example.com here", "no user zoe@mail.test here"),
            (r#"{"error":"sku AB-1234-X unknown","id":17}"#, r#"{"error":"sku CD-99-ZZ1 unknown","id":4}"#),
            ("0x7f3a crashed", "0x99bc1 crashed"),
            ("no price for the product wi…", "no price for the product with…"),
        ] {
            assert_eq!(normalise(one), normalise(other));
        }
    }

    #[test]
    fn different_causes_stay_different() {
        for (one, other) in [
            ("price missing", "title missing"),
            (r#"{"error":"price missing"}"#, r#"{"error":"title missing"}"#),
            ("can't read the shop's price", "can't read the shop's title"),
            ("attributes.price is wrong", "attributes.title is wrong"),
            ("utf8 expected", "utf16 refused"),
        ] {
            assert_ne!(normalise(one), normalise(other));
        }
    }

    /// Fills in varying parts, derived from a number.
    fn filled(template: &str, n: u64) -> String {
        let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hex = format!("{mixed:016x}");
        template
            .replace("{n}", &(mixed % 1_000_000).to_string())
            .replace(
                "{time}",
                &format!("2026-11-{:02}T{:02}:{:02}:07.{}Z", mixed % 28 + 1, n % 24, n % 60, n % 1_000),
            )
            .replace(
                "{uuid}",
                &format!("{}-{}-7{}-9{}-{}", &hex[..8], &hex[8..12], &hex[1..4], &hex[5..8], &hex[..12]),
            )
            .replace("{hex}", &hex)
            .replace(
                "{url}",
                &format!("https://shop-{}.example.com/v1/items/{}?page={}", n % 977, mixed % 9_999, n % 7),
            )
            .replace("{name}", ["Blue shirt", "Tea, green", "Mug 0.3", "Ünder & Söhne"][(mixed % 4) as usize])
            .replace("{ms}", &format!("{}.{}ms", mixed % 900, n % 10))
            .replace("{ip}", &format!("10.{}.{}.{}:{}", n % 256, mixed % 256, n % 17, 1_024 + mixed % 60_000))
    }

    #[test]
    fn a_hundred_thousand_failures_of_a_dozen_causes_make_a_dozen_groups() {
        let templates = [
            "answered 503: upstream {ip} timed out after {ms}",
            "answered 500: order {uuid} violates constraint {n}",
            "answered 422: product \"{name}\" has no price since {time}",
            r#"answered 400: {"error":"sku {n} is unknown","trace":"{hex}"}"#,
            r#"answered 400: {"error":"field price must be at most {n}","at":"{time}"}"#,
            "answered 404: {url} is not here",
            "no answer within {ms}",
            "connection refused: {ip}",
            "error sending request for url ({url}): dns error",
            "answered 409: version {n} of {uuid} is newer than {n}",
            "answered 401: token {hex} expired at {time}",
            "answered 413: body of {n} bytes is larger than {n} bytes",
        ];
        let causes: BTreeSet<_> =
            (0..100_000_u64).map(|n| normalise(&filled(templates[(n % 12) as usize], n))).collect();
        assert_eq!(causes.len(), templates.len(), "{causes:#?}");
    }

    #[test]
    fn integration_and_status_separate_groups_and_a_fingerprint_begins_with_the_cause() {
        let (one, other) = (IntegrationId::generate(), IntegrationId::generate());
        let bad = cause_of(Some(400), "bad 1");
        assert_eq!(bad, cause_of(Some(400), "bad 2"));
        assert_ne!(bad, cause_of(Some(422), "bad 1"));
        assert_ne!(fingerprint(one, bad), fingerprint(other, bad));
        assert!(fingerprint(one, bad).starts_with(&format!("{bad}-")));
        assert_eq!(bad.to_string().parse(), Ok(bad));
    }
}
