//! Release builds: the files as they were when the program was built.

use super::SiteFile;
use axum::body::Bytes;
use flate2::read::GzDecoder;
use std::{
    borrow::Cow,
    collections::HashMap,
    io::Read as _,
    sync::{LazyLock, Mutex, PoisonError},
};

/// Wasm is embedded in its compressed forms alone, a third of its size together: every browser takes one of them.
#[derive(rust_embed::RustEmbed)]
#[folder = "../target/site"]
#[exclude = "*.wasm"]
#[exclude = "*.pack"]
struct Site;

pub(super) fn load(path: &str) -> Option<SiteFile> {
    let Some(file) = Site::get(path) else { return unpacked(path) };
    let bytes = match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    };
    Some(SiteFile { bytes, version: version(&file.metadata) })
}

pub(super) fn version_of(path: &str) -> Option<String> {
    let file = Site::get(path).or_else(|| Site::get(&format!("{path}.gz")))?;
    Some(version(&file.metadata))
}

fn version(of: &rust_embed::Metadata) -> String {
    of.sha256_hash().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// For the client that takes no compressed form: unpacked once.
fn unpacked(path: &str) -> Option<SiteFile> {
    static UNPACKED: LazyLock<Mutex<HashMap<String, Bytes>>> = LazyLock::new(Mutex::default);
    let packed = Site::get(&format!("{path}.gz"))?;
    let mut unpacked = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = match unpacked.get(path) {
        Some(bytes) => bytes.clone(),
        None => {
            let mut bytes = Vec::new();
            GzDecoder::new(&*packed.data).read_to_end(&mut bytes).ok()?;
            unpacked.entry(path.to_owned()).or_insert(bytes.into()).clone()
        }
    };
    Some(SiteFile { bytes, version: version(&packed.metadata) })
}
