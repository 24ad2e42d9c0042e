//! Names whose values are secret.

/// Words that make a name secret, anywhere in it; their plurals too.
pub(super) const WORDS: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "auth",
    "authorization",
    "authentication",
    "credential",
    "apikey",
    "iban",
    "cvv",
    "cvc",
    "otp",
    "jwt",
    "ssn",
];

/// Pairs of consecutive words that make a name secret.
pub(super) const PAIRS: [(&str, &str); 25] = [
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("master", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("license", "key"),
    ("session", "id"),
    ("session", "key"),
    ("set", "cookie"),
    ("session", "cookie"),
    ("credit", "card"),
    ("debit", "card"),
    ("payment", "card"),
    ("bank", "card"),
    ("card", "number"),
    ("card", "no"),
    ("card", "holder"),
    ("card", "code"),
    ("account", "number"),
    ("routing", "number"),
    ("bank", "account"),
    ("security", "code"),
    ("social", "security"),
    ("pin", "code"),
];

/// Secret only as the whole name: within others they mean something else (`graphics_card`, `safety_pin`).
pub(super) const WHOLE: [&str; 7] = ["card", "cards", "pin", "cookie", "cookies", "bearer", "signature"];

/// Endings of words written together: `accesstoken`, `dbpassword`.
pub(super) const ENDINGS: [&str; 6] = ["password", "passwd", "secret", "token", "apikey", "creditcard"];

/// A name with such a last word describes a secret, but does not contain it: `token_type`, `password_status`.
const HARMLESS: [&str; 10] =
    ["type", "kind", "status", "count", "length", "version", "algorithm", "brand", "policy", "at"];

/// Whether a value of this name is a secret.
#[must_use]
pub fn is_secret(name: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last() else { return false };
    if words.len() > 1 && HARMLESS.contains(&last.as_str()) {
        return false;
    }
    let is = |word: &str, one: &str| word == one || word.strip_suffix('s') == Some(one);
    (words.len() == 1 && WHOLE.contains(&last.as_str()))
        || words.iter().any(|word| {
            WORDS.iter().any(|one| is(word, one)) || ENDINGS.iter().any(|end| word.ends_with(end))
        })
        || words.windows(2).any(|two| PAIRS.iter().any(|(a, b)| two[0] == *a && is(&two[1], b)))
}

/// With one of these words, a header whose name ends in `key` contains an identifier and no credential.
const IDENTIFYING_KEYS: [&str; 9] = [
    "idempotency",
    "deduplication",
    "dedup",
    "partition",
    "routing",
    "ordering",
    "cache",
    "surrogate",
    "public",
];

/// Whether a header of this name authenticates: any key counts (`x-functions-key`, `ocp-apim-subscription-key`).
#[must_use]
pub fn authenticates(header: &str) -> bool {
    let words = words(header);
    let is_key = words.last().is_some_and(|word| word == "key")
        && !words.iter().any(|word| IDENTIFYING_KEYS.contains(&word.as_str()));
    is_key || is_secret(header)
}

/// Only letters and digits, in lower case: `customerEmail` and `customer_email` are one name.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name: `X-API-Key`, `apiKey`, `APIKey` and `api_key` have the same two.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let chars: Vec<char> = name.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied().unwrap_or('_');
        let after = chars.get(at + 1).copied().unwrap_or('_');
        let begins = c.is_uppercase() && (!before.is_uppercase() || after.is_lowercase());
        // Digits too: `token2` has the word `token`.
        let is_separator = !c.is_alphabetic();
        if (begins || is_separator) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let (false, Some(word)) = (is_separator, words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words_in_any_notation() {
        for name in ["api_key", "apiKey", "APIKey", "api-key", "Api Key", "api.key"] {
            assert_eq!(words(name), ["api", "key"], "{name}");
        }
        assert_eq!(words("HTTPProxyPassword2"), ["http", "proxy", "password"]);
        assert_eq!(words("__"), [""; 0]);
    }

    #[test]
    fn secret_names_are_recognised() {
        for name in [
            "password",
            "userPassword",
            "PASSWORD",
            "db-password",
            "passwords",
            "newPasswd",
            "token",
            "access_token",
            "refreshToken",
            "accesstoken",
            "token2",
            "secret",
            "client_secret",
            "clientSecrets",
            "authorization",
            "Proxy-Authorization",
            "auth",
            "x-api-key",
            "apikey",
            "APIKEY",
            "privateKey",
            "iban",
            "customerIBAN",
            "card",
            "card_number",
            "creditCard",
            "cvc",
            "pin",
            "otp",
            "set-cookie",
            "sessionId",
            "credentials",
            "signature",
        ] {
            assert!(is_secret(name), "{name}");
        }
    }

    #[test]
    fn headers_that_are_keys_authenticate() {
        for header in ["x-functions-key", "Ocp-Apim-Subscription-Key", "key", "X-Api-Key", "authorization"] {
            assert!(authenticates(header), "{header}");
        }
        for header in ["idempotency-key", "X-Idempotency-Key", "surrogate-key", "x-keyboard", "x-shop"] {
            assert!(!authenticates(header), "{header}");
        }
    }

    #[test]
    fn names_that_only_look_secret_are_shown() {
        for name in [
            "",
            "title",
            "price",
            "author",
            "secretary",
            "token_type",
            "passwordStatus",
            "graphics_card",
            "safety_pin",
            "key",
            "keyboard",
            "caliban",
            "discard",
            "compass",
            "tokenizer",
            "number",
            "security",
            "cookie_flavour",
            "spin",
            "ean",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
