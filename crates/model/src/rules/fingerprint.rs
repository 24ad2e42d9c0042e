//! Groups errors of one cause: the message with everything that varies from case to case taken out.

use crate::id::IntegrationId;

/// The error without numbers, ids, quoted parts and addresses: errors of one cause read alike.
#[must_use]
pub fn normalise(message: &str) -> String {
    let mut normal = String::new();
    for word in message.split_whitespace().take(40) {
        let reduced = reduce(word);
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.push_str(&reduced);
        if normal.len() > 200 {
            break;
        }
    }
    normal
}

fn reduce(word: &str) -> String {
    let core = word.trim_matches(|c: char| !c.is_alphanumeric());
    let is_id = core.len() >= 8
        && core.bytes().any(|b| b.is_ascii_digit())
        && core.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if is_id || core.contains("://") {
        return "#".to_owned();
    }
    let mut reduced = String::new();
    let mut in_number = false;
    for c in word.chars().flat_map(char::to_lowercase) {
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
    reduced
}

/// A short stable name of a cause: integration, HTTP status and normalised message (FNV-1a, 64 bits, hexadecimal). Not a secret
/// and not a proof: two causes meeting in one group would only be shown together.
#[must_use]
pub fn fingerprint(integration_id: IntegrationId, response_status: Option<i16>, message: &str) -> String {
    let status = response_status.map_or_else(String::new, |status| status.to_string());
    let text = format!("{integration_id}\n{status}\n{}", normalise(message));
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_cause_read_alike() {
        for (one, other) in [
            ("Order 4711 not found", "order 12 not found"),
            ("timeout after 1.21 s", "timeout after 30.07 s"),
            ("no row 0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7", "no row 0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b8"),
            ("see https://x.test/a", "see https://y.test/b?c=1"),
        ] {
            assert_eq!(normalise(one), normalise(other));
        }
        assert_ne!(normalise("price missing"), normalise("title missing"));
    }

    #[test]
    fn integration_and_status_part_groups() {
        let (one, other) = (IntegrationId::generate(), IntegrationId::generate());
        assert_eq!(fingerprint(one, Some(400), "bad 1"), fingerprint(one, Some(400), "bad 2"));
        assert_ne!(fingerprint(one, Some(400), "bad"), fingerprint(other, Some(400), "bad"));
        assert_ne!(fingerprint(one, Some(400), "bad"), fingerprint(one, Some(422), "bad"));
    }
}
