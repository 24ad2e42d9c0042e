//! Finds dependencies that a crate names in its `Cargo.toml` and does not use.
//!
//! One is used when its name stands at the beginning of a path (`name::`), before a `!`, or after `use` in the sources that can see it. Comments
//! do not count.

use crate::{process, progress, workspace};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{fs, path::Path};

/// Used without being named: crate, dependency, and how.
const EXCEPTIONS: [(&str, &str, &str); 3] = [
    ("access", "tracing-subscriber", "by the tests' support that they share with queue"),
    ("insight", "futures", "by the tests' support that they share with queue"),
    ("insight", "tracing-subscriber", "by the tests' support that they share with queue"),
];

/// The error lists every unused dependency.
pub(crate) fn check() -> Result<()> {
    progress::step("unused dependencies", || {
        let out = process::cargo()
            .args(["metadata", "--locked", "--no-deps", "--format-version", "1"])
            .output()
            .context("cannot start cargo")?;
        let metadata: Value = serde_json::from_slice(&out.stdout)
            .with_context(|| String::from_utf8_lossy(&out.stderr).into_owned())?;
        let mut unused = Vec::new();
        for package in metadata["packages"].as_array().context("no packages")? {
            unused.extend(unused_of(package)?);
        }
        if !unused.is_empty() {
            bail!(
                "unused dependencies:\n  {}\n(remove them, or give crates/xtask/src/dependencies.rs the reason)",
                unused.join("\n  ")
            );
        }
        Ok(())
    })
}

/// `crate: dependency` for each unused dependency of a package, as `cargo metadata` describes it.
fn unused_of(package: &Value) -> Result<Vec<String>> {
    let name = package["name"].as_str().unwrap_or_default();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let folder = manifest.parent().context("a manifest without a folder")?;
    let mut sources = Vec::new();
    for file in workspace::files_below(folder)? {
        if file.extension().is_some_and(|extension| extension == "rs") {
            sources.push((file.strip_prefix(folder)?.to_path_buf(), fs::read_to_string(&file)?));
        }
    }
    let mut unused = Vec::new();
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let own_name = dependency["name"].as_str().unwrap_or_default();
        let called = dependency["rename"].as_str().unwrap_or(own_name).replace('-', "_");
        let kind = dependency["kind"].as_str().unwrap_or("normal");
        let is_exception = EXCEPTIONS.iter().any(|(krate, of, _)| (*krate, *of) == (name, own_name));
        let is_used = sources.iter().any(|(file, text)| may_use(kind, file) && uses(text, &called));
        if !is_used && !is_exception {
            unused.push(format!("{name}: {own_name} ({kind})"));
        }
    }
    // One that is listed for several targets is found several times.
    unused.dedup();
    Ok(unused)
}

/// Whether a dependency of this kind can be used in a file of the crate.
fn may_use(kind: &str, file: &Path) -> bool {
    match kind {
        "build" => file.ends_with("build.rs"),
        "dev" => true,
        _ => file.starts_with("src"),
    }
}

fn uses(source: &str, name: &str) -> bool {
    source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .any(|line| line.match_indices(name).any(|(at, _)| is_use(&line[..at], &line[at + name.len()..])))
}

/// Whether a name between these two parts of a line is a crate's.
fn is_use(before: &str, after: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = before.strip_suffix("r#").unwrap_or(before);
    if before.ends_with(is_of_word) || after.starts_with(is_of_word) {
        return false;
    }
    // `crate::name::x` is a module of our own.
    let is_inside_path =
        before.strip_suffix("::").is_some_and(|before| before.ends_with(|c| is_of_word(c) || c == '>'));
    let is_imported = before.trim_end().ends_with("use") && after.starts_with([';', ' ']);
    !is_inside_path && (after.starts_with("::") || after.starts_with('!') || is_imported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_macros_and_imports_are_uses() {
        for used in [
            "let id = uuid::Uuid::nil();",
            "use uuid::Uuid;",
            "pub use uuid;",
            "use uuid as ids;",
            "#[derive(uuid::Uuid)]",
            "fn f(id: &::uuid::Uuid) {}",
            "uuid!(\"x\")",
        ] {
            assert!(uses(used, "uuid"), "{used}");
        }
    }

    #[test]
    fn other_words_comments_and_own_modules_are_none() {
        for unused in [
            "    // uuid::Uuid is not used",
            "//! use uuid;",
            "let uuid = 1;",
            "my_uuid::Uuid",
            "uuid_of::<u8>()",
            "use crate::uuid::Uuid;",
            "Id::<u8>::uuid::x",
        ] {
            assert!(!uses(unused, "uuid"), "{unused}");
        }
    }

    #[test]
    fn a_dependency_counts_where_it_can_be_seen() {
        assert!(may_use("normal", Path::new("src/a.rs")) && !may_use("normal", Path::new("tests/a.rs")));
        assert!(may_use("dev", Path::new("tests/a.rs")) && may_use("dev", Path::new("src/a.rs")));
        assert!(may_use("build", Path::new("build.rs")) && !may_use("build", Path::new("src/a.rs")));
    }

    #[test]
    fn an_unused_dependency_of_a_crate_is_named() {
        let dependency = |name: &str| serde_json::json!({ "name": name, "kind": null, "rename": null });
        let package = serde_json::json!({
            "name": "xtask",
            "manifest_path": workspace::root().join("crates/xtask/Cargo.toml"),
            "dependencies": [dependency("anyhow"), dependency("encre-css"), dependency("left-pad")],
        });
        assert_eq!(unused_of(&package).unwrap(), ["xtask: left-pad (normal)"]);
    }
}
