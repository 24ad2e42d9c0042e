//! A job whose payload says how it ends.

use queue::{Job, JobError, JobHandler, LeasedJob, OrJobError, testing::TestKit};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::{collections::HashMap, time::Duration};

/// Prints some pages, or fails to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Print {
    pub(crate) pages: u32,
    pub(crate) end: End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    #[default]
    Printed,
    /// Fails at its first attempt.
    Jams,
    AlwaysJams,
    Busy,
    Unprintable,
    TooEarly,
    Panics,
}

impl Job for Print {
    const JOB_TYPE: &'static str = "print";
    const MAX_ATTEMPTS: Option<i16> = Some(3);
}

pub(crate) fn print(pages: u32) -> Print {
    Print { pages, end: End::Printed }
}

pub(crate) fn ends(end: End) -> Print {
    Print { pages: 1, end }
}

/// What a print produces.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Printed {
    pub(crate) sheets: u32,
    pub(crate) by_attempt: HashMap<String, i16>,
}

pub(crate) struct Printer;

impl JobHandler<Print> for Printer {
    type Output = Printed;

    async fn run(&self, print: Print, job: &LeasedJob) -> Result<Printed, JobError> {
        match print.end {
            End::Jams if job.attempt == 1 => Err("paper jam")?,
            End::AlwaysJams => Err(std::io::Error::other("paper jam"))?,
            End::Busy => return Err(JobError::retryable("busy").after(Duration::from_secs(3600))),
            End::Unprintable => "x".parse::<u8>().map(drop).not_retryable()?,
            End::TooEarly => return Err(JobError::snooze(Duration::from_secs(60))),
            End::Panics => panic!("out of ink"),
            End::Printed | End::Jams => {}
        }
        Ok(Printed {
            sheets: print.pages.div_ceil(2),
            by_attempt: HashMap::from([("last".to_owned(), job.attempt)]),
        })
    }
}

pub(crate) async fn kit(pool: &PgPool) -> TestKit {
    TestKit::open(pool).await.unwrap().handle(Printer)
}
