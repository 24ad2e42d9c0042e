//! What a job is about, in a few words.

use model::job::Job;

/// `product sku-48213`; the kind of a job that is about no record.
pub(in crate::pages) fn subject(job: &Job) -> String {
    match (&job.record_type, &job.record_id) {
        (Some(kind), Some(id)) => format!("{kind} {id}"),
        _ => job.job_type.clone(),
    }
}
