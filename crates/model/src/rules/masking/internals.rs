//! Internals of a deployment: its people, its processes, and the configuration of integrations. Portal keys see none of it, and only roles that
//! may configure see values of headers. What an operator asked for is internal too: values of payloads in kept filters are masked for roles that see
//! payloads masked, whatever their paths are, since a path may have been masked later. (A use case that knows the masks of now shows the others.)

use super::{MASK, Masks, Sensitive};
use crate::activity::Activity;
use crate::actor::Role;
use crate::attempt::Attempt;
use crate::audit::AuditEntry;
use crate::breaker::BreakerFlip;
use crate::exchange::Exchange;
use crate::filter::PayloadMatch;
use crate::id::AppId;
use crate::integration::Integration;
use crate::operation::Operation;
use crate::resync::Resync;
use crate::rules::permission::{Permission, is_allowed};
use crate::saved_query::SavedQuery;
use serde_json::Value;

/// Data without payloads of apps, some of which is internal.
pub(super) trait Internal {
    /// As [`Sensitive::hide_internals`].
    fn hide(&mut self, role: Role);
}

impl<T: Internal> Sensitive for T {
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, _masks: &Masks) -> usize {
        0
    }

    fn hide_internals(&mut self, role: Role) {
        self.hide(role);
    }
}

impl Internal for Integration {
    fn hide(&mut self, role: Role) {
        if is_allowed(role, Permission::Configure) {
            return;
        }
        self.endpoint_url.iter_mut().for_each(mask_query);
        if is_portal(role) {
            self.headers.clear();
            self.metadata.clear();
        } else {
            self.headers.values_mut().for_each(|value| MASK.clone_into(value));
        }
    }
}

/// Lines of the audit log contain the configuration of integrations, the filters of bulk actions, and the queries of saved views.
impl Internal for AuditEntry {
    fn hide(&mut self, role: Role) {
        let is_view = self.object_kind == "saved_view";
        for fields in [&mut self.before, &mut self.after].into_iter().flatten() {
            if !is_allowed(role, Permission::ReadUnmasked) {
                mask_asked_values(fields, is_view);
            }
            if let Some(Value::String(url)) = fields.get_mut("endpoint_url")
                && !is_allowed(role, Permission::Configure)
            {
                mask_query(url);
            }
        }
    }
}

fn mask_asked_values(fields: &mut Value, is_view: bool) {
    if let Some(Value::Object(asked)) = fields.pointer_mut("/filter/payload") {
        asked.values_mut().for_each(|value| *value = Value::from(MASK));
    }
    if let Some(Value::String(query)) = fields.get_mut("query").filter(|_| is_view) {
        *query = SavedQuery::masked(query);
    }
}

impl Internal for Resync {
    fn hide(&mut self, role: Role) {
        if is_portal(role) {
            MASK.clone_into(&mut self.requested_by);
        }
    }
}

impl Internal for Operation {
    fn hide(&mut self, role: Role) {
        if is_portal(role) {
            MASK.clone_into(&mut self.requested_by);
        }
        if !is_allowed(role, Permission::ReadUnmasked) {
            self.filter.payload.iter_mut().for_each(PayloadMatch::mask);
        }
    }
}

impl Internal for BreakerFlip {
    fn hide(&mut self, role: Role) {
        if is_portal(role) {
            self.actor.iter_mut().for_each(|actor| MASK.clone_into(actor));
        }
    }
}

impl Internal for Activity {
    fn hide(&mut self, role: Role) {
        if let Some(actor) = self.actor.as_mut().filter(|_| is_portal(role)) {
            self.message = self.message.replace(actor.as_str(), MASK);
            MASK.clone_into(actor);
        }
    }
}

/// Leaves only the names of query parameters, as in attempts: the URLs of some systems contain credentials.
pub(super) fn mask_query(url: &mut String) {
    let Some((address, query)) = url.split_once('?') else { return };
    let names = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={MASK}"),
        None => MASK.to_owned(),
    });
    *url = format!("{address}?{}", names.collect::<Vec<_>>().join("&"));
}

