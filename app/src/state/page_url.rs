//! The address of a page as path and query, to change one parameter and keep the rest.

use super::base_path;
use leptos::prelude::*;
use leptos_router::hooks::use_location;

/// Prefixes of the parameters that carry the input of a refused form.
const DRAFTS: [&str; 2] = ["limits[", "draft["];

/// Parameters of one visit only: notices and dialogs.
const TRANSIENT: [&str; 5] = ["notice", "count", "skipped", "operation", "confirm"];

/// The path begins at the console's root, without the mount prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageUrl {
    path: String,
    pairs: Vec<(String, String)>,
}

impl PageUrl {
    /// Reads a path with or without a query.
    pub fn parse(url: &str) -> Self {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let pairs = serde_html_form::from_str(query).unwrap_or_default();
        Self { path: path.to_owned(), pairs }
    }

    /// Reads the form field that says where to go back to. Only paths of this console are accepted: an absolute URL or `//host` would be an
    /// open redirect, and browsers read `/<tab>/host` as `//host`.
    pub fn parse_back(url: &str) -> Self {
        let path = url.split('?').next().unwrap_or_default();
        let is_ours = path.starts_with('/')
            && !path.starts_with("//")
            && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
            && !url.contains(char::is_control);
        if is_ours { Self::parse(url) } else { Self::parse("/") }
    }

    /// The same page with a parameter set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.pairs.retain(|(own, _)| own != name);
        self.pairs.push((name.to_owned(), value.to_string()));
        self
    }

    /// The same page without a parameter.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.pairs.retain(|(own, _)| own != name);
        self
    }

    /// The same page without notices, dialogs and drafts.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.pairs.retain(|(own, _)| {
            !TRANSIENT.contains(&own.as_str()) && !DRAFTS.iter().any(|draft| own.starts_with(draft))
        });
        self
    }

    /// The first value of a parameter; an empty one counts as absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(own, value)| own == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// Every value of a parameter.
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.pairs.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str()).collect()
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn query(&self) -> String {
        let pairs: Vec<_> = self.pairs.iter().filter(|(_, value)| !value.is_empty()).collect();
        serde_html_form::to_string(pairs).unwrap_or_default()
    }

    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }
}

impl std::fmt::Display for PageUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let query = self.query();
        if query.is_empty() { f.write_str(&self.path) } else { write!(f, "{}?{query}", self.path) }
    }
}

pub fn current() -> Memo<PageUrl> {
    let location = use_location();
    let base = base_path::current();
    Memo::new(move |_| {
        let path = location.pathname.get();
        let path = path.strip_prefix(base.as_str()).unwrap_or(&path);
        let search = location.search.get();
        PageUrl::parse(&format!("{path}?{}", search.trim_start_matches('?')))
    })
}

#[cfg(test)]
mod tests {
    use super::PageUrl;

    #[test]
    fn one_parameter_changes_and_the_rest_stays() {
        let url = PageUrl::parse("/jobs?status=pending&q=a+b&cursor=c1");
        assert_eq!(
            url.clone().with("status", "failed").without("cursor").to_string(),
            "/jobs?q=a+b&status=failed"
        );
        assert_eq!(url.get("q"), Some("a b"));
        assert_eq!(
            PageUrl::parse("/jobs?status=&q=").to_string(),
            "/jobs",
            "empty fields of a form leave no trace"
        );
    }

    #[test]
    fn a_settled_address_has_no_notice_and_no_dialog() {
        let url = PageUrl::parse("/dead-letters?error=503&confirm=purge&notice=requeued&count=3");
        assert_eq!(url.settled().to_string(), "/dead-letters?error=503");
        let draft = PageUrl::parse("/integrations/1?window=7d&notice=invalid&limits%5Brequests%5D=x");
        assert_eq!(draft.settled().to_string(), "/integrations/1?window=7d");
    }

    #[test]
    fn going_back_never_leaves_the_console() {
        for evil in [
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "javascript:alert(1)",
            "",
            "/a\r\nb",
            "/\t/evil.example",
            "/\u{b}/evil.example",
            "/\0/evil.example",
            "/jobs?q=1\t",
            "/jobs\u{85}",
            "/\u{fc}",
            "\t//evil.example",
        ] {
            assert_eq!(PageUrl::parse_back(evil).to_string(), "/", "{evil}");
        }
        assert_eq!(PageUrl::parse_back("/jobs?q=1").to_string(), "/jobs?q=1");
        assert_eq!(PageUrl::parse_back("/jobs?q=ü%09\\").to_string(), "/jobs?q=%C3%BC%09%5C");
    }
}
