//! The runtime a command runs in.

use super::open_files;
use std::future::Future;

/// Rendering a page goes deep: built without optimisation it needs more than the 2 MB a thread has by default. Only what is used takes
/// memory.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Runs a command to its end.
///
/// # Errors
/// The command's own, and when no thread can be started.
pub(crate) fn block_on<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    open_files::raise_limit();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build()?;
    let result = runtime.block_on(command);
    // What still runs has had its time; a blocking read of a terminal would otherwise keep the process.
    runtime.shutdown_background();
    result
}
