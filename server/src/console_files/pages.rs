//! What a page's script is made of, as the build wrote it down.

use super::site;
use app::state::page_files::PageFiles;
use std::collections::BTreeMap;

#[derive(Default, serde::Deserialize)]
struct Manifest {
    loader: Option<String>,
    pages: BTreeMap<String, Vec<String>>,
}

/// Which files the console's pages need.
pub fn page_files() -> PageFiles {
    PageFiles {
        loader: || manifest().loader,
        of_page: |page| manifest().pages.remove(page).unwrap_or_default(),
    }
}

/// Read anew each time: it is a kilobyte, and a debug build's may have changed. Without it pages load all the same, a
/// little later.
fn manifest() -> Manifest {
    site::load("pkg/split.json").and_then(|file| serde_json::from_slice(&file.bytes).ok()).unwrap_or_default()
}
