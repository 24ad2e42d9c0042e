//! What can be done with an integration.

use super::Rights;
use crate::calls::integrations::{PauseIntegration, ResumeIntegration, SteerBreaker};
use crate::ui::{Button, ButtonKind, Glyph, HiddenFields, LinkButton, PostForm, form_action};
use leptos::prelude::*;
use model::breaker::{Breaker, BreakerState};
use model::integration::{Integration, IntegrationState};

/// Remedies, while something is wrong; then controls.
#[component]
pub fn Actions(
    integration: Integration,
    breaker: Memo<Breaker>,
    dead: Signal<i64>,
    rights: Rights,
) -> impl IntoView {
    let id = integration.id;
    let may_configure = rights.configure;
    let probe = form_action::<SteerBreaker>();
    let is_open = Memo::new(move |_| breaker.with(|breaker| breaker.state == BreakerState::Open));
    let has_dead = Memo::new(move |_| dead.get() > 0);
    let back = format!("/integrations/{id}");
    let pause = form_action::<PauseIntegration>();
    let resume = form_action::<ResumeIntegration>();
    let hidden = HiddenFields::default().with("id", id.to_string()).with("back", back.clone());
    let probed = hidden.clone().with("action", "probe");
    view! {
        {move || {
            (may_configure && is_open.get())
                .then(|| {
                    view! {
                        <PostForm action=probe hidden=probed.clone()>
                            <Button kind=ButtonKind::Primary glyph=Glyph::Search>
                                "Probe now"
                            </Button>
                        </PostForm>
                    }
                })
        }}
        {move || {
            (rights.steer_jobs && has_dead.get())
                .then(|| {
                    view! {
                        <LinkButton href=format!("/dead-letters?integration_id={id}&confirm=requeue") glyph=Glyph::Undo>
                            "Requeue dead letters"
                        </LinkButton>
                    }
                })
        }}
        <LinkButton href=format!("/failures?integration_id={id}")>"See failures"</LinkButton>
        {may_configure.then(|| view! { <LinkButton href=format!("{back}#card-edit-limits")>"Edit limits"</LinkButton> })}
        {match integration.state {
            IntegrationState::Active if may_configure => {
                view! {
                    <PostForm action=pause hidden=hidden>
                        <Button glyph=Glyph::Pause>"Pause"</Button>
                    </PostForm>
                }
                    .into_any()
            }
            IntegrationState::Paused if may_configure => {
                view! {
                    <PostForm action=resume hidden=hidden>
                        <Button kind=ButtonKind::Primary glyph=Glyph::Play>
                            "Resume"
                        </Button>
                    </PostForm>
                }
                    .into_any()
            }
            _ => ().into_any(),
        }}
    }
    .into_any()
}
