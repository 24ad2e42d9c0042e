//! `headgate`: API, console and workers in one binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    server::cli::main()
}
