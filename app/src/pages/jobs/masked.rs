//! What of a job is not shown, and the way to see it: for those who may, by an act that the audit log keeps.

use crate::{
    calls::jobs::RevealJob,
    format,
    ui::{Button, Glyph, HiddenFields, Icon, Link, PostForm},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::JobId;

/// A line under the job's id; nothing when there is nothing to hide.
#[component]
pub fn MaskedNote(
    /// The job.
    id: JobId,
    /// Values that are not shown.
    masked: u32,
    /// They are shown, until then.
    revealed_until: Option<DateTime<Utc>>,
    /// Decides what today is.
    now: DateTime<Utc>,
    /// Whether the reader may have them shown.
    may_reveal: bool,
) -> impl IntoView {
    let reveal = ServerAction::<RevealJob>::new();
    let page = format!("/jobs/{id}");
    if let Some(until) = revealed_until {
        return view! {
            <p class="flex flex-wrap items-center gap-1.5 type-label text-muted">
                <Icon glyph=Glyph::Eye />
                {format!("Secrets are shown to you until {}.", format::clock(until, now))}
                <Link href=page class="underline">"Hide"</Link>
            </p>
        }
        .into_any();
    }
    if masked == 0 {
        return ().into_any();
    }
    let says = format!(
        "{} masked: secret by name, or marked so.",
        format::counted(masked.into(), "value is", "values are")
    );
    let fields =
        HiddenFields::default().with("id", id.to_string()).with("back", format!("{page}?revealed=1"));
    view! {
        <div class="flex flex-wrap items-center gap-1.5 type-label text-muted">
            <Icon glyph=Glyph::Eye />
            {says}
            {if may_reveal {
                view! {
                    <PostForm action=reveal hidden=fields>
                        <Button says="Reveal the masked values; the audit log keeps that">"Reveal"</Button>
                    </PostForm>
                    <span>"The audit log keeps that."</span>
                }
                    .into_any()
            } else {
                "Operators may see them.".into_any()
            }}
        </div>
    }
    .into_any()
}
