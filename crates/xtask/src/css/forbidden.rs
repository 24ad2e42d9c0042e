//! Utilities that encre-css 0.21 accepts and gets wrong (measured against Tailwind's own output in Chromium).

/// Why a class must not be used although the generator knows it; `names` are all classes of the same list.
pub(super) fn reason(name: &str, names: &[String]) -> Option<&'static str> {
    let (variants, utility) = split_variants(name);
    let plain = utility.trim_start_matches(['-', '!']);
    if plain.starts_with("rotate-") {
        return Some("rotates about two axes; write [rotate:45deg]");
    }
    let is_outline_width = plain
        .strip_prefix("outline-")
        .is_some_and(|width| !width.is_empty() && width.chars().all(|c| c.is_ascii_digit()));
    if is_outline_width && !names.iter().any(|other| split_variants(other) == (variants, "outline")) {
        return Some("sets no outline style; add `outline` with the same variants");
    }
    None
}

/// `dark:hover:bg-x` → (`dark:hover:`, `bg-x`). A colon inside brackets belongs to the value.
fn split_variants(name: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    let mut cut = 0;
    for (at, character) in name.char_indices() {
        match character {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => cut = at + 1,
            _ => {}
        }
    }
    name.split_at(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_end_at_the_last_colon_outside_brackets() {
        assert_eq!(split_variants("dark:hover:bg-x"), ("dark:hover:", "bg-x"));
        assert_eq!(split_variants("[rotate:45deg]"), ("", "[rotate:45deg]"));
        assert_eq!(split_variants("data-[a:b]:p-1"), ("data-[a:b]:", "p-1"));
    }

    #[test]
    fn utilities_that_are_generated_wrong_are_refused() {
        assert!(reason("md:-rotate-45", &[]).is_some());
        assert!(reason("[rotate:45deg]", &[]).is_none());
        assert!(reason("focus-visible:outline-2", &[]).is_some());
        assert!(reason("focus-visible:outline-2", &["focus-visible:outline".to_owned()]).is_none());
        assert!(reason("outline-accent", &[]).is_none());
    }
}