pub(super) fn hide_internals_of_attempts(attempts: &mut [Attempt], role: Role) {
    for attempt in attempts {
        if !may_know_workers(role) {
            attempt.worker_id = None;
        }
        if !is_portal(role) {
            continue;
        }
        if let Some(Exchange { request, answer, timing: _ }) = attempt.exchange.as_deref_mut() {
            request.iter_mut().for_each(|request| request.headers.clear());
            answer.iter_mut().for_each(|answer| answer.headers.clear());
        }
    }
}

/// Portal keys and producers do not see which process runs a job, although producers see their own payloads unmasked.
#[must_use]
pub fn may_know_workers(role: Role) -> bool {
    !matches!(role, Role::Portal | Role::Producer)
}

fn is_portal(role: Role) -> bool {
    role == Role::Portal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{AuditEntryId, OperationId};
    use serde_json::json;

    fn an_operation(filter: &Value) -> Operation {
        serde_json::from_value(json!({
            "id": OperationId::generate(), "subject": "jobs", "action": "cancel", "filter": filter, "state": "done",
            "requested_by": "Mia", "matched": 1, "changed": 1, "skipped": 0, "skipped_reasons": [], "breakdown": [], "sample": [],
            "created_at": "2026-11-20T12:00:00Z",
        }))
        .unwrap()
    }

    fn a_line(object_kind: &str, before: &Value, after: &Value) -> AuditEntry {
        serde_json::from_value(json!({
            "id": AuditEntryId::generate(), "at": "2026-11-20T12:00:00Z", "actor_kind": "user", "actor_id": "", "actor_name": "Mia",
            "role": "operator", "action": "a", "object_kind": object_kind, "before": before, "after": after, "can_undo": false,
            "can_repeat": false,
        }))
        .unwrap()
    }

    /// Roles that may read operations or the audit log, and whether they see values of payloads.
    const READERS: [(Role, bool); 4] =
        [(Role::Operator, true), (Role::Support, false), (Role::Auditor, false), (Role::Portal, false)];

    #[test]
    fn values_that_a_bulk_action_asked_for_are_masked_and_paths_are_kept() {
        let asked =
            json!({"status": "pending", "payload": {"customer.email": "ada@x.test", "order.id": "17"}});
        let masked = json!({"status": "pending", "payload": {"customer.email": MASK, "order.id": MASK}});
        for (role, is_seen) in READERS {
            let filter = if is_seen { &asked } else { &masked };
            let mut operation = an_operation(&asked);
            operation.hide(role);
            assert_eq!(serde_json::to_value(&operation.filter).unwrap(), *filter, "{role}");
            let mut line =
                a_line("job", &json!({"action": "cancel", "filter": asked}), &json!({"matched": 1}));
            line.hide(role);
            assert_eq!(line.before, Some(json!({"action": "cancel", "filter": filter})), "{role}");
            assert_eq!(line.after, Some(json!({"matched": 1})), "{role}");
        }
    }

    #[test]
    fn values_that_a_saved_view_asks_for_are_masked_in_its_audit_lines() {
        let view =
            |value: &str| json!({"name": "Ada's", "query": format!("status=failed&payload.name={value}")});
        for (role, is_seen) in READERS {
            let mut line = a_line("saved_view", &view("Ada"), &view("Eve"));
            line.hide(role);
            let shown = |value| Some(view(if is_seen { value } else { "%5Bmasked%5D" }));
            assert_eq!((line.before, line.after), (shown("Ada"), shown("Eve")), "{role}");
        }
    }

    #[test]
    fn query_values_are_masked_and_names_are_kept() {
        for (address, shown) in [
            ("https://x.test/in", "https://x.test/in"),
            ("https://x.test/in?", "https://x.test/in?[masked]"),
            ("https://x.test/in?code=a=b&v=1", "https://x.test/in?code=[masked]&v=[masked]"),
            ("https://x.test/in?hunter2", "https://x.test/in?[masked]"),
        ] {
            let mut url = address.to_owned();
            mask_query(&mut url);
            assert_eq!(url, shown);
        }
    }
}
