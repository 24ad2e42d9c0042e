//! What is masked of a job, and the button that reveals it. Revealing is recorded in the audit log.

use crate::calls::jobs::RevealJob;
use crate::format;
use crate::ui::{Button, Glyph, HiddenFields, Icon, Link, PostForm, form_action};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::id::JobId;

/// A line under the job's id; nothing where nothing is masked.
#[component]
pub fn MaskedNote(
    id: JobId,
    /// How many values are masked.
    masked: u32,
    /// When they are masked again, if they are revealed.
    revealed_until: Option<DateTime<Utc>>,
    /// Decides which times are today's.
    now: DateTime<Utc>,
    /// Whether the reader may reveal them.
    may_reveal: bool,
) -> impl IntoView {
    let reveal = form_action::<RevealJob>();
    let page = format!("/jobs/{id}");
    if let Some(until) = revealed_until {
        return view! {
            <p class="flex flex-wrap items-center gap-1.5 type-label text-muted">
                <Icon glyph=Glyph::Eye />
                {format!("Masked values are revealed to you until {}.", format::clock(until, now))}
                <Link href=page class="underline">"Hide"</Link>
            </p>
        }
        .into_any();
    }
    if masked == 0 {
        return ().into_any();
    }
    let says = format!(
        "{} masked: secret by name, or marked as secret.",
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
                        <Button says="Reveal the masked values; this is recorded in the audit log">"Reveal"</Button>
                    </PostForm>
                    <span>"Recorded in the audit log."</span>
                }
                    .into_any()
            } else {
                "Operators can reveal them.".into_any()
            }}
        </div>
    }
    .into_any()
}
