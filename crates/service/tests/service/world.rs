//! A deployment with one app, and people of every role.

use access::Access;
use delivery::{Delivery, DeliveryConfig, MasterKey, TargetGuard};
use insight::live::LiveHub;
use model::actor::{Actor, ActorKind, Role};
use model::app::{App, NewApp};
use model::id::{AppId, IntegrationId, JobId};
use model::job::NewJob;
use model::one_or_many::OneOrMany;
use model::retention::Retentions;
use queue::Waker;
use serde_json::{Value, json};
use service::{Allowed, Headgate, Needs, Parts};
use sqlx::PgPool;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) struct World {
    pub(crate) headgate: Headgate,
    pub(crate) app: App,
    _stop: DropGuard,
}

impl World {
    pub(crate) async fn new(pool: PgPool) -> Self {
        queue::store::partitions::make_ahead(&pool).await.unwrap();
        let guard = TargetGuard::new(vec!["127.0.0.0/8".parse().unwrap()], false);
        let (key, waker) = (MasterKey::generate(), Waker::new(pool.clone()));
        let delivery = Delivery::new(pool.clone(), key, guard, DeliveryConfig::default(), waker).unwrap();
        let stop = CancellationToken::new();
        let headgate = Headgate::new(Parts {
            delivery,
            access: Access::new(pool.clone(), None),
            lists: pool.clone(),
            live: LiveHub::start(pool, stop.clone()),
            retentions: Retentions::default(),
        });
        let app = app(&headgate, "Nordwind").await;
        Self { headgate, app, _stop: stop.drop_guard() }
    }

    /// Another app.
    pub(crate) async fn app(&self, name: &str) -> App {
        app(&self.headgate, name).await
    }

    /// An integration of the app.
    pub(crate) async fn integration(&self) -> IntegrationId {
        let new = serde_json::from_value(json!({
            "app_id": self.app.id, "name": "Shop", "integration_type": "webhook", "endpoint_url": "http://127.0.0.1:9/hook",
        }));
        let made = self.headgate.create_integration(&may(Role::Operator, None), &new.unwrap()).await.unwrap();
        made.integration.id
    }

    /// A job of the app's own workers.
    pub(crate) async fn job(&self, payload: &Value) -> JobId {
        let new: NewJob =
            serde_json::from_value(json!({"app_id": self.app.id, "job_type": "report", "payload": payload}))
                .unwrap();
        let made = self.headgate.create_jobs(&may(Role::Operator, None), OneOrMany::One(new), None).await;
        made.unwrap().remove(0).id
    }
}

async fn app(headgate: &Headgate, name: &str) -> App {
    let new = NewApp { name: name.to_owned(), slug: None };
    headgate.create_app(&may(Role::Operator, None), &new).await.unwrap()
}

/// Somebody of this role, of all apps or of one.
pub(crate) fn actor(role: Role, app_id: Option<AppId>) -> Actor {
    Actor { kind: ActorKind::System, name: format!("{role}"), role, app_id }
}

/// The same with a permission that the role has.
pub(crate) fn may<P: Needs>(role: Role, app_id: Option<AppId>) -> Allowed<P> {
    Allowed::check(&actor(role, app_id)).unwrap()
}
