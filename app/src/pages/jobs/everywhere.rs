//! What every integration has of the job's record.

use crate::{
    components::JobStateLook,
    ui::{Card, Fact, Facts, Glyph, Link, Pill, Tone},
};
use leptos::prelude::*;
use model::record::RecordSync;

/// One line an integration.
#[component]
pub fn Everywhere(
    /// One entry per interested integration.
    syncs: Vec<RecordSync>,
    /// The record's version.
    newest: i64,
) -> impl IntoView {
    view! {
        <Card title="This record, everywhere">
            <Facts>
                {syncs
                    .into_iter()
                    .map(|sync| {
                        let (tone, glyph, words) = sync_in_words(&sync, newest);
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
        </Card>
    }
    .into_any()
}

fn sync_in_words(sync: &RecordSync, newest: i64) -> (Tone, Glyph, String) {
    let version =
        sync.version.map_or_else(|| "nothing yet".to_owned(), |version| format!("version {version}"));
    match sync.job_status {
        _ if sync.in_sync => (Tone::Delivered, Glyph::Check, format!("version {newest}")),
        Some(status) => {
            let look = JobStateLook::of(status);
            (look.tone, look.glyph, format!("{version}, {}", look.word.to_lowercase()))
        }
        None => (Tone::Waiting, Glyph::Clock, version),
    }
}
