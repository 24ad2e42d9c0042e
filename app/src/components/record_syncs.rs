//! What every integration has of a record: in sync, behind or never sent, with the job that stands for the difference.

use super::JobStateLook;
use crate::ui::{Fact, Facts, Glyph, Link, Pill, Tone};
use leptos::prelude::*;
use model::{job::JobStatus, record::RecordSync};

/// One line an integration.
#[component]
pub fn RecordSyncs(
    /// One entry per interested integration.
    syncs: Vec<RecordSync>,
    /// The record's version.
    newest: i64,
) -> impl IntoView {
    view! {
        <Facts>
            {syncs
                .into_iter()
                .map(|sync| {
                    let (tone, glyph, words) = in_words(&sync, newest);
                    view! {
                        <Fact name=sync.integration_name.clone()>
                            {match sync.job_id {
                                Some(job) => {
                                    view! {
                                        <Link href=format!("/jobs/{job}")>
                                            <Pill tone=tone glyph=glyph label=words />
                                        </Link>
                                    }
                                        .into_any()
                                }
                                None => view! { <Pill tone=tone glyph=glyph label=words /> }.into_any(),
                            }}
                        </Fact>
                    }
                })
                .collect_view()}
        </Facts>
    }
    .into_any()
}

fn in_words(sync: &RecordSync, newest: i64) -> (Tone, Glyph, String) {
    if sync.in_sync {
        return (Tone::Delivered, Glyph::Check, format!("In sync, version {newest}"));
    }
    let stands = sync.version.map_or_else(
        || "Never sent".to_owned(),
        // The version alone does not say it: an answer that never came, or a change that came meanwhile.
        |version| {
            if version == newest {
                "To be confirmed".to_owned()
            } else {
                format!("Behind, has version {version}")
            }
        },
    );
    match sync.job_status {
        Some(JobStatus::Failed) => (Tone::Failed, Glyph::Skull, format!("{stands}: failed")),
        Some(status) => {
            let look = JobStateLook::of(status);
            (look.tone, look.glyph, format!("{stands}: {}", look.word.to_lowercase()))
        }
        None => (Tone::Waiting, Glyph::Clock, stands),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::{IntegrationId, JobId};

    #[test]
    fn a_sync_says_what_they_have_and_what_becomes_of_the_rest() {
        let sync = |version, in_sync, job_status| RecordSync {
            integration_id: IntegrationId::generate(),
            integration_name: "Shop".to_owned(),
            version,
            sent_at: None,
            in_sync,
            job_id: Some(JobId::generate()),
            job_status,
        };
        for (sync, words) in [
            (sync(Some(3), true, None), "In sync, version 3"),
            (sync(Some(2), false, Some(JobStatus::Failed)), "Behind, has version 2: failed"),
            (sync(None, false, Some(JobStatus::ToBeRetried)), "Never sent: to be retried"),
            (sync(Some(3), false, Some(JobStatus::Processing)), "To be confirmed: processing"),
            (sync(None, false, None), "Never sent"),
        ] {
            assert_eq!(in_words(&sync, 3).2, words);
        }
    }
}
