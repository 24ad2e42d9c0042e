//! Types that contain payloads: jobs, dead letters, records, and pages of them. Each is masked by its app's rules.

use super::Masking;
use super::internals::{hide_internals_of_attempts, mask_query};
use crate::actor::Role;
use crate::attempt::Attempt;
use crate::dead_letter::{BinnedLetter, DeadLetter, DeadLetterGroup};
use crate::dead_letter_grid::DeadLetterGrid;
use crate::exchange::Exchange;
use crate::failure::{FailureDetail, FailureGroup};
use crate::id::AppId;
use crate::job::{Job, JobDetail};
use crate::page::Page;
use crate::record::{Record, RecordWithSync, SentRecord};
use crate::request::RequestPreview;
use crate::rules::permission::{Permission, is_allowed};
use crate::sync_status::SyncStatus;
use crate::trail::{Trail, TrailApp, TrailJob, TrailRecord};
use serde_json::Value;
use std::collections::BTreeMap;

/// What is masked in each app's data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    /// For apps that mark no fields.
    pub everywhere: Masking,
    /// For apps that mark fields: the deployment's rules and their own.
    pub by_app: BTreeMap<AppId, Masking>,
}

impl Masks {
    /// The rules for data of this app.
    #[must_use]
    pub fn of(&self, app_id: AppId) -> &Masking {
        self.by_app.get(&app_id).unwrap_or(&self.everywhere)
    }
}

/// Data that has to be masked before it is shown.
pub trait Sensitive {
    /// Apps whose data it contains, possibly with duplicates.
    fn app_ids(&self) -> Vec<AppId>;

    /// Masks it; returns the number of masked values.
    fn mask(&mut self, masks: &Masks) -> usize;

    /// Removes internals of the deployment that this role may not see: people, processes, headers, values that others filtered by.
    fn hide_internals(&mut self, _role: Role) {}
}

impl Sensitive for Job {
    fn app_ids(&self) -> Vec<AppId> {
        vec![self.app_id]
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        let masking = masks.of(self.app_id);
        optional(masking, &mut self.payload) + text(masking, &mut self.error_message)
    }
}

impl Sensitive for JobDetail {
    fn app_ids(&self) -> Vec<AppId> {
        self.job.app_ids()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        let masking = masks.of(self.job.app_id);
        let note = self.progress.as_mut().map_or(0, |progress| text(masking, &mut progress.note));
        let result = optional(masking, &mut self.result);
        self.job.mask(masks) + attempts(masking, &mut self.attempts) + result + note
    }

    fn hide_internals(&mut self, role: Role) {
        hide_internals_of_attempts(&mut self.attempts, role);
    }
}

impl Sensitive for DeadLetter {
    fn app_ids(&self) -> Vec<AppId> {
        vec![self.app_id]
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        let masking = masks.of(self.app_id);
        optional(masking, &mut self.payload)
            + attempts(masking, &mut self.attempts)
            + words(masking, &mut self.error_message)
    }

    fn hide_internals(&mut self, role: Role) {
        hide_internals_of_attempts(&mut self.attempts, role);
    }
}

impl Sensitive for BinnedLetter {
    fn app_ids(&self) -> Vec<AppId> {
        self.letter.app_ids()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        self.letter.mask(masks)
    }

    fn hide_internals(&mut self, role: Role) {
        self.letter.hide_internals(role);
    }
}

impl Sensitive for DeadLetterGroup {
    /// A group has only the id of its integration, so its error is masked by secret-looking names, but not by its app's rules.
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        words(&masks.everywhere, &mut self.error)
    }
}

impl Sensitive for DeadLetterGrid {
    /// As in [`DeadLetterGroup`].
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        self.causes.iter_mut().map(|cause| words(&masks.everywhere, &mut cause.error)).sum()
    }
}

impl Sensitive for Record {
    fn app_ids(&self) -> Vec<AppId> {
        vec![self.app_id]
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        masks.of(self.app_id).attributes(&mut self.attributes)
    }
}

impl Sensitive for RecordWithSync {
    fn app_ids(&self) -> Vec<AppId> {
        self.record.app_ids()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        self.record.mask(masks)
    }
}

/// Data without an app id, with its app.
impl Sensitive for (AppId, Page<SentRecord>) {
    fn app_ids(&self) -> Vec<AppId> {
        vec![self.0]
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        let masking = masks.of(self.0);
        self.1.items.iter_mut().map(|sent| masking.attributes(&mut sent.attributes)).sum()
    }
}

impl Sensitive for FailureGroup {
    /// As in [`DeadLetterGroup`].
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        words(&masks.everywhere, &mut self.error)
    }
}

