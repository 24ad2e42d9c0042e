//! Signals: the first one starts the shutdown, the second one ends the process at once.

use std::{io::Write as _, time::Duration};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code after the second signal: 128 + SIGINT, as in shells.
const EXIT_SECOND_SIGNAL: i32 = 130;

/// Watches SIGTERM, SIGINT and SIGHUP: the first signal cancels `stop`, the second one ends the process at once, and so does a shutdown that takes
/// longer than `timeout` (a stuck loop must not keep a deployment waiting).
pub fn watch(stop: CancellationToken, timeout: Duration) -> std::io::Result<()> {
    let message = "stopping: running jobs get time to finish; a second signal ends at once";
    spawn(stop, timeout, Some(message))
}

/// As [`watch`], for a command that prints its own message.
pub fn watch_silently(stop: CancellationToken, timeout: Duration) -> std::io::Result<()> {
    spawn(stop, timeout, None)
}

fn spawn(stop: CancellationToken, timeout: Duration, message: Option<&'static str>) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // Without this, closing the terminal would end the process at once.
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        either(&mut terminate, &mut interrupt, &mut hang_up).await;
        // Logged last, because a log that blocks or fails must not delay the shutdown.
        stop.cancel();
        start_watchdog(timeout);
        if let Some(message) = message {
            tracing::info!("{message}");
        }
        either(&mut terminate, &mut interrupt, &mut hang_up).await;
        std::process::exit(EXIT_SECOND_SIGNAL);
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

/// On a thread of its own, because the runtime may be what is stuck.
fn start_watchdog(timeout: Duration) {
    let watchdog = std::thread::Builder::new().name("shutdown-watchdog".into());
    let spawned = watchdog.spawn(move || {
        std::thread::sleep(timeout);
        let _ =
            writeln!(std::io::stderr(), "headgate: not stopped after {} s: ending now", timeout.as_secs());
        std::process::exit(1);
    });
    if let Err(error) = spawned {
        tracing::warn!("no watchdog for the shutdown: {error}");
    }
}
