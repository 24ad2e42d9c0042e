//! Errors on standard error.

use std::io::{self, Write as _};

/// Prints one line to standard error, which may be closed.
pub(crate) fn print_error(line: &str) {
    let _ = writeln!(io::stderr(), "headgate: {line}");
}