impl Sensitive for FailureDetail {
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        self.group.mask(masks)
    }
}

impl Sensitive for SyncStatus {
    /// Has no app id, as [`DeadLetterGroup`].
    fn app_ids(&self) -> Vec<AppId> {
        Vec::new()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        self.last_error.as_mut().map_or(0, |error| words(&masks.everywhere, &mut error.message))
    }
}

/// A request, with its app.
impl Sensitive for (AppId, RequestPreview) {
    fn app_ids(&self) -> Vec<AppId> {
        vec![self.0]
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        let masking = masks.of(self.0);
        body(masking, &mut self.1.body) + words(masking, &mut self.1.url)
    }

    fn hide_internals(&mut self, role: Role) {
        if !is_allowed(role, Permission::Configure) {
            mask_query(&mut self.1.url);
        }
    }
}

impl<T: Sensitive> Sensitive for Vec<T> {
    fn app_ids(&self) -> Vec<AppId> {
        self.iter().flat_map(T::app_ids).collect()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        self.iter_mut().map(|item| item.mask(masks)).sum()
    }

    fn hide_internals(&mut self, role: Role) {
        self.iter_mut().for_each(|one| one.hide_internals(role));
    }
}

impl<T: Sensitive> Sensitive for Page<T> {
    fn app_ids(&self) -> Vec<AppId> {
        self.items.app_ids()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        self.items.mask(masks)
    }

    fn hide_internals(&mut self, role: Role) {
        self.items.hide_internals(role);
    }
}

impl Sensitive for Trail {
    fn app_ids(&self) -> Vec<AppId> {
        let records = self.records.iter().map(|TrailRecord { record, .. }| record.record.app_id);
        let failures = self.apps.iter().flat_map(|app| &app.failures).map(|letter| letter.app_id);
        self.items.iter().map(|item| item.job.app_id).chain(records).chain(failures).collect()
    }

    fn mask(&mut self, masks: &Masks) -> usize {
        let Self { records, apps, items, readings: _, more_records: _, next_cursor: _ } = self;
        let records: usize = records.iter_mut().map(|record| record.record.mask(masks)).sum();
        let failures = apps.iter_mut().flat_map(|TrailApp { failures, .. }| failures);
        let failures: usize = failures.map(|letter| letter.mask(masks)).sum();
        let jobs = items
            .iter_mut()
            .map(|TrailJob { job, last_error, .. }| job.mask(masks) + text(masks.of(job.app_id), last_error));
        records + failures + jobs.sum::<usize>()
    }

    fn hide_internals(&mut self, role: Role) {
        self.apps.iter_mut().for_each(|app| app.failures.hide_internals(role));
    }
}

fn attempts(masking: &Masking, attempts: &mut [Attempt]) -> usize {
    attempts
        .iter_mut()
        .map(|attempt| {
            // Not counted: the same values are counted in the payload.
            if let Some(exchange) = &mut attempt.exchange {
                mask_exchange(masking, exchange);
            }
            text(masking, &mut attempt.error_message) + body(masking, &mut attempt.response_excerpt)
        })
        .sum()
}

fn mask_exchange(masking: &Masking, exchange: &mut Exchange) {
    let Exchange { request, answer, timing: _ } = exchange;
    if let Some(request) = request {
        let mut excerpt = Some(std::mem::take(&mut request.excerpt));
        body(masking, &mut excerpt);
        request.excerpt = excerpt.unwrap_or_default();
        words(masking, &mut request.url);
    }
    for header in answer.iter_mut().flat_map(|answer| &mut answer.headers) {
        words(masking, &mut header.value);
    }
}

/// Masks a text that may be a JSON document, or the beginning of one.
fn body(masking: &Masking, body: &mut Option<String>) -> usize {
    match body.as_ref().map(|body| serde_json::from_str::<Value>(body)) {
        Some(Ok(mut document)) => {
            let masked = masking.value(&mut document);
            if masked > 0 {
                *body = Some(document.to_string());
            }
            masked
        }
        _ => text(masking, body),
    }
}

fn optional(masking: &Masking, value: &mut Option<Value>) -> usize {
    value.as_mut().map_or(0, |value| masking.value(value))
}

fn text(masking: &Masking, text: &mut Option<String>) -> usize {
    text.as_mut().map_or(0, |text| words(masking, text))
}

fn words(masking: &Masking, words: &mut String) -> usize {
    match masking.text(words) {
        Some(masked) => {
            *words = masked;
            1
        }
        None => 0,
    }
}
