//! `headgate`: API, console and workers in one binary.

use std::process::ExitCode;

/// With thousands of short tasks a second a fifth cheaper than the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The console's files. Wasm is embedded only in its compressed forms, together a third of its size: every browser accepts one of them.
#[cfg(not(debug_assertions))]
#[derive(rust_embed::RustEmbed)]
#[folder = "../target/site"]
#[exclude = "*.wasm"]
#[exclude = "*.pack"]
struct Site;

/// Identifies the console's files: `cargo xtask build` sets it, so that Cargo notices when they change and compiles this again.
#[cfg(not(debug_assertions))]
const _: Option<&str> = option_env!("HEADGATE_SITE");

fn main() -> ExitCode {
    #[cfg(not(debug_assertions))]
    server::console_files::embed(<Site as rust_embed::RustEmbed>::get);
    server::cli::main()
}
