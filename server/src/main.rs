//! `headgate`: API, console and workers in one binary.

use std::process::ExitCode;

/// Thousands of short tasks a second are a fifth cheaper than with the C library's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    server::cli::main()
}
