//! The page of a job: the job, its record, what is related to it, and why it waits.

mod masking;
mod page;
mod record;
mod related;
