//! The overview's list of what is not as it should be: verdict in words, the limit's use, the remedy beside it.

use super::{Health, HealthBadge, RichText, Warnings, rate_limit_use::in_words};
use crate::{
    calls::integrations::{PauseIntegration, ResumeIntegration},
    ui::{Button, EmptyState, Glyph, HiddenFields, Link, LinkButton, PostForm, ProgressBar, Tone},
};
use leptos::prelude::*;
use model::{
    integration::IntegrationState,
    stats::{IntegrationGauge, Snapshot},
};

/// Worst first. Healthy is one sentence, not an empty list.
#[component]
pub fn Attention(
    /// The gauges.
    #[prop(into)]
    snapshot: Signal<Snapshot>,
    /// Whether the reader may pause and resume.
    may_configure: bool,
    /// How many rows at most.
    most: usize,
) -> impl IntoView {
    let rows = Memo::new(move |_| {
        snapshot.with(|s| {
            let mut rows: Vec<_> = s
                .integrations
                .iter()
                .map(|gauge| (Health::of(gauge, s.at), gauge.clone()))
                .filter(|(health, _)| health.needs_attention())
                .collect();
            rows.sort_by(|a, b| b.0.severity.cmp(&a.0.severity).then_with(|| b.1.backlog.cmp(&a.1.backlog)));
            rows.truncate(most);
            rows
        })
    });
    let has_warnings = Memo::new(move |_| snapshot.with(|s| !s.warnings.is_empty()));
    view! {
        <Warnings snapshot=snapshot />
        <For
            each=move || rows.get()
            key=|(_, gauge)| gauge.integration_id
            children=move |(health, gauge)| {
                let id = gauge.integration_id;
                // The row stays while its numbers change: nothing moves under the pointer.
                let row = Memo::new(move |last: Option<&(Health, IntegrationGauge)>| {
                    rows.with(|rows| rows.iter().find(|(_, g)| g.integration_id == id).cloned())
                        .or_else(|| last.cloned())
                        .unwrap_or_else(|| (health.clone(), gauge.clone()))
                });
                view! { <Row row=row may_configure=may_configure /> }
            }
        />
        {move || {
            (rows.with(Vec::is_empty) && !has_warnings.get())
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
                                text="Make an app and an integration over the API; the first record change shows here a second later."
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
fn Row(row: Memo<(Health, IntegrationGauge)>, may_configure: bool) -> impl IntoView {
    let (id, name, app_name) =
        row.with_untracked(|(_, g)| (g.integration_id, g.name.clone(), g.app_name.clone()));
    let pause = ServerAction::<PauseIntegration>::new();
    let resume = ServerAction::<ResumeIntegration>::new();
    let has_limit = Memo::new(move |_| row.with(|(_, g)| g.rate_limit.is_some()));
    let state = Memo::new(move |_| row.with(|(_, g)| g.state));
    let has_failures = Memo::new(move |_| row.with(|(_, g)| g.dead_letters > 0));
    let fields = move || HiddenFields::default().with("id", id.to_string()).with("back", "/");
    let says = StoredValue::new(name.clone());
    view! {
        <div class="att">
            <div class="who">
                <Link href=format!("/integrations/{id}") class="hover:underline">
                    {name}
                </Link>
                <span class="type-label font-normal text-faint">{app_name}</span>
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
            <div class="act">
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
                    match state.get() {
                        _ if !may_configure => ().into_any(),
                        IntegrationState::Active => {
                            view! {
                                <PostForm action=pause hidden=fields()>
                                    <Button says=format!("Pause {}", says.get_value())>"Pause"</Button>
                                </PostForm>
                            }
                                .into_any()
                        }
                        IntegrationState::Paused => {
                            view! {
                                <PostForm action=resume hidden=fields()>
                                    <Button says=format!("Resume {}", says.get_value())>"Resume"</Button>
                                </PostForm>
                            }
                                .into_any()
                        }
                        IntegrationState::Disabled => ().into_any(),
                    }
                }}
            </div>
        </div>
    }
    .into_any()
}
