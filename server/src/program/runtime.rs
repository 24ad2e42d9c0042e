//! The async runtime of a command.

use super::open_files;
use std::future::Future;

/// Rendering a page recurses deeply: without optimisation it needs more than the default of 2 MB per thread. Only the part that is used takes
/// memory.
const STACK_BYTES: usize = 16 * 1024 * 1024;

pub(crate) fn block_on<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    open_files::raise_limit();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build()?;
    let result = runtime.block_on(command);
    // Does not wait for remaining tasks: a blocking read from a terminal would keep the process alive.
    runtime.shutdown_background();
    result
}
