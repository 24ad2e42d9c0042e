//! `headgate serve`: migrations, API, console and workers in one process.

use crate::config::{OperatorSettings, ServeSettings, Sources, TelemetrySettings};
use crate::connections::{self, ConnectionLimits};
use crate::demo::Demo;
use crate::middleware::TrustedProxies;
use crate::program::{Database, Engine, Mode, Pools, block_on, delivery, master_key, open_files};
use crate::replica::Replica;
use crate::state::{AppSettings, AppState, Parts, leptos_options};
use crate::{shutdown, telemetry};
use access::{Access, AdminKey};
use anyhow::{Context as _, anyhow};
use insight::live::LiveHub;
use service::Headgate;
use std::io::{ErrorKind, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;
use tokio::{net::TcpListener, time::timeout_at};
use tokio_util::sync::CancellationToken;

/// Time after the grace for the embedded database's last checkpoint.
const DATABASE_STOP_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// `serve`
    None,
    /// `demo`
    Demo,
}

/// # Errors
/// A bad setting, or an address that cannot be used.
pub fn run(sources: &Sources) -> anyhow::Result<ExitCode> {
    telemetry::start(&TelemetrySettings::read(sources)?);
    let settings = ServeSettings::read(sources)?;
    block_on(serve(settings, Sample::None))
}

/// Serves until a signal comes.
pub(super) async fn serve(settings: ServeSettings, sample: Sample) -> anyhow::Result<ExitCode> {
    // The address first, so that a port that is in use is reported before a database is started.
    let listener = bind(settings.listen.address).await?;
    let stop = CancellationToken::new();
    shutdown::watch(stop.clone(), settings.engine.workers.shutdown_grace + DATABASE_STOP_TIMEOUT)?;
    let Some(database) = Database::open_unless(&stop, &settings.database, Mode::Own).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    let result = with_database(&settings, sample, listener, &database, stop).await;
    database.close().await;
    result.map(|()| ExitCode::SUCCESS)
}

async fn with_database(
    settings: &ServeSettings,
    sample: Sample,
    listener: TcpListener,
    database: &Database,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let key = master_key(settings.engine.delivery.master_key.as_ref(), database.data_dir.as_deref())?;
    let pools = Pools::open(database, &settings.database).await?;
    if database.data_dir.is_none() {
        queue::store::connections::refuse_transaction_pooler(&pools.engine).await?;
    }
    queue::migrate::run(&pools.engine).await?;
    queue::store::partitions::make_ahead(&pools.engine).await?;
    if settings.engine.workers.amqp_url.is_some() {
        tracing::warn!("HEADGATE_AMQP_URL is set, but this build has no RabbitMQ fan-out: workers poll");
    }

    let delivery = delivery(&pools.engine, &settings.engine, key.clone()).await?;
    let admin_key = settings.operator.admin_api_key.as_ref().and_then(|key| AdminKey::new(key.expose()));
    let access = Access::new(pools.api.clone(), admin_key);
    let link = first_operator(&access, &settings.operator).await?;
    let engine = Engine::start(&pools.engine, &settings.engine, &delivery, &stop);
    let live = LiveHub::start(pools.api.clone(), stop.clone());
    let has_replica = settings.database.read_url.is_some();
    let replica = has_replica.then(|| Replica::watch(pools.console.clone(), live.clone(), stop.clone()));
    let demo = match sample {
        Sample::None => None,
        Sample::Demo => Some(Demo::start(&delivery, &stop).await.context("creating the demo's data failed")?),
    };

    let state = AppState::new(Parts {
        headgate: Headgate::new(service::Parts {
            delivery: delivery.with_pool(pools.api.clone()),
            access,
            lists: pools.console.clone(),
            live: live.clone(),
            retentions: settings.engine.retentions,
        }),
        pools: pools.clone(),
        replica,
        live,
        maintenance: engine.health(),
        engine: engine.watch(),
        master_key: key,
        leptos: leptos_options(),
        settings: AppSettings {
            base_path: settings.listen.base_path.clone(),
            instance: settings.listen.instance.clone(),
            trusted_proxies: TrustedProxies::new(&settings.listen.trusted_proxies),
            ..AppSettings::default()
        },
        stop: stop.clone(),
    });
    let address = browsable(listener.local_addr()?);
    let close_listener = CancellationToken::new();
    let limits = ConnectionLimits::for_files(open_files::limit());
    let server = tokio::spawn(connections::serve(listener, state, limits, close_listener.clone()));
    announce(address, &settings.listen.base_path, link.as_deref());

    stop.cancelled().await;
    let ends_at = engine.shutdown_deadline();
    // `/readyz` fails from now on; requests are still answered while jobs finish.
    if let Some(demo) = demo {
        let _ = timeout_at(ends_at, demo.ended()).await;
    }
    engine.shutdown(ends_at).await;
    close_listener.cancel();
    match timeout_at(ends_at, server).await {
        Ok(served) => served.context("the server's task ended")?,
        Err(_) => tracing::warn!("some requests were still open at the end of the grace"),
    }
    pools.close(ends_at).await;
    tracing::info!("stopped");
    Ok(())
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            anyhow!("HEADGATE_LISTEN={address}: another program listens there already; stop it or choose another port")
        }
        ErrorKind::PermissionDenied => anyhow!("HEADGATE_LISTEN={address}: this user may not listen there"),
        ErrorKind::AddrNotAvailable => anyhow!("HEADGATE_LISTEN={address}: this machine has no such address"),
        _ => anyhow!("HEADGATE_LISTEN={address}: {error}"),
    })
}

/// Creates the first operator of the settings, or else a sign-in link that is printed at the end of the start.
async fn first_operator(access: &Access, settings: &OperatorSettings) -> anyhow::Result<Option<String>> {
    if let Some((email, password)) = &settings.first_operator {
        let created = access.first_operator(email, password.expose().to_owned()).await;
        created.context("HEADGATE_ADMIN_EMAIL, HEADGATE_ADMIN_PASSWORD")?;
    }
    Ok(access.one_time_link().await?)
}

/// Prints the last lines of the start: people click them, scripts wait for them.
fn announce(address: SocketAddr, base_path: &str, link: Option<&str>) {
    let mut lines = format!("Headgate is ready: http://{address}{base_path}\n");
    if let Some(token) = link {
        lines.push_str(&format!("Sign in: http://{address}{base_path}/sign-in/link/{token}\n"));
    }
    // A closed standard output is no reason to stop.
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
}

/// The address as a browser on this machine can open it.
fn browsable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
