//! The end of the process: the first signal asks for it, the second takes it.

use std::{io::Write as _, time::Duration};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code of a process that was told twice, as shells count signals.
const TOLD_TWICE: i32 = 130;

/// Watches SIGTERM and SIGINT: the first cancels `stop`, the second ends the process at once, and so does a shutdown that takes
/// longer than `patience` (a stuck loop must not keep a deployment waiting).
///
/// # Errors
/// When the signals cannot be watched.
pub fn watch(stop: CancellationToken, patience: Duration) -> std::io::Result<()> {
    let said = "stopping: running jobs get time to finish; a second signal ends at once";
    spawn(stop, patience, Some(said))
}

/// As [`watch`], for a command that says itself what its end means.
///
/// # Errors
/// When the signals cannot be watched.
pub fn watch_silently(stop: CancellationToken, patience: Duration) -> std::io::Result<()> {
    spawn(stop, patience, None)
}

fn spawn(stop: CancellationToken, patience: Duration, said: Option<&'static str>) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // A closed terminal would end the process at once and without order.
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        either(&mut terminate, &mut interrupt, &mut hang_up).await;
        // First act, then speak: a log that blocks or fails must not hold up the end.
        stop.cancel();
        start_watchdog(patience);
        if let Some(said) = said {
            tracing::info!("{said}");
        }
        either(&mut terminate, &mut interrupt, &mut hang_up).await;
        std::process::exit(TOLD_TWICE);
    });
    Ok(())
}

async fn either(terminate: &mut Signal, interrupt: &mut Signal, hang_up: &mut Signal) {
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hang_up.recv() => {}
    }
}

/// On a thread of its own: the runtime may be what is stuck.
fn start_watchdog(patience: Duration) {
    let watchdog = std::thread::Builder::new().name("shutdown-watchdog".into());
    let spawned = watchdog.spawn(move || {
        std::thread::sleep(patience);
        let _ =
            writeln!(std::io::stderr(), "headgate: not stopped after {} s: ending now", patience.as_secs());
        std::process::exit(1);
    });
    if let Err(error) = spawned {
        tracing::warn!("no watchdog for the shutdown: {error}");
    }
}
