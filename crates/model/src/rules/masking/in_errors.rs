//! Who reads errors masked must not find them by what is masked: a text is looked for in what stands before the first value that may be.
//!
//! Said as regular expressions of Postgres, for jobs are found, counted and changed there. They cut at least where `text.rs` masks, and now
//! and then sooner: what harmless names tell and what follows a masked value is not looked through either. They look neither ahead nor
//! behind, which would take several times as long.

use super::{ANY, Masking, name};

/// More marked fields than that are not told apart: every name may be one of them.
const MOST_TOLD_APART: usize = 300;

/// What may stand between a name and its `:` or `=`.
const TO_VALUE: &str = r#"["'\\]*[ \t]*[:=]"#;

/// Characters of a name, wherever the database has its letters from.
const OF_NAME: &str = "(?:[^[:space:][:punct:]]|[_-])";

impl Masking {
    /// The marked names whose values are masked in texts, besides those that are secret by their nature.
    #[must_use]
    pub fn names_in_texts(&self) -> Vec<String> {
        let of_paths = self.paths.iter().filter_map(|path| path.iter().rev().find(|name| *name != ANY));
        let is_name = |name: &&String| name.chars().all(char::is_alphanumeric);
        self.anywhere.iter().chain(of_paths).filter(is_name).cloned().collect()
    }
}

/// How texts are looked through as far as they are shown, in regular expressions.
#[derive(Clone, Debug)]
pub struct AsShown {
    /// Cheap: finds nothing in most texts of which nothing is masked.
    pub suspicion: String,
    /// Finds the first value of a text that may be masked, and all that follows; its two groups are what leads to the value.
    pub from_first: String,
}

impl AsShown {
    /// For names that are marked besides those that are secret by their nature.
    #[must_use]
    pub fn new(marked: &[String]) -> Self {
        let names: Vec<String> = marked.iter().map(|name| letters(name, "[_-]*")).collect();
        let of_marked = match names.len() {
            0 => String::new(),
            n if n > MOST_TOLD_APART => format!("|{OF_NAME}+"),
            _ => format!("|(?:^|[^[:alnum:]_-])[_-]*(?:{})[_-]*", names.join("|")),
        };
        let named = format!("(?:{}{of_marked}){TO_VALUE}", secret_names());
        let schemes = format!("(?:{}|{}) ", letters("bearer", ""), letters("basic", ""));
        let scheme = format!("(?:^|[^a-zA-Z0-9]){schemes}");
        let suspicion = if names.len() > MOST_TOLD_APART {
            format!("[:=]|{schemes}")
        } else {
            telling().iter().map(|word| letters(word, "")).chain(names).collect::<Vec<_>>().join("|")
        };
        Self { suspicion, from_first: format!("({named}).*|({scheme})[a-zA-Z0-9._~+/=-]{{8}}.*") }
    }
}

/// Words of which a text has one when something secret by its name is in it; none is within another.
fn telling() -> Vec<&'static str> {
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

/// Names with words as `name.rs` reads them: these begin after what is no letter or with a capital, and end before what is no small letter.
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

/// Each letter small or capital.
fn letters(word: &str, between: &str) -> String {
    let either = |c: char| match c.to_uppercase().next() {
        Some(capital) if capital != c => format!("[{c}{capital}]"),
        _ => c.to_string(),
    };
    word.chars().map(either).collect::<Vec<_>>().join(between)
}
