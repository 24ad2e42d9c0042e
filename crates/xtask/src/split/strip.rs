//! Removes from a part what browsers do not need: names and notes of the compiler are half of it.

use anyhow::{Result, ensure};

/// `\0asm` and the version.
const PREAMBLE: usize = 8;

/// The id of sections without meaning for running the module.
const CUSTOM: u8 = 0;

/// The module without its custom sections.
pub(super) fn custom_sections(wasm: &[u8]) -> Result<Vec<u8>> {
    ensure!(wasm.starts_with(b"\0asm") && wasm.len() >= PREAMBLE, "no wasm module");
    let (preamble, mut rest) = wasm.split_at(PREAMBLE);
    let mut kept = preamble.to_vec();
    while let Some((id, after_id)) = rest.split_first() {
        let (length, head) = leb128(after_id)?;
        let end = 1 + head + length;
        ensure!(end <= rest.len(), "a section beyond the module's end");
        let (section, next) = rest.split_at(end);
        if *id != CUSTOM {
            kept.extend_from_slice(section);
        }
        rest = next;
    }
    Ok(kept)
}

/// A number, and the length of its encoding in bytes.
fn leb128(bytes: &[u8]) -> Result<(usize, usize)> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok((value, at + 1));
        }
    }
    anyhow::bail!("a length without an end")
}

#[cfg(test)]
mod tests {
    use super::custom_sections;

    #[test]
    fn names_are_removed_and_code_is_kept() {
        let module = b"\0asm\x01\0\0\0\x00\x05\x04nameX\x0a\x81\x00C";
        assert!(custom_sections(module).is_err(), "the section's length is wrong by one");
        let module = b"\0asm\x01\0\0\0\x00\x06\x04nameX\x0a\x81\x00C";
        assert_eq!(custom_sections(module).unwrap(), b"\0asm\x01\0\0\0\x0a\x81\x00C");
        assert!(custom_sections(b"no module").is_err());
    }
}
