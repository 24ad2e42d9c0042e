//! `headgate`: API, console and workers in one binary.

use std::process::ExitCode;

/// Thousands of short tasks a second are a fifth cheaper than with the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The console's files. Wasm is embedded in its compressed forms alone, a third of its size together: every browser takes one of them.
#[cfg(not(debug_assertions))]
#[derive(rust_embed::RustEmbed)]
#[folder = "../target/site"]
#[exclude = "*.wasm"]
#[exclude = "*.pack"]
struct Site;

/// Which files these are: `cargo xtask build` says so, so that another one beside them is noticed.
#[cfg(not(debug_assertions))]
const _: Option<&str> = option_env!("HEADGATE_SITE");

fn main() -> ExitCode {
    #[cfg(not(debug_assertions))]
    server::console_files::embed(<Site as rust_embed::RustEmbed>::get);
    server::cli::main()
}
