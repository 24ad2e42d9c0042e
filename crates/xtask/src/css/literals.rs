//! Finds the class names written in a Rust source.
//!
//! It searches the places where a string can only be a list of classes: `class="…"` and props named like it,
//! `class:name=`, `let class = …`, the body of a function whose name contains `class`, and constants named `…CLASS…`.
//! It works on Rust's tokens, so comments, other strings and text in views do not confuse it.

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// The class names of one string literal.
#[derive(Debug, PartialEq)]
pub(super) struct ClassList {
    pub(super) line: usize,
    pub(super) names: Vec<String>,
}

/// All class lists of a source file, in order; fails when it is not Rust.
pub(super) fn class_lists(source: &str) -> Result<Vec<ClassList>> {
    let stream: TokenStream = source.parse().map_err(|error| anyhow!("not Rust: {error}"))?;
    let mut found = Vec::new();
    search(stream, &mut found);
    Ok(found)
}

fn search(stream: TokenStream, found: &mut Vec<ClassList>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let Some(end) = class_place(&tokens, at, found) {
            at = end;
            continue;
        }
        if let TokenTree::Group(group) = &tokens[at] {
            search(group.stream(), found);
        }
        at += 1;
    }
}

/// If a place for classes begins at `at`, takes its literals and returns where to continue.
fn class_place(tokens: &[TokenTree], at: usize, found: &mut Vec<ClassList>) -> Option<usize> {
    let name = ident(tokens.get(at)?)?;
    match name.as_str() {
        "fn" if ident(tokens.get(at + 1)?)?.contains("class") => {
            let body = (at..tokens.len()).find(|i| is_group(&tokens[*i], Delimiter::Brace))?;
            take_strings(&tokens[body..=body], found);
            return Some(body + 1);
        }
        "const" | "static" if ident(tokens.get(at + 1)?)?.contains("CLASS") => {
            let end = (at..tokens.len()).find(|i| is_punct(&tokens[*i], ';'))?;
            take_strings(&tokens[at..end], found);
            return Some(end);
        }
        _ => {}
    }
    if !(name == "class" || name == "classes" || name.ends_with("_class") || name.ends_with("_classes")) {
        return None;
    }
    if is_assignment(tokens, at + 1) {
        let end = end_of_value(tokens, at + 2);
        take_strings(&tokens[at + 2..end], found);
        return Some(end);
    }
    if is_punct(tokens.get(at + 1)?, ':') && !is_declaration(tokens, at) {
        return directive(tokens, at + 2, found);
    }
    None
}

/// `class:font-bold=…` spells a class name in tokens; `class: "…"` is a field.
fn directive(tokens: &[TokenTree], start: usize, found: &mut Vec<ClassList>) -> Option<usize> {
    if let TokenTree::Literal(_) = tokens.get(start)? {
        take_strings(&tokens[start..=start], found);
        return Some(start + 1);
    }
    let mut name = String::new();
    for (offset, token) in tokens[start..].iter().enumerate() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '=' && !name.is_empty() => {
                found.push(ClassList { line: token.span().start().line, names: vec![name] });
                return Some(start + offset);
            }
            TokenTree::Ident(_) | TokenTree::Literal(_) => name.push_str(&token.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == '-' => name.push('-'),
            _ => return None,
        }
    }
    None
}

/// Where the value after `class=` ends: at the next attribute, the end of the tag or the end of the statement.
fn end_of_value(tokens: &[TokenTree], start: usize) -> usize {
    (start..tokens.len())
        .find(|at| match &tokens[*at] {
            TokenTree::Punct(punct) if punct.as_char() == ';' => true,
            TokenTree::Punct(punct) if punct.as_char() == '/' => {
                tokens.get(at + 1).is_some_and(|t| is_punct(t, '>'))
            }
            TokenTree::Punct(punct) if punct.as_char() == '>' => {
                *at == start
                    || !matches!(&tokens[at - 1], TokenTree::Punct(p) if matches!(p.as_char(), '=' | '-'))
            }
            TokenTree::Ident(_) => {
                is_assignment(tokens, at + 1)
                    || tokens.get(at + 1).is_some_and(|t| is_punct(t, ':') && *at > start)
            }
            _ => false,
        })
        .unwrap_or(tokens.len())
}

