//! Light, dark, or as the system: a cookie that the server reads, so that the first paint is right.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Name of the cookie. Its value is one of the words below and says nothing about the reader.
pub const COOKIE: &str = "headgate_theme";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    Light,
    Dark,
    #[default]
    System,
}

impl Theme {
    /// The value in cookie, form and `data-theme`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
            Self::System => "system",
        }
    }

    /// The value of `<html data-theme>`; none lets the style sheet ask the system.
    pub const fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Light => Some("light"),
            Self::Dark => Some("dark"),
            Self::System => None,
        }
    }

    /// The order of the switch: light → dark → system.
    pub const fn next(self) -> Self {
        match self {
            Self::Light => Self::Dark,
            Self::Dark => Self::System,
            Self::System => Self::Light,
        }
    }

    /// The choice in a `Cookie` header; anything else means no choice.
    pub fn from_cookie_header(header: &str) -> Self {
        header
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == COOKIE)
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or_default()
    }
}

/// The reader's choice on this page: the server provides it, the browser reads it from `<html data-theme>`.
pub fn current() -> RwSignal<Theme> {
    use_context::<RwSignal<Theme>>().unwrap_or_else(|| {
        let theme = RwSignal::new(use_context::<Theme>().unwrap_or_default());
        provide_context(theme);
        theme
    })
}

/// Applies a theme to the page in the browser.
pub fn apply(theme: Theme) {
    if let Some(root) = document().document_element() {
        let _ = match theme.attribute() {
            Some(word) => root.set_attribute("data-theme", word),
            None => root.remove_attribute("data-theme"),
        };
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a theme is light, dark or system")]
pub struct UnknownTheme;

impl FromStr for Theme {
    type Err = UnknownTheme;

    fn from_str(word: &str) -> Result<Self, UnknownTheme> {
        match word {
            "light" => Ok(Self::Light),
            "dark" => Ok(Self::Dark),
            "system" => Ok(Self::System),
            _ => Err(UnknownTheme),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Theme;

    /// CSS cannot combine a selector and a media query, so the dark values are written twice.
    #[test]
    fn both_rules_of_the_dark_theme_have_the_same_colours() {
        let css = include_str!("../../../style/base.css");
        let block = |selector: &str| {
            let start = css.find(selector).expect("the selector") + selector.len();
            let end = css[start..].find('}').expect("its end") + start;
            css[start..end].split_whitespace().collect::<Vec<_>>()
        };
        assert_eq!(block("\n  [data-theme=dark] {"), block(":root:not([data-theme]) {"));
    }

    #[test]
    fn the_cookie_header_has_the_theme_and_other_values_mean_system() {
        for (header, want) in [
            ("headgate_theme=dark", Theme::Dark),
            ("a=1; headgate_theme=light; b=2", Theme::Light),
            ("headgate_theme=system", Theme::System),
            ("headgate_theme=\"><script>", Theme::System),
            ("other_headgate_theme=dark", Theme::System),
            ("", Theme::System),
        ] {
            assert_eq!(Theme::from_cookie_header(header), want, "{header}");
        }
    }
}
