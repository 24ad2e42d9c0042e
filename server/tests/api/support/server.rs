use super::{Client, an_app};
use access::{Access, AdminKey};
use chrono::{DateTime, Utc};
use delivery::{Delivery, DeliveryConfig, MasterKey, TargetGuard};
use insight::live::LiveHub;
use model::{actor::Role, api_key::NewApiKey, id::AppId, rules::backoff::Backoff, stats::Snapshot};
use queue::maintenance::Maintenance;
use queue::worker::{Engine, Handlers};
use queue::{EngineConfig, Waker};
use serde_json::json;
use server::connections::{self, ConnectionLimits};
use server::middleware::{Pace, RequestMemory};
use server::replica::Replica;
use server::state::{AppSettings, AppState, Parts, Pools, leptos_options};
use service::Headgate;
use sqlx::PgPool;
use std::{net::SocketAddr, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// `HEADGATE_ADMIN_API_KEY`
pub(crate) const ADMIN_KEY: &str = "admin-key-of-the-tests-0123456789abcdef";

/// The whole router on a port, with maintenance and optionally workers.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) state: AppState,
    pub(crate) engine: Option<Engine>,
    _stop: DropGuard,
}

impl Server {
    /// Without workers, so that jobs wait.
    pub(crate) async fn start(pool: PgPool) -> Self {
        Self::start_with(pool, None, false, "").await
    }

    /// The same, with an operator's client and the id of a new app.
    pub(crate) async fn with_app(pool: PgPool) -> (Self, Client, String) {
        Self::start(pool).await.and_app().await
    }

    /// With workers, an operator's client and the id of a new app.
    pub(crate) async fn with_app_and_workers(pool: PgPool) -> (Self, Client, String) {
        Self::with_workers(pool).await.and_app().await
    }

    async fn and_app(self) -> (Self, Client, String) {
        let client = self.operator();
        let app = an_app(&client, "Shop").await;
        (self, client, app)
    }

    /// Without workers, with lists from a replica.
    pub(crate) async fn with_replica(pool: PgPool, replica: PgPool) -> Self {
        Self::start_with(pool, Some(replica), false, "").await
    }

    /// With workers that deliver at once and try twice.
    pub(crate) async fn with_workers(pool: PgPool) -> Self {
        Self::start_with(pool, None, true, "").await
    }

    pub(crate) async fn below(pool: PgPool, base_path: &str) -> Self {
        Self::start_with(pool, None, false, base_path).await
    }

    /// With limits of connections and bodies.
    pub(crate) async fn bounded(pool: PgPool, limits: ConnectionLimits, pace: Pace) -> Self {
        Self::start_bounded(pool, None, false, AppSettings { pace, ..AppSettings::default() }, limits).await
    }

    /// With a memory budget for requests.
    pub(crate) async fn with_memory(pool: PgPool, memory: RequestMemory) -> Self {
        let settings = AppSettings { memory, ..AppSettings::default() };
        Self::start_bounded(pool, None, false, settings, ConnectionLimits::for_files(None)).await
    }

    async fn start_with(pool: PgPool, replica: Option<PgPool>, has_workers: bool, base_path: &str) -> Self {
        let settings = AppSettings { base_path: base_path.to_owned(), ..AppSettings::default() };
        Self::start_bounded(pool, replica, has_workers, settings, ConnectionLimits::for_files(None)).await
    }

