//! Splits the wasm into the part that every page starts with and packs that are downloaded when a page is first visited.
//!
//! The files of a split only fit each other: a part of another build would find its data at other addresses. So they are in
//! a folder named after the wasm they come from. A browser that still runs an older console does not find them, and
//! reloads the page.

mod packs;
mod strip;
pub(crate) mod unsplit;

use crate::workspace;
use anyhow::{Context, Result, anyhow};
use packs::Packs;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wasm_split_cli_support::Options;

/// The folder for the parts, in `pkg`.
const FOLDER: &str = "split";

/// The files each page needs: the server announces them to browsers before the console runs.
const MANIFEST: &str = "split.json";

/// Loads missing packs; the table of their contents is written above it.
const LOADER: &str = include_str!("load.js");

/// Splits `wasm` and returns its main part, the only one that wasm-bindgen has to process.
pub(crate) fn split(wasm: &Path) -> Result<PathBuf> {
    let pkg = workspace::pkg_dir();
    let input = fs::read(wasm)?;
    let folder = format!("{FOLDER}/{}", name_of(&input));
    remove(&pkg)?;
    unsplit::remove()?;
    let out = pkg.join(&folder);
    fs::create_dir_all(&out)?;
    let loader = format!("{folder}/load.js");
    let (main, parts) = cut(&input, wasm, &loader)?;
    let packs = Packs::of(&parts);
    for (pack, contents) in packs.iter() {
        let mut bytes = Vec::new();
        for part in contents {
            bytes.extend_from_slice(packs.part(part));
        }
        fs::write(out.join(format!("{pack}.pack")), bytes)?;
    }
    fs::write(pkg.join(&loader), script(&packs)?)?;
    let pages: BTreeMap<_, Vec<_>> = packs
        .pages()
        .map(|page| (page, packs.needed_by(page).map(|pack| format!("{folder}/{pack}.pack")).collect()))
        .collect();
    fs::write(pkg.join(MANIFEST), serde_json::to_vec(&json!({ "loader": loader, "pages": pages }))?)?;
    Ok(main)
}

/// Removes the parts and the manifest of an earlier build.
fn remove(pkg: &Path) -> Result<()> {
    if pkg.join(FOLDER).exists() {
        fs::remove_dir_all(pkg.join(FOLDER))?;
    }
    if pkg.join(MANIFEST).exists() {
        fs::remove_file(pkg.join(MANIFEST))?;
    }
    Ok(())
}

/// The file of the main part, and the parts that each page needs.
fn cut(input: &[u8], wasm: &Path, loader: &str) -> Result<(PathBuf, BTreeMap<String, Vec<packs::Part>>)> {
    let scratch = wasm.with_file_name("app_parts");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    // It writes a loader too, which would fetch each part separately, dozens of requests for a page. Ours replaces it.
    fs::create_dir_all(scratch.join(loader).parent().unwrap_or(&scratch))?;
    let main = scratch.join("main.wasm");
    let link_name = format!("./{loader}");
    let mut options = Options::new(input);
    options.output_dir = &scratch;
    options.main_out_path = &main;
    options.link_name = &link_name;
    let cut = wasm_split_cli_support::transform(options).map_err(|error| anyhow!("{error:#}"))?;
    let read = |name: &String| -> Result<packs::Part> {
        let bytes = fs::read(scratch.join(format!("{name}.wasm"))).with_context(|| name.clone())?;
        let bytes = strip::custom_sections(&bytes).with_context(|| name.clone())?;
        Ok(packs::Part { name: name.clone(), bytes })
    };
    let parts = cut
        .prefetch_map
        .iter()
        .map(|(page, parts)| Ok((page.clone(), parts.iter().map(read).collect::<Result<_>>()?)))
        .collect::<Result<_>>()?;
    Ok((main, parts))
}

/// The loader: the contents of the packs, how to load them, and a function for each page that the main part imports.
fn script(packs: &Packs) -> Result<String> {
    let contents: BTreeMap<_, Vec<_>> = packs
        .iter()
        .map(|(pack, parts)| (pack, parts.iter().map(|part| (part, packs.part(part).len())).collect()))
        .collect();
    let mut script = format!("const CONTENTS = {};\n{LOADER}", serde_json::to_string(&contents)?);
    for page in packs.pages() {
        let needed: Vec<_> = packs.needed_by(page).collect();
        script += &format!(
            "export const __wasm_split_load_{page} = loading({});\n",
            serde_json::to_string(&needed)?
        );
    }
    Ok(script)
}

fn name_of(wasm: &[u8]) -> String {
    Sha256::digest(wasm).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
