//! Release builds embed the files. They are in the binary (`main.rs`) and not in this library, which is compiled while they are still being
//! built.

use super::SiteFile;
use axum::body::Bytes;
use flate2::read::GzDecoder;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

/// Reads a file by its path in the site.
pub type ReadEmbedded = fn(&str) -> Option<rust_embed::EmbeddedFile>;

static EMBEDDED: OnceLock<ReadEmbedded> = OnceLock::new();

/// Sets the reader of the files, once, before any request.
pub fn embed(read: ReadEmbedded) {
    // A second call would set the same.
    let _ = EMBEDDED.set(read);
}

fn get(path: &str) -> Option<rust_embed::EmbeddedFile> {
    EMBEDDED.get().and_then(|read| read(path))
}

pub(super) fn load(path: &str) -> Option<SiteFile> {
    let Some(file) = get(path) else { return decompressed(path) };
    let bytes = match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    };
    Some(SiteFile { bytes, version: version(&file.metadata) })
}

pub(super) fn version_of(path: &str) -> Option<String> {
    let file = get(path).or_else(|| get(&format!("{path}.gz")))?;
    Some(version(&file.metadata))
}

fn version(of: &rust_embed::Metadata) -> String {
    of.sha256_hash().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

/// For clients that accept no compressed form: decompressed once and kept.
fn decompressed(path: &str) -> Option<SiteFile> {
    static DECOMPRESSED: LazyLock<Mutex<HashMap<String, Bytes>>> = LazyLock::new(Mutex::default);
    let compressed = get(&format!("{path}.gz"))?;
    let mut decompressed = DECOMPRESSED.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = match decompressed.get(path) {
        Some(bytes) => bytes.clone(),
        None => {
            let mut bytes = Vec::new();
            GzDecoder::new(&*compressed.data).read_to_end(&mut bytes).ok()?;
            decompressed.entry(path.to_owned()).or_insert(bytes.into()).clone()
        }
    };
    Some(SiteFile { bytes, version: version(&compressed.metadata) })
}
