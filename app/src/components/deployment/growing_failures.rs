//! Failure causes that grow, in the list of what needs attention.

use crate::format;
use crate::state::refresh;
use crate::ui::{Glyph, Link, LinkButton, Pill, RichText, Tone, literal};
use leptos::prelude::*;
use model::failure::{GrowingFailure, MAX_COUNTED_GROUPS};
use model::stats::Snapshot;

/// A line each; nothing while none grows.
#[component]
pub fn GrowingFailures(
    #[prop(into)] snapshot: Signal<Snapshot>,
    /// Without links and buttons: on a page about the past, or on the wallboard.
    read_only: bool,
) -> impl IntoView {
    let growing = Memo::new(move |_| snapshot.with(|s| s.failures.growing.clone()));
    view! {
        <For
            each=move || growing.get()
            key=|failure| failure.fingerprint
            children=move |first| {
                let id = first.fingerprint;
                let row = refresh::row(first, move || growing.with(|all| all.iter().find(|one| one.fingerprint == id).cloned()));
                view! { <Line row=row read_only=read_only /> }
            }
        />
    }
    .into_any()
}

#[component]
fn Line(row: Memo<GrowingFailure>, read_only: bool) -> impl IntoView {
    let (id, title) = row.with_untracked(|row| (row.fingerprint, title(row)));
    let href = format!("/failures?group={id}");
    let says = format!("See group: {title}");
    let who = if read_only {
        view! { <span>{title}</span> }.into_any()
    } else {
        view! {
            <Link href=href.clone() class="hover:underline">
                {title}
            </Link>
        }
        .into_any()
    };
    view! {
        <div class="att">
            <div class="who">
                {who}
                <Pill
                    tone=Signal::stored(Tone::Failed)
                    glyph=Signal::stored(Glyph::Alert)
                    label=Signal::stored("Growing".to_owned())
                />
            </div>
            <p class="why">
                <RichText text=Signal::derive(move || row.with(sentence)) />
            </p>
            {(!read_only)
                .then(|| {
                    view! {
                        <div class="act">
                            <LinkButton href=href says=says>"See group"</LinkButton>
                        </div>
                    }
                })}
        </div>
    }
    .into_any()
}

/// The cause, with the status it came with.
fn title(failure: &GrowingFailure) -> String {
    match failure.response_status {
        Some(status) => format!("{} ({status})", failure.cause),
        None => failure.cause.clone(),
    }
}

/// Where, and how much more than the hour before.
fn sentence(failure: &GrowingFailure) -> String {
    let at = match &failure.integration {
        Some(name) => literal(name),
        None if failure.integrations == 1 => "1 integration".to_owned(),
        None => format!("{} integrations", format::up_to(failure.integrations, MAX_COUNTED_GROUPS)),
    };
    let attempts = if failure.last_hour == 1 { "failed attempt" } else { "failed attempts" };
    format!(
        "**{at}**: about **{}** {attempts} in the last hour, about **{}** in the hour before",
        format::count(failure.last_hour),
        format::count(failure.hour_before)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::failure::CauseId;

    #[test]
    fn the_sentence_says_where_and_how_much_more() {
        let one = GrowingFailure {
            fingerprint: CauseId(1),
            cause: "Their system is down or overloaded".to_owned(),
            response_status: Some(503),
            integrations: 1,
            integration: Some("Shop ** X".to_owned()),
            last_hour: 1_420,
            hour_before: 12,
        };
        assert_eq!(title(&one), "Their system is down or overloaded (503)");
        let says = sentence(&one);
        assert_eq!(
            says,
            "**Shop * * X**: about **1,420** failed attempts in the last hour, about **12** in the hour before"
        );
        let many = GrowingFailure { integration: None, integrations: 1_000, ..one };
        assert!(sentence(&many).starts_with("**1,000+ integrations**"));
    }
}