    async fn start_bounded(
        pool: PgPool,
        replica: Option<PgPool>,
        has_workers: bool,
        settings: AppSettings,
        limits: ConnectionLimits,
    ) -> Self {
        // Fails in tests without a database.
        let _ = queue::store::partitions::make_ahead(&pool).await;
        let stop = CancellationToken::new();
        let master_key = MasterKey::generate();
        let guard = TargetGuard::new(vec!["127.0.0.0/8".parse().unwrap()], false);
        let config =
            DeliveryConfig { max_attempts: 2, timeout: Duration::from_secs(5), ..DeliveryConfig::default() };
        let delivery =
            Delivery::new(pool.clone(), master_key.clone(), guard, config, Waker::new(pool.clone())).unwrap();
        let engine_config = EngineConfig {
            workers: 4,
            backoff: Backoff { jitter: 0.0, ..Backoff::default() },
            ..EngineConfig::default()
        };
        let engine = has_workers.then(|| {
            let handlers = Handlers::new(delivery.handler());
            Engine::start(pool.clone(), engine_config.clone(), handlers, stop.clone())
        });
        let mut services = delivery.services(engine_config.retentions);
        services.extend(insight::services::services(&engine_config));
        services.extend(access::services(engine_config.retentions));
        let retentions = engine_config.retentions;
        let maintenance = Maintenance::start(pool.clone(), engine_config, services, None, stop.clone());
        let live = LiveHub::start(pool.clone(), stop.clone());
        let lists = replica.clone().unwrap_or_else(|| pool.clone());
        let state = AppState::new(Parts {
            headgate: Headgate::new(service::Parts {
                delivery,
                access: Access::new(pool.clone(), AdminKey::new(ADMIN_KEY)),
                lists: lists.clone(),
                live: live.clone(),
                retentions,
            }),
            pools: Pools { engine: pool.clone(), api: pool.clone(), console: lists, health: pool },
            replica: replica.map(|replica| Replica::watch(replica, live.clone(), stop.clone())),
            live,
            maintenance: maintenance.watch(),
            engine: engine.as_ref().map(Engine::watch),
            master_key,
            leptos: leptos_options(),
            settings,
            stop: stop.clone(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(connections::serve(listener, state.clone(), limits, stop.clone()));
        Self { address, state, engine, _stop: stop.drop_guard() }
    }

    /// Without a credential.
    pub(crate) fn anonymous(&self) -> Client {
        Client::new(format!("http://{}", self.address))
    }

    /// With the admin key.
    pub(crate) fn operator(&self) -> Client {
        self.anonymous().with_key(ADMIN_KEY)
    }

    /// With a new key of the role.
    pub(crate) async fn key(&self, role: Role, app: Option<&str>) -> Client {
        let new = NewApiKey {
            name: format!("{role}"),
            role,
            app_id: app.map(|id| id.parse::<AppId>().unwrap()),
            expires_in_seconds: None,
        };
        let made =
            access::api_keys::create(self.state.headgate.access(), &Access::system(), &new).await.unwrap();
        self.anonymous().with_key(&made.key)
    }

    /// With the session of a new user.
    pub(crate) async fn person(&self, name: &str, role: Role) -> Client {
        let (email, password) = (format!("{name}@example.test"), "correct horse battery staple");
        let new = json!({"email": email, "name": name, "role": role, "password": password});
        self.operator().post("/users", new).await.ok(201);
        let form = format!("email={name}%40example.test&password=correct+horse+battery+staple");
        let answer = self.anonymous().form("/sign-in", form).await;
        let cookie = answer.header("set-cookie").split(';').next().unwrap();
        self.anonymous().with("cookie", cookie).with("origin", &format!("http://{}", self.address))
    }

    /// Waits for a snapshot of what is committed now.
    pub(crate) async fn sampled(&self) {
        let now = "select clock_timestamp()";
        let now: DateTime<Utc> = sqlx::query_scalar(now).fetch_one(&self.state.pools.api).await.unwrap();
        self.until_snapshot(|snapshot| snapshot.at > now).await;
    }

    /// Waits for a snapshot that matches.
    pub(crate) async fn until_snapshot(&self, matches_state: impl Fn(&Snapshot) -> bool) {
        let mut live = self.state.live.subscribe();
        let snapshot =
            live.wait_for(|state| state.snapshot.as_ref().is_some_and(|snapshot| matches_state(snapshot)));
        tokio::time::timeout(Duration::from_secs(60), snapshot).await.expect("a snapshot in time").unwrap();
    }

    /// Waits until the workers have recorded this many results.
    pub(crate) async fn recorded(&self, results: u64) {
        let mut recorded = self.engine.as_ref().expect("a server with workers").recorded();
        let waited =
            tokio::time::timeout(Duration::from_secs(60), recorded.wait_for(|n| *n >= results)).await;
        waited.unwrap_or_else(|_| panic!("{results} results were not recorded in time")).unwrap();
    }
}
