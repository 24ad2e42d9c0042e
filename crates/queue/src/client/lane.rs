//! The options of a lane.

use crate::QueueError;
use model::{limits, problem::Faults, rate_limit::RateLimit};

/// The name of a lane within its app, and its limits.
#[derive(Clone, Debug)]
#[must_use = "the lane is created by `Client::lane`"]
pub struct LaneOptions {
    pub(crate) name: String,
    pub(crate) max_concurrency: Option<i32>,
    pub(crate) rate_limits: Option<Vec<RateLimit>>,
}

impl LaneOptions {
    /// A lane with this name, 1 to 200 characters. A new lane may use all workers of its processes (at most 10,000) and has no rate limit.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), max_concurrency: None, rate_limits: None }
    }

    /// Most jobs that run at once, over all processes: 1 to 10,000.
    pub fn max_concurrency(self, most: i32) -> Self {
        Self { max_concurrency: Some(most), ..self }
    }

    /// Most jobs (1 to 1,000,000) that start in any window of `per_seconds` (1 to 86,400), over all processes. Call it again for a further limit; all
    /// of them apply. Jobs beyond a limit wait, which costs no attempt.
    pub fn rate_limit(self, jobs: i32, per_seconds: i32) -> Self {
        let mut rate_limits = self.rate_limits.unwrap_or_default();
        rate_limits.push(RateLimit { requests: jobs, per_seconds });
        Self { rate_limits: Some(rate_limits), ..self }
    }

    /// Removes every rate limit of the lane.
    pub fn without_rate_limit(self) -> Self {
        Self { rate_limits: Some(Vec::new()), ..self }
    }

    pub(super) fn check(&self) -> Result<(), QueueError> {
        let mut faults = Faults::default();
        let chars = self.name.chars().count();
        faults.require(
            (1..=200).contains(&chars) && !self.name.chars().any(char::is_control),
            "/name",
            "must be 1 to 200 characters without control characters",
        );
        faults.require_within(self.max_concurrency, &limits::MAX_CONCURRENCY, "/max_concurrency");
        let rate_limits = self.rate_limits.as_deref().unwrap_or_default();
        faults.require(rate_limits.len() <= 8, "/rate_limit", "must be at most 8 limits");
        for (index, limit) in rate_limits.iter().enumerate() {
            if let Err(part) = limit.check() {
                faults.nest(&format!("/rate_limit/{index}"), part);
            }
        }
        Ok(faults.into_result()?)
    }
}

pub(crate) fn check_program(name: &str) -> Result<(), QueueError> {
    let mut faults = Faults::default();
    let chars = name.chars().count();
    faults.require(
        (1..=100).contains(&chars) && !name.chars().any(char::is_control),
        "/program",
        "must be 1 to 100 characters without control characters",
    );
    Ok(faults.into_result()?)
}
