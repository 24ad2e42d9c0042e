//! The files that each page's script needs, from the manifest of the build.

use super::site;
use app::state::page_files::PageFiles;
use std::collections::BTreeMap;

#[derive(Default, serde::Deserialize)]
struct Manifest {
    loader: Option<String>,
    pages: BTreeMap<String, Vec<String>>,
}

pub fn page_files() -> PageFiles {
    PageFiles {
        loader: || manifest().loader,
        of_page: |page| manifest().pages.remove(page).unwrap_or_default(),
    }
}

/// Read every time, because it has only a kilobyte and may have changed in a debug build. Without it pages load too, a little later.
fn manifest() -> Manifest {
    site::load("pkg/split.json").and_then(|file| serde_json::from_slice(&file.bytes).ok()).unwrap_or_default()
}
