//! Stops the build at a class that generates nothing, which nobody would notice otherwise; names file, line and class.

use super::{Source, forbidden, generate, literals};
use anyhow::{Result, bail};
use encre_css::Config;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The error lists every class that neither the generator nor `base` knows, and every one that is generated wrong.
pub(super) fn check(sources: &[Source], base: &str, config: &Config) -> Result<()> {
    let mut known = KnownClasses::new(base, config);
    let mut faults = String::new();
    for source in sources {
        for list in literals::class_lists(&source.text)? {
            for name in &list.names {
                if let Some(fault) = known.fault(name, &list.names) {
                    let _ = writeln!(faults, "  {}:{}: `{name}` {fault}", source.file.display(), list.line);
                }
            }
        }
    }
    if !faults.is_empty() {
        bail!(
            "class names:\n{faults}(a class must be a utility of style/tailwind.toml or defined in style/base.css)"
        );
    }
    Ok(())
}

/// Knows which classes exist, and asks the generator once for each name.
struct KnownClasses {
    config: Config,
    of_base: BTreeSet<String>,
    generated: BTreeMap<String, bool>,
}

impl KnownClasses {
    fn new(base: &str, config: &Config) -> Self {
        let mut config = generate::without_reset(config);
        config.safelist = Default::default();
        Self { config, of_base: classes_of(base), generated: BTreeMap::new() }
    }

    fn fault(&mut self, name: &str, siblings: &[String]) -> Option<&'static str> {
        if name.contains(['{', '}']) {
            // A `{}` that is a whole name stands for names that are written, and checked, elsewhere.
            let is_placeholder = name.starts_with('{') && name.ends_with('}');
            return (!is_placeholder)
                .then_some("is put together at run time: write the whole name in a literal");
        }
        if self.of_base.contains(name) || is_marker(name) {
            return None;
        }
        if let Some(reason) = forbidden::reason(name, siblings) {
            return Some(reason);
        }
        let config = &self.config;
        let is_generated = *self
            .generated
            .entry(name.to_owned())
            .or_insert_with(|| !encre_css::generate([name], config).trim().is_empty());
        (!is_generated).then_some("generates nothing")
    }
}

/// `group` and `peer` have no style of their own: variants of other elements refer to them.
fn is_marker(name: &str) -> bool {
    let word = name.split('/').next().unwrap_or(name);
    matches!(word, "group" | "peer" | "dark")
}

/// The class selectors of a style sheet.
fn classes_of(css: &str) -> BTreeSet<String> {
    let mut classes = BTreeSet::new();
    let mut rest = css;
    while let Some(at) = rest.find(['.', '/']) {
        let (found, after) = rest[at..].split_at(1);
        if found == "/" {
            // Skips comments, which may contain file names and versions.
            rest = after
                .strip_prefix('*')
                .map_or(after, |comment| comment.split_once("*/").map_or("", |(_, css)| css));
            continue;
        }
        let end = after
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))
            .unwrap_or(after.len());
        let name = &after[..end];
        if name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '_')) {
            classes.insert(name.to_owned());
        }
        rest = &after[end..];
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn verdict(view: &str) -> Result<()> {
        let source = Source { file: "app/src/page.rs".into(), text: format!("view! {{ {view} }}") };
        check(&[source], "/* see a.b */ .tile:hover > .num { margin: .5rem }", &Config::default())
    }

    #[test]
    fn utilities_and_classes_of_the_base_sheet_pass() {
        verdict(r#"<p class="tile num md:hover:bg-sky-700 group peer/name w-[calc(100%-2rem)] mt-0.5"/>"#)
            .unwrap();
    }

    #[test]
    fn a_class_that_generates_nothing_is_named_with_its_file_and_line() {
        let error = verdict(r#"<p class="flex txet-sm"/>"#).unwrap_err().to_string();
        assert!(error.contains("app/src/page.rs:1: `txet-sm` generates nothing"), "{error}");
        assert!(!error.contains("`flex`"), "{error}");
    }

    #[test]
    fn a_name_put_together_at_run_time_is_refused_and_a_whole_placeholder_is_not() {
        assert!(verdict(r#"<p class=format!("bg-{tone}-500")/>"#).is_err());
        verdict(r#"<p class=format!("flex {tone}")/>"#).unwrap();
    }

    #[test]
    fn numbers_and_comments_of_the_base_sheet_are_no_classes() {
        let classes =
            classes_of("/* x.y */ .a-b.c_d{margin:.5rem;background:url(x)} @media (min-width:1.5em){.e{}}");
        assert_eq!(classes.into_iter().collect::<Vec<_>>(), ["a-b", "c_d", "e"]);
    }
}
