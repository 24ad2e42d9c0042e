//! The values a form was rendered with, sent along with it. A refused form gets back only the fields that the user changed. The others show
//! the current values, which somebody else may have changed meanwhile: saving the form again must not undo that.

use super::page_url::PageUrl;

/// The value of the hidden field.
pub fn field(values: &[(&str, &str)]) -> String {
    values.iter().fold(PageUrl::default(), |url, (name, value)| url.with(name, value)).query()
}

/// The value a field was rendered with.
pub fn value(drawn: &str, name: &str) -> Option<String> {
    PageUrl::parse(&format!("?{drawn}")).get(name).map(str::to_owned)
}

/// The typed values that differ from the rendered ones.
pub fn changed<'a>(drawn: &str, typed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let drawn = PageUrl::parse(&format!("?{drawn}"));
    typed.iter().copied().filter(|(name, value)| drawn.get(name).unwrap_or_default() != *value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_differ_are_changed() {
        let drawn = field(&[("name", "Ann & Bo"), ("role", "support"), ("is_disabled", "")]);
        let typed = |name, role, is_disabled| [("name", name), ("role", role), ("is_disabled", is_disabled)];
        assert_eq!(changed(&drawn, &typed("Ann & Bo", "support", "")), []);
        assert_eq!(
            changed(&drawn, &typed("", "support", "true")),
            [("name", ""), ("is_disabled", "true")],
            "also an emptied field"
        );
        assert_eq!(changed("", &[("name", "Ann")]), [("name", "Ann")], "a form without rendered values");
    }
}
