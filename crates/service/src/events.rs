//! Events: changes of records.

use crate::{Allowed, Headgate, ServiceError, permission};
use model::event::{Accepted, Event};
use model::one_or_many::OneOrMany;
use model::trace::TraceContext;

impl Headgate {
    /// Accepts changes of records, all or none. Requests that result from them continue the trace.
    ///
    /// # Errors
    /// Faults of every event; an app that is unknown or outside the actor's scope.
    pub async fn accept_events(
        &self,
        actor: &Allowed<permission::Produce>,
        mut events: OneOrMany<Event>,
        trace: Option<TraceContext>,
    ) -> Result<Accepted, ServiceError> {
        for event in events.as_mut_slice() {
            event.trace = trace;
        }
        Ok(match events {
            OneOrMany::One(event) => self.delivery.accept_event(actor.scope(), event).await?,
            OneOrMany::Many(events) => self.delivery.accept_events(actor.scope(), events).await?,
        })
    }
}
