//! What every integration has of a record: in sync, behind or never sent, with the job that is to send the rest.

use crate::components::JobStateStyle;
use crate::ui::{Fact, Facts, Glyph, Link, Pill, Tone};
use leptos::prelude::*;
use model::{job::JobStatus, record::RecordSync};

/// One line per integration that gets the record.
#[component]
pub fn RecordSyncs(
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
    let state = sync.version.map_or_else(
        || "Never sent".to_owned(),
        // The version alone is not enough: the answer may be missing, or a change may have come meanwhile.
        |version| {
            if version == newest {
                "To be confirmed".to_owned()
            } else {
                format!("Behind, at version {version}")
            }
        },
    );
    match sync.job_status {
        Some(JobStatus::Failed) => (Tone::Failed, Glyph::Skull, format!("{state}: failed")),
        Some(status) => {
            let style = JobStateStyle::of(status);
            (style.tone, style.glyph, format!("{state}: {}", style.word.to_lowercase()))
        }
        None => (Tone::Waiting, Glyph::Clock, state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::id::{IntegrationId, JobId};

    #[test]
    fn a_sync_says_what_they_have_and_what_happens_to_the_rest() {
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
            (sync(Some(2), false, Some(JobStatus::Failed)), "Behind, at version 2: failed"),
            (sync(None, false, Some(JobStatus::ToBeRetried)), "Never sent: to be retried"),
            (sync(Some(3), false, Some(JobStatus::Processing)), "To be confirmed: processing"),
            (sync(None, false, None), "Never sent"),
        ] {
            assert_eq!(in_words(&sync, 3).2, words);
        }
    }
}
