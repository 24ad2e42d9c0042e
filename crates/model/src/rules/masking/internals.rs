//! Internals of a deployment: its people, its processes, and the configuration of integrations. Portal keys see none of it, and only roles that
//! may configure see values of headers.

use super::{MASK, Masks, Sensitive};
use crate::activity::Activity;
use crate::actor::Role;
use crate::attempt::Attempt;
use crate::audit::AuditEntry;
use crate::breaker::BreakerFlip;
use crate::exchange::Exchange;
use crate::id::AppId;
use crate::integration::Integration;
use crate::operation::Operation;
use crate::resync::Resync;
use crate::rules::permission::{Permission, is_allowed};
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

/// Lines of the audit log contain the configuration of integrations.
impl Internal for AuditEntry {
    fn hide(&mut self, role: Role) {
        if is_allowed(role, Permission::Configure) {
            return;
        }
        for fields in [&mut self.before, &mut self.after].into_iter().flatten() {
            if let Some(Value::String(url)) = fields.get_mut("endpoint_url") {
                mask_query(url);
            }
        }
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
