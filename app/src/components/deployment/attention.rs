//! The overview's list of what needs attention: verdict in words, use of the limit, the remedy next to it.

use crate::{
    calls::integrations::{PauseIntegration, ResumeIntegration, SteerBreaker},
    components::{
        GrowingFailures, HealthBadge, HealthText, Judged, RichText, Warnings,
        integrations::rate_limit_use::in_words, row_of,
    },
    ui::{
        Button, ButtonKind, EmptyState, Glyph, HiddenFields, Link, LinkButton, PostForm, ProgressBar, Tone,
    },
};
use leptos::prelude::*;
use model::{
    breaker::BreakerState, integration::IntegrationState, rules::health::HealthKind, stats::Snapshot,
};

/// Worst first. When all is healthy, that is said in a sentence.
#[component]
pub fn Attention(
    #[prop(into)] snapshot: Signal<Snapshot>,
    may_configure: bool,
    /// At most so many rows.
    max_rows: usize,
    /// Another card needs attention: "Nothing needs you" is not said.
    #[prop(optional, into)]
    other_cards_warn: Signal<bool>,
    /// Without buttons: on a page about the past, or on the wallboard.
    #[prop(optional)]
    read_only: bool,
) -> impl IntoView {
    let rows = Memo::new(move |_| {
        snapshot.with(|s| {
            let mut rows: Vec<_> = s
                .integrations
                .iter()
                .map(|gauge| (HealthText::of(gauge, s.at), gauge.clone()))
                .filter(|(text, _)| text.health.needs_attention())
                .collect();
            rows.sort_by(HealthText::worst_first);
            rows.truncate(max_rows);
            rows
        })
    });
    let has_others =
        Memo::new(move |_| snapshot.with(|s| !s.warnings.is_empty() || !s.failures.growing.is_empty()));
    view! {
        <Warnings snapshot=snapshot />
        <GrowingFailures snapshot=snapshot read_only=read_only />
        <For
            each=move || rows.get()
            key=|(_, gauge)| gauge.integration_id
            children=move |first| {
                view! { <Row row=row_of(rows, first) may_configure=may_configure read_only=read_only /> }
            }
        />
        {move || {
            (rows.with(Vec::is_empty) && !has_others.get() && !other_cards_warn.get())
                .then(|| {
                    let any = snapshot.with(|s| !s.integrations.is_empty());
                    if any {
                        view! {
                            <EmptyState
                                glyph=Glyph::Check
                                tone=Tone::Delivered
                                title="Nothing needs you"
                                text="Every integration is in sync or catching up by itself."
                            />
                        }
                            .into_any()
                    } else {
                        view! {
                            <EmptyState
                                glyph=Glyph::Plug
                                title="No integrations yet"
                                text="Create an app and an integration with the API; the first record change shows here within a second."
                            >
                                <a class="link" href=crate::state::base_path::current().join("/api/docs") rel="external">
                                    "API documentation"
                                </a>
                            </EmptyState>
                        }
                            .into_any()
                    }
                })
        }}
    }
    .into_any()
}

#[component]
fn Row(row: Memo<Judged>, may_configure: bool, read_only: bool) -> impl IntoView {
    let (id, name, app_name) =
        row.with_untracked(|(_, g)| (g.integration_id, g.name.clone(), g.app_name.clone()));
    let says = name.clone();
    let has_limit = Memo::new(move |_| row.with(|(_, g)| g.rate_limit.is_some()));
    let who = if read_only {
        view! { <span>{name}</span> }.into_any()
    } else {
        view! {
            <Link href=format!("/integrations/{id}") class="hover:underline">
                {name}
            </Link>
        }
        .into_any()
    };
    view! {
        <div class="att">
            <div class="who">
                {who} <span class="type-label font-normal text-faint">{app_name}</span>
                <HealthBadge health=Signal::derive(move || row.get().0) />
            </div>
            <p class="why">
                <RichText text=Signal::derive(move || row.with(|(health, _)| health.sentence.clone())) />
            </p>
            <div class="strip">
                {move || {
                    if has_limit.get() {
                        let usage = Signal::derive(move || row.with(|(_, g)| g.rate_limit));
                        let share = Signal::derive(move || {
                            usage.get().map_or(0.0, |limit| f64::from(limit.used) / f64::from(limit.limit.max(1)))
                        });
                        view! {
                            <ProgressBar label="Rate limit used" share=share tone=Tone::Limited />
                            <div class="cap">
                                <span>"limit used"</span>
                                <span>{move || usage.get().map(in_words)}</span>
                            </div>
                        }
                            .into_any()
                    } else {
                        view! { <p class="type-caption text-faint">"no limit"</p> }.into_any()
                    }
                }}
            </div>
            {(!read_only).then(|| view! { <Actions row=row may_configure=may_configure says=says /> })}
        </div>
    }
    .into_any()
}

/// What mends it, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    Resume,
    Probe,
    ChangeLimit,
    None,
}

const fn remedy(kind: HealthKind) -> Remedy {
    match kind {
        HealthKind::Paused => Remedy::Resume,
        HealthKind::Breaker(BreakerState::Open) => Remedy::Probe,
        HealthKind::AtLimit => Remedy::ChangeLimit,
        _ => Remedy::None,
    }
}

#[component]
fn Actions(row: Memo<Judged>, may_configure: bool, says: String) -> impl IntoView {
    let id = row.with_untracked(|(_, g)| g.integration_id);
    let pause = ServerAction::<PauseIntegration>::new();
    let resume = ServerAction::<ResumeIntegration>::new();
    let steer = ServerAction::<SteerBreaker>::new();
    let remedy = Memo::new(move |_| row.with(|(text, _)| remedy(text.health.kind)));
    let is_active = Memo::new(move |_| row.with(|(_, g)| g.state == IntegrationState::Active));
    let has_failures = Memo::new(move |_| row.with(|(_, g)| g.dead_letters > 0));
    let fields = move || HiddenFields::default().with("id", id.to_string()).with("back", "/");
    let says = StoredValue::new(says);
    view! {
        <div class="act">
            {move || match remedy.get() {
                Remedy::Resume if may_configure => {
                    view! {
                        <PostForm action=resume hidden=fields()>
                            <Button kind=ButtonKind::Primary says=format!("Resume {}", says.get_value())>"Resume"</Button>
                        </PostForm>
                    }
                        .into_any()
                }
                Remedy::Probe if may_configure => {
                    view! {
                        <PostForm action=steer hidden=fields().with("action", "probe")>
                            <Button kind=ButtonKind::Primary says=format!("Probe {} now", says.get_value())>"Probe now"</Button>
                        </PostForm>
                    }
                        .into_any()
                }
                Remedy::ChangeLimit if may_configure => {
                    view! {
                        <LinkButton href=format!("/integrations/{id}#card-limits") says=format!("Change the limit of {}", says.get_value())>
                            "Change limit"
                        </LinkButton>
                    }
                        .into_any()
                }
                _ => ().into_any(),
            }}
            {move || {
                has_failures
                    .get()
                    .then(|| {
                        view! {
                            <LinkButton
                                href=format!("/dead-letters?integration_id={id}")
                                says=format!("See failures of {}", says.get_value())
                            >
                                "See failures"
                            </LinkButton>
                        }
                    })
            }}
            {move || {
                (may_configure && is_active.get())
                    .then(|| {
                        view! {
                            <PostForm action=pause hidden=fields()>
                                <Button says=format!("Pause {}", says.get_value())>"Pause"</Button>
                            </PostForm>
                        }
                    })
            }}
        </div>
    }
    .into_any()
}
