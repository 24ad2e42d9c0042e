//! What is inside of a deployment: who runs it, in which processes, and what integrations are configured with. Customers are told none of
//! it, and values of headers are for those who configure them.

use super::{MASK, Masks, Sensitive};
use crate::{
    activity::Activity,
    actor::Role,
    attempt::Attempt,
    breaker::BreakerFlip,
    exchange::Exchange,
    id::AppId,
    integration::Integration,
    operation::Operation,
    resync::Resync,
    rules::permission::{Permission, is_allowed},
};

impl Sensitive for Integration {
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, _masks: &Masks) -> usize {
        0
    }

    fn keep_inside_from(&mut self, role: Role) {
        if is_customer(role) {
            self.headers.clear();
        } else if !is_allowed(role, Permission::Configure) {
            self.headers.values_mut().for_each(|value| MASK.clone_into(value));
        }
    }
}

impl Sensitive for Resync {
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, _masks: &Masks) -> usize {
        0
    }

    fn keep_inside_from(&mut self, role: Role) {
        if is_customer(role) {
            MASK.clone_into(&mut self.requested_by);
        }
    }
}

impl Sensitive for Operation {
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, _masks: &Masks) -> usize {
        0
    }

    fn keep_inside_from(&mut self, role: Role) {
        if is_customer(role) {
            MASK.clone_into(&mut self.requested_by);
        }
    }
}

impl Sensitive for BreakerFlip {
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, _masks: &Masks) -> usize {
        0
    }

    fn keep_inside_from(&mut self, role: Role) {
        if is_customer(role) {
            self.actor.iter_mut().for_each(|actor| MASK.clone_into(actor));
        }
    }
}

impl Sensitive for Activity {
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, _masks: &Masks) -> usize {
        0
    }

    fn keep_inside_from(&mut self, role: Role) {
        if let Some(actor) = self.actor.as_mut().filter(|_| is_customer(role)) {
            self.message = self.message.replace(actor.as_str(), MASK);
            MASK.clone_into(actor);
        }
    }
}

pub(super) fn keep_attempts_inside(attempts: &mut [Attempt], role: Role) {
    if !is_customer(role) {
        return;
    }
    for attempt in attempts {
        attempt.worker_id = None;
        if let Some(Exchange { request, answer, timing: _ }) = attempt.exchange.as_deref_mut() {
            request.iter_mut().for_each(|request| request.headers.clear());
            answer.iter_mut().for_each(|answer| answer.headers.clear());
        }
    }
}

fn is_customer(role: Role) -> bool {
    role == Role::Portal
}
