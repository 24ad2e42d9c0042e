//! The registry of handlers. Typed handlers are added by [`Handlers::handle`], which is with their adapter in the module `job`.

use crate::worker::handler::{AttemptHandler, Unhandled};
use std::{collections::HashMap, sync::Arc};

/// The program of runners and clients that name none.
pub(crate) const DEFAULT_PROGRAM: &str = "main";

/// The handlers of a process by job type, and the program whose lanes it claims from.
#[derive(Clone)]
pub struct Handlers {
    program: Option<String>,
    default: Arc<dyn AttemptHandler>,
    /// Whether the default handler does jobs, or leaves them to other processes.
    does_all: bool,
    by_job_type: HashMap<String, Arc<dyn AttemptHandler>>,
}

impl Handlers {
    /// One handler for all jobs of `headgate`'s deliveries: the lanes without a program.
    #[must_use]
    pub fn new(default: Arc<dyn AttemptHandler>) -> Self {
        Self { program: None, default, does_all: true, by_job_type: HashMap::new() }
    }

    /// No handler yet, for the lanes of the program `main`. Jobs of other types are left to processes that know them; see
    /// [`Unhandled`].
    #[must_use]
    pub fn none() -> Self {
        let unhandled = Self::new(Arc::new(Unhandled::default())).program(DEFAULT_PROGRAM);
        Self { does_all: false, ..unhandled }
    }

    /// Claims from the lanes of this program only; see [`Runner::program`](crate::Runner::program).
    #[must_use]
    pub fn program(self, name: &str) -> Self {
        Self { program: Some(name.to_owned()), ..self }
    }

    /// The program whose lanes are claimed from; none: `headgate`'s deliveries.
    #[must_use]
    pub(crate) fn program_name(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// The job types with a handler, sorted; none: all types are handled.
    pub(crate) fn job_types(&self) -> Option<Vec<String>> {
        let mut job_types: Vec<String> = self.by_job_type.keys().cloned().collect();
        job_types.sort();
        Some(job_types).filter(|_| !self.does_all)
    }

    /// Registers a handler for one job type.
    #[must_use]
    pub fn register(mut self, job_type: &str, handler: Arc<dyn AttemptHandler>) -> Self {
        self.by_job_type.insert(job_type.to_owned(), handler);
        self
    }

    /// The handler of a job type.
    pub(crate) fn of(&self, job_type: &str) -> &Arc<dyn AttemptHandler> {
        self.by_job_type.get(job_type).unwrap_or(&self.default)
    }
}
