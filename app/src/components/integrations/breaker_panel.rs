//! An integration's circuit breaker: its state, why, what comes next, and the three things an operator can do about it.

use crate::calls::integrations::SteerBreaker;
use crate::components::{BreakerBadge, BreakerStyle};
use crate::format;
use crate::state::form_draft::Draft;
use crate::state::{clock, page_url};
use crate::ui::{
    Ago, Button, Card, Fact, Facts, Glyph, HiddenFields, Instant, PostForm, TextField, form_action,
};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;
use model::breaker::{Breaker, BreakerFlip, BreakerState};
use model::id::IntegrationId;

#[component]
pub fn BreakerPanel(
    id: IntegrationId,
    /// Its present state.
    #[prop(into)]
    breaker: Signal<Breaker>,
    /// Newest first.
    flips: Vec<BreakerFlip>,
    may_configure: bool,
    /// Where a form leads back to.
    back: String,
    /// The moment of the first render.
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let now = clock::now_or(as_of);
    let breaker_style = Signal::derive(move || breaker.with(BreakerStyle::of));
    view! {
        <Card title="Breaker">
            <Facts>
                <Fact name="State">
                    <BreakerBadge breaker_style=breaker_style />
                </Fact>
                {move || {
                    let breaker = breaker.get();
                    view! {
                        {breaker
                            .since
                            .map(|at| view! { <Fact name="Since"><Instant at=at now=as_of />" ("<Ago at=at now=now />")"</Fact> })}
                        {breaker.reason.clone().map(|why| view! { <Fact name="Reason"><span class="break-any">{why}</span></Fact> })}
                        {breaker
                            .probe_at
                            .map(|at| {
                                let relative = move || if at <= now.get() { "any moment now".to_owned() } else { format::relative(at, now.get()) };
                                view! { <Fact name="Next probe"><Instant at=at now=as_of />" ("{relative}")"</Fact> }
                            })}
                        {breaker
                            .at_once
                            .filter(|at_once| *at_once > 0)
                            .map(|at_once| view! { <Fact name="Current concurrency">{format::count(at_once.into())}</Fact> })}
                        <Fact name="Consecutive failures">{format::count(breaker.failures_in_a_row.into())}</Fact>
                    }
                }}
            </Facts>
            {may_configure.then(|| view! { <Steering id=id breaker=breaker back=back as_of=as_of /> })}
            {(!flips.is_empty()).then(|| view! { <Flips flips=flips as_of=as_of /> })}
        </Card>
    }
    .into_any()
}

#[component]
fn Steering(
    id: IntegrationId,
    breaker: Signal<Breaker>,
    back: String,
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let steer = form_action::<SteerBreaker>();
    let state = Memo::new(move |_| breaker.with(|breaker| breaker.state));
    let hidden = HiddenFields::default().with("id", id.to_string()).with("back", back);
    let asking = move |action: &'static str| hidden.clone().with("action", action);
    let to_hold = asking("hold");
    let draft = page_url::current().with_untracked(Draft::of);
    // The format of a `datetime-local` field; the console's times are UTC.
    let in_an_hour = || (as_of + TimeDelta::hours(1)).format("%Y-%m-%dT%H:%M").to_string();
    let until = draft.value("until").unwrap_or_else(in_an_hour);
    view! {
        <div class="flex flex-wrap gap-2 px-4 pt-1 pb-2 empty:hidden">
            {move || {
                let probe = asking("probe");
                let close = asking("close");
                let state = state.get();
                view! {
                    {(state == BreakerState::Open)
                        .then(|| {
                            view! {
                                <PostForm action=steer hidden=probe>
                                    <Button glyph=Glyph::Search>"Probe now"</Button>
                                </PostForm>
                            }
                        })}
                    {(state != BreakerState::Closed)
                        .then(|| {
                            view! {
                                <PostForm action=steer hidden=close>
                                    <Button glyph=Glyph::Check>"Close"</Button>
                                </PostForm>
                            }
                        })}
                }
            }}
        </div>
        <PostForm action=steer hidden=to_hold class="filters">
            <TextField
                name="until"
                label="Hold open until (UTC)"
                kind="datetime-local"
                value=until
                error=draft.fault("until")
                required=true
                grow=true
            />
            <div class="fit">
                <Button glyph=Glyph::Hand>"Hold open"</Button>
            </div>
        </PostForm>
    }
    .into_any()
}

#[component]
fn Flips(flips: Vec<BreakerFlip>, as_of: DateTime<Utc>) -> impl IntoView {
    view! {
        <h3 class="px-4 pt-2 pb-1 type-label font-semibold text-muted">"Recent changes"</h3>
        <ul class="grid gap-1.5 px-4 pb-4" aria-label="Recent breaker changes">
            {flips
                .into_iter()
                .map(|flip| {
                    let by = flip.actor.map(|actor| format!(", by {actor}")).unwrap_or_default();
                    view! {
                        <li class="type-label">
                            <span class="text-faint">
                                <Instant at=flip.at now=as_of />
                            </span>
                            " "
                            <b class="font-semibold">{word(flip.to_state)}</b>
                            <span class="text-muted break-any">{format!(": {}{by}", flip.reason)}</span>
                        </li>
                    }
                })
                .collect_view()}
        </ul>
    }
    .into_any()
}

fn word(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "Closed",
        BreakerState::Open => "Open",
        BreakerState::HalfOpen => "Half-open",
        BreakerState::Ramping => "Ramping up",
    }
}