/// Takes the literals of a value, except those that are no classes: patterns, compared strings, arguments of calls.
fn take_strings(tokens: &[TokenTree], found: &mut Vec<ClassList>) {
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Literal(literal) => {
                let before = at.checked_sub(1).map(|i| &tokens[i]);
                let after = tokens.get(at + 1);
                let is_compared =
                    before.is_some_and(|t| is_punct(t, '=')) && at > 1 && is_operator(&tokens[at - 2]);
                let is_pattern =
                    after.is_some_and(|t| is_punct(t, '=') || is_punct(t, '|') || is_punct(t, '!'));
                if !is_compared
                    && !is_pattern
                    && let Some(text) = text_of(&literal.to_string())
                {
                    let names = text.split_whitespace().map(str::to_owned).collect();
                    found.push(ClassList { line: literal.span().start().line, names });
                }
            }
            TokenTree::Group(group) => {
                let called = at.checked_sub(1).and_then(|i| ident(&tokens[i]));
                let is_call = group.delimiter() == Delimiter::Parenthesis
                    && called.is_some_and(|name| {
                        !matches!(name.as_str(), "Some" | "if" | "match" | "else" | "in")
                    });
                if !is_call {
                    take_strings(&group.stream().into_iter().collect::<Vec<_>>(), found);
                }
            }
            _ => {}
        }
    }
}

/// The value of a string literal; none for numbers, bytes and characters.
fn text_of(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let raw = raw.trim_matches('#');
        return Some(raw.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            // A backslash before the end of a line joins it with the next; between class names that is a space.
            '\\' => match characters.next() {
                Some('n' | 't' | 'r' | '\n') => text.push(' '),
                Some(escaped) => text.push(escaped),
                None => {}
            },
            other => text.push(other),
        }
    }
    Some(text)
}

fn ident(token: &TokenTree) -> Option<String> {
    if let TokenTree::Ident(ident) = token { Some(ident.to_string()) } else { None }
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}

fn is_operator(token: &TokenTree) -> bool {
    is_punct(token, '=') || is_punct(token, '!')
}

/// A single `=`, neither `==` nor `=>`.
fn is_assignment(tokens: &[TokenTree], at: usize) -> bool {
    match tokens.get(at) {
        Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {
            punct.spacing() == Spacing::Alone
                || !tokens.get(at + 1).is_some_and(|next| is_punct(next, '=') || is_punct(next, '>'))
        }
        _ => false,
    }
}

/// `let class: &str = …` declares a variable; the name after the colon is a type.
fn is_declaration(tokens: &[TokenTree], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|i| ident(&tokens[i]))
        .is_some_and(|word| matches!(word.as_str(), "let" | "mut"))
}

#[cfg(test)]
mod tests {
    use super::class_lists;

    #[track_caller]
    fn finds(source: &str, expected: &[&str]) {
        let found: Vec<String> =
            class_lists(source).unwrap().into_iter().flat_map(|list| list.names).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn an_attribute_in_a_view_is_a_class_list() {
        finds(r#"view! { <p class="text-sm mt-2" id="x">"flex words"</p> }"#, &["text-sm", "mt-2"]);
        finds(r#"view! { <Icon class="size-4"/> }"#, &["size-4"]);
        finds(r#"view! { <Tile label_class="muted" title="grid"/> }"#, &["muted"]);
    }

    #[test]
    fn both_branches_of_a_condition_are_class_lists() {
        finds(
            r#"view! { <p class=move || if open.get() { "block" } else { "hidden" } title="flex">"x"</p> }"#,
            &["block", "hidden"],
        );
    }

    #[test]
    fn conditional_classes_are_found_in_both_spellings() {
        finds(r#"view! { <p class:font-bold=move || on.get()/> }"#, &["font-bold"]);
        finds(r#"view! { <p class=("mt-0.5", move || on.get())/> }"#, &["mt-0.5"]);
    }

    #[test]
    fn patterns_compared_strings_and_arguments_are_no_classes() {
        finds(
            r#"fn class(s: &str) -> &str { match s { "busy" => "animate-spin", _ => "" } }"#,
            &["animate-spin"],
        );
        finds(r#"fn class(s: &str) -> &str { if s == "busy" { "a" } else { "b" } }"#, &["a", "b"]);
        finds(r#"view! { <p class=move || names.get("key")/> }"#, &[]);
        finds(r#"view! { <p class=move || format!("pill {}", tone())/> }"#, &["pill", "{}"]);
    }

    #[test]
    fn variant_tables_are_class_lists() {
        finds(
            r#"const BUTTON_CLASS: &str = "inline-flex gap-1"; const OTHER: &str = "grid";"#,
            &["inline-flex", "gap-1"],
        );
        finds(r#"let class = match x { A => "a1", B => "b1" }; let other = "c";"#, &["a1", "b1"]);
    }

    #[test]
    fn a_type_after_the_name_is_no_class() {
        finds("fn f(class: Option<String>) { let class: Tone = tone(); }", &[]);
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let lists = class_lists("// first\n\nview! { <p class=\"mt-1\"/> }").unwrap();
        assert_eq!(lists[0].line, 3);
    }
}
