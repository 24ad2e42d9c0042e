//! Does without the split, for `make dev`: cutting costs more time than it saves a browser on the same machine.

use crate::workspace;
use anyhow::{Context, Result, ensure};
use std::fs;

/// Where the parts' functions are imported from until a loader is given.
const PLACEHOLDER: &str = "__wasm_split_placeholder__";

/// Stands for the loader.
const MODULE: &str = include_str!("unsplit.js");
const MODULE_FILE: &str = "unsplit.js";

/// Tells open pages that a build is finished.
const BUILD_FILE: &str = "build.txt";

/// Gives the script that wasm-bindgen wrote a module for the imports of parts, and removes the parts of an earlier build.
pub(crate) fn link() -> Result<()> {
    let pkg = workspace::pkg_dir();
    let script = pkg.join("headgate.js");
    fs::write(&script, linked(&fs::read_to_string(&script)?)?)?;
    fs::write(pkg.join(MODULE_FILE), MODULE)?;
    super::remove(&pkg)
}

/// The imports come from the module's default export: an object that has a function of any name.
fn linked(script: &str) -> Result<String> {
    let from = format!("from \"{PLACEHOLDER}\"");
    let mut linked = String::with_capacity(script.len());
    let mut is_linked = false;
    for line in script.split_inclusive('\n') {
        match line.strip_prefix("import * as ").and_then(|rest| rest.split_once(&from)) {
            Some((name, end)) => {
                linked += &format!("import {name}from \"./{MODULE_FILE}\"{end}");
                is_linked = true;
            }
            None => linked += line,
        }
    }
    ensure!(is_linked, "the script of wasm-bindgen has no import from {PLACEHOLDER}");
    Ok(linked)
}

/// Makes open pages reload.
pub(crate) fn announce_build() -> Result<()> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).context("the clock")?;
    fs::write(workspace::pkg_dir().join(BUILD_FILE), now.as_millis().to_string())?;
    Ok(())
}

/// Removes what only `make dev` needs.
pub(crate) fn remove() -> Result<()> {
    for file in [MODULE_FILE, BUILD_FILE] {
        let file = workspace::pkg_dir().join(file);
        if file.exists() {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_parts_come_from_the_module() {
        let script = "import * as import1 from \"__wasm_split_placeholder__\"\nlet x;\n";
        assert_eq!(linked(script).unwrap(), "import import1 from \"./unsplit.js\"\nlet x;\n");
        assert!(linked("let x;\n").is_err());
    }
}
