//! The remedy next to what is wrong, and controls.

use crate::calls::integrations::{PauseIntegration, ResumeIntegration, SteerBreaker};
use crate::components::Judged;
use crate::ui::{Button, ButtonKind, HiddenFields, LinkButton, PostForm, form_action};
use leptos::prelude::*;
use model::{breaker::BreakerState, integration::IntegrationState, rules::health::HealthKind};

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
pub fn Actions(row: Memo<Judged>, may_configure: bool, says: String) -> impl IntoView {
    let id = row.with_untracked(|(_, g)| g.integration_id);
    let pause = form_action::<PauseIntegration>();
    let resume = form_action::<ResumeIntegration>();
    let steer = form_action::<SteerBreaker>();
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
                        <LinkButton href=format!("/integrations/{id}#card-edit-limits") says=format!("Edit limits of {}", says.get_value())>
                            "Edit limits"
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
