//! Writes a brotli and a gzip form next to each generated file, so that the server never compresses them itself.

use crate::{progress, workspace};
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Compresses all files of `dir` at the highest level: compressed once, sent often.
pub(crate) fn compress(dir: &Path) -> Result<()> {
    for file in workspace::files_below(dir)?.into_iter().filter(|file| !is_compressed(file)) {
        if is_fresh(&file) {
            continue;
        }
        let plain = fs::read(&file)?;
        let gzip = gzip(&plain).with_context(|| file.display().to_string())?;
        let brotli = brotli(&plain).with_context(|| file.display().to_string())?;
        fs::write(with_suffix(&file, "gz"), &gzip)?;
        fs::write(with_suffix(&file, "br"), &brotli)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        progress::note(&format!(
            "{name}: {} bytes, gzip {}, brotli {}",
            plain.len(),
            gzip.len(),
            brotli.len()
        ));
    }
    Ok(())
}

/// Whether both forms are newer than the file: the best compression of ten megabytes takes a minute.
fn is_fresh(file: &Path) -> bool {
    let modified = |file: &Path| fs::metadata(file).and_then(|metadata| metadata.modified()).ok();
    let Some(plain) = modified(file) else { return false };
    ["gz", "br"].iter().all(|suffix| modified(&with_suffix(file, suffix)).is_some_and(|at| at > plain))
}

/// Removes compressed forms of an earlier build: the server would send them instead of the fresh file.
pub(crate) fn remove_compressed(dir: &Path) -> Result<()> {
    for file in workspace::files_below(dir)?.into_iter().filter(|file| is_compressed(file)) {
        fs::remove_file(file)?;
    }
    Ok(())
}

fn gzip(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain)?;
    encoder.finish()
}

fn brotli(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressed = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut compressed, 1 << 16, 11, 22);
    encoder.write_all(plain)?;
    drop(encoder);
    Ok(compressed)
}

fn is_compressed(file: &Path) -> bool {
    file.extension().and_then(OsStr::to_str).is_some_and(|extension| matches!(extension, "br" | "gz"))
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn both_forms_unpack_to_the_original() {
        let plain = b"headgate ".repeat(500);
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(gzip(&plain).unwrap().as_slice()).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
        unpacked.clear();
        brotli::Decompressor::new(brotli(&plain).unwrap().as_slice(), 4096)
            .read_to_end(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, plain);
    }
}
