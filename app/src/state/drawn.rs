//! What a form was drawn with, sent along with it. A form that was refused gets back only what was changed in it: the rest shows what
//! holds now, which somebody else may have changed meanwhile, and saving again would take that back.

use super::page_url::PageUrl;

/// The value of the hidden field.
pub fn field(values: &[(&str, &str)]) -> String {
    values.iter().fold(PageUrl::default(), |url, (name, value)| url.with(name, value)).query()
}

/// What stood in a field.
pub fn value(drawn: &str, name: &str) -> Option<String> {
    PageUrl::parse(&format!("?{drawn}")).get(name).map(str::to_owned)
}

/// What was typed in place of what the form was drawn with.
pub fn changed<'a>(drawn: &str, typed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let drawn = PageUrl::parse(&format!("?{drawn}"));
    typed.iter().copied().filter(|(name, value)| drawn.get(name).unwrap_or_default() != *value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_was_changed() {
        let drawn = field(&[("name", "Ann & Bo"), ("role", "support"), ("is_disabled", "")]);
        let typed = |name, role, is_disabled| [("name", name), ("role", role), ("is_disabled", is_disabled)];
        assert_eq!(changed(&drawn, &typed("Ann & Bo", "support", "")), []);
        assert_eq!(
            changed(&drawn, &typed("", "support", "true")),
            [("name", ""), ("is_disabled", "true")],
            "also what was emptied"
        );
        assert_eq!(changed("", &[("name", "Ann")]), [("name", "Ann")], "of a form that says nothing");
    }
}
