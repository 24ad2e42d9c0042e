//! Statistics: the newest gauges, recorded minutes, and rollups.

use crate::{Allowed, Headgate, ServiceError, permission};
use access::activity;
use chrono::{DateTime, Utc};
use insight::store::stats::{answers, minutes, throughput_until};
use model::activity::{Activity, Span};
use model::actor::Scope;
use model::id::IntegrationId;
use model::page::{Page, PageRequest};
use model::stats::{Answers, IntegrationGauge, Levels, Moment, Snapshot, Throughput, Window};
use model::views::overview::NotRecorded;

impl Headgate {
    /// The newest snapshot of the actor's apps, or the one of a recorded minute.
    pub async fn snapshot_at(
        &self,
        actor: &Allowed<permission::Read>,
        at: Option<DateTime<Utc>>,
    ) -> Result<Result<Snapshot, NotRecorded>, ServiceError> {
        Ok(match at {
            Some(at) => self.recorded(at).await?.map(|moment| moment.snapshot.narrowed(actor.scope(), None)),
            None => Ok(self.snapshot().await?.narrowed(actor.scope(), None)),
        })
    }

    /// The newest gauges of the actor's integrations.
    pub async fn gauges(
        &self,
        actor: &Allowed<permission::Read>,
    ) -> Result<Vec<IntegrationGauge>, ServiceError> {
        Ok(self.snapshot().await?.narrowed(actor.scope(), None).integrations)
    }

    /// Throughput of all integrations or one, in a window that ends at `until` or now.
    ///
    /// # Errors
    /// No such integration.
    pub async fn throughput(
        &self,
        actor: &Allowed<permission::Read>,
        integration_id: Option<IntegrationId>,
        window: Window,
        until: Option<DateTime<Utc>>,
    ) -> Result<Throughput, ServiceError> {
        Ok(throughput_until(&self.lists, actor.scope(), integration_id, window, until).await?)
    }

    /// How many jobs of the deployment were in each state over time.
    ///
    /// # Errors
    /// `NotAllowed` for an actor bound to an app: levels are not recorded by app.
    pub async fn levels(
        &self,
        actor: &Allowed<permission::Read>,
        window: Window,
        until: Option<DateTime<Utc>>,
    ) -> Result<Levels, ServiceError> {
        if actor.scope() != Scope::AllApps {
            return Err(ServiceError::NotAllowed(
                "Levels exist for the whole deployment only: use a key that is not bound to an app."
                    .to_owned(),
            ));
        }
        Ok(minutes::levels(&self.lists, window, until).await?)
    }

    /// A page of what happened, newest first, without the people that the actor may not see.
    pub async fn activity(
        &self,
        actor: &Allowed<permission::Read>,
        span: Span,
        page: PageRequest,
    ) -> Result<Page<Activity>, ServiceError> {
        let page = activity::list(&self.lists, actor.scope(), span, page).await?;
        self.shown(actor, page).await
    }

    /// What an external system answered over time, by HTTP status.
    ///
    /// # Errors
    /// No such integration.
    pub async fn answers(
        &self,
        actor: &Allowed<permission::Read>,
        id: IntegrationId,
        window: Window,
    ) -> Result<Answers, ServiceError> {
        Ok(answers::answers(&self.lists, actor.scope(), id, window).await?)
    }

    /// The recorded minute, if it is kept.
    pub(crate) async fn recorded(
        &self,
        at: DateTime<Utc>,
    ) -> Result<Result<Moment, NotRecorded>, ServiceError> {
        let moment = minutes::moment(&self.lists, at).await?.filter(|_| Utc::now() - at <= minutes::KEPT);
        Ok(match moment {
            Some(moment) => Ok(moment),
            None => Err(NotRecorded { nearest: minutes::nearest(&self.lists, at).await? }),
        })
    }
}
