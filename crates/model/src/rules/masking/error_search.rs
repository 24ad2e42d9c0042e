//! Search in errors by people who see them masked: only the text before the first value that may be secret is searched.
//!
//! These are regular expressions of Postgres, because jobs are searched, counted and changed there. They cut at least where `text.rs` masks, and
//! sometimes earlier: values of harmless names, and everything after a masked value, are not searched either. They use neither lookahead nor
//! lookbehind, which would take several times as long.

use super::{ANY, Masking, name};

/// With more marked fields, every name counts as marked.
const MAX_MARKED_NAMES: usize = 300;

/// Between a name and its value.
const TO_VALUE: &str = r#"["'\\]*[ \t]*[:=]"#;

/// Characters of a name, whatever the database's locale.
const OF_NAME: &str = "(?:[^[:space:][:punct:]]|[_-])";

impl Masking {
    /// The marked names whose values are masked in texts, in addition to the built-in ones.
    #[must_use]
    pub fn names_in_texts(&self) -> Vec<String> {
        let of_paths = self.paths.iter().filter_map(|path| path.iter().rev().find(|name| *name != ANY));
        let is_name = |name: &&String| name.chars().all(char::is_alphanumeric);
        self.anywhere.iter().chain(of_paths).filter(is_name).cloned().collect()
    }
}

/// Regular expressions that find the first secret of a text.
#[derive(Clone, Debug)]
pub struct FirstSecret {
    /// Cheap test: does not match most texts without a secret.
    pub suspicion: String,
    /// Matches the first value that may be secret and everything after it; its two groups are the text that leads to the value.
    pub from_first: String,
}

impl FirstSecret {
    /// For these marked names, in addition to the built-in ones.
    #[must_use]
    pub fn new(marked: &[String]) -> Self {
        let names: Vec<String> = marked.iter().map(|name| letters(name, "[_-]*")).collect();
        let of_marked = match names.len() {
            0 => String::new(),
            n if n > MAX_MARKED_NAMES => format!("|{OF_NAME}+"),
            _ => format!("|(?:^|[^[:alnum:]_-])[_-]*(?:{})[_-]*", names.join("|")),
        };
        let named = format!("(?:{}{of_marked}){TO_VALUE}", secret_names());
        let schemes = format!("(?:{}|{}) ", letters("bearer", ""), letters("basic", ""));
        let scheme = format!("(?:^|[^a-zA-Z0-9]){schemes}");
        let suspicion = if names.len() > MAX_MARKED_NAMES {
            format!("[:=]|{schemes}")
        } else {
            suspicious_words().iter().map(|word| letters(word, "")).chain(names).collect::<Vec<_>>().join("|")
        };
        Self { suspicion, from_first: format!("({named}).*|({scheme})[a-zA-Z0-9._~+/=-]{{8}}.*") }
    }
}

/// Every text with a built-in secret name has one of these words. None of them contains another.
fn suspicious_words() -> Vec<&'static str> {
    let whole = name::WORDS.iter().chain(&name::WHOLE).chain(&name::ENDINGS).copied();
    let mut words: Vec<&str> =
        whole.chain(name::PAIRS.iter().map(|(first, _)| *first)).chain(["basic"]).collect();
    words.sort_by_key(|word| word.len());
    words
        .iter()
        .enumerate()
        .filter(|(n, word)| !words[..*n].iter().any(|shorter| word.contains(shorter)))
        .map(|(_, word)| *word)
        .collect()
}

/// Names that contain a secret word as `name.rs` splits words: one begins after a non-letter or with a capital, and ends before anything but a small
/// letter.
fn secret_names() -> String {
    let begun = |word: &str| {
        let (first, rest) = word.split_at(1);
        let capital = first.to_uppercase();
        format!("(?:(?:^|[^[:alpha:]])[{first}{capital}]|{capital}){}", letters(rest, ""))
    };
    let of_words = name::WORDS.iter().chain(&name::WHOLE).map(|word| begun(word));
    let of_endings = name::ENDINGS.iter().map(|ending| letters(ending, ""));
    let of_pairs = name::PAIRS.iter().map(|(a, b)| format!("{}[^[:alpha:]]*{}", begun(a), letters(b, "")));
    let words: Vec<String> = of_words.chain(of_endings).chain(of_pairs).collect();
    let rest = format!("(?:(?:[^[:space:][:punct:][:lower:]]|[_-]){OF_NAME}*)?");
    format!("(?:{})[sS]?{rest}", words.join("|"))
}

/// Matches each letter in either case.
fn letters(word: &str, between: &str) -> String {
    let either = |c: char| match c.to_uppercase().next() {
        Some(capital) if capital != c => format!("[{c}{capital}]"),
        _ => c.to_string(),
    };
    word.chars().map(either).collect::<Vec<_>>().join(between)
}
