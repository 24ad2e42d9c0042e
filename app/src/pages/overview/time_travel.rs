//! Choice of a minute of the last day: a form and steps that work without a script, and a slider with one.

use crate::format;
use crate::state::page_url::PageUrl;
use crate::state::{base_path, clock};
use crate::ui::{Button, ButtonKind, Glyph, Icon, LinkButton};
use chrono::{DateTime, TimeDelta, Utc};
use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

/// How many minutes can be chosen.
const MINUTES: i64 = 24 * 60;

/// Folded away on the page about the present.
#[component]
pub fn TimeTravel(
    /// The minute shown; `None`: now.
    at: Option<DateTime<Utc>>,
    /// When the page was loaded.
    now: DateTime<Utc>,
    /// The page, with its window.
    here: PageUrl,
) -> impl IntoView {
    let here = here.settled();
    match at {
        Some(at) => view! {
            <section class="card travel tone-limited" aria-label="Time travel">
                <p class="says">
                    <Icon glyph=Glyph::Clock />
                    <span>
                        "As it was at "
                        <time datetime=format::rfc3339(at) title=clock::full(at)>
                            <b>{format::moment(at)}</b>
                        </time>
                        ", " {format::relative(at, now)} ". Read-only: nothing updates here."
                    </span>
                </p>
                <Choice at=at now=now here=here is_past=true />
            </section>
        }
        .into_any(),
        None => view! {
            <details class="travel-fold">
                <summary>"Go back in time"</summary>
                <div class="card travel">
                    <Choice at=now - TimeDelta::hours(1) now=now here=here is_past=false />
                </div>
            </details>
        }
        .into_any(),
    }
}

#[component]
pub fn Choice(at: DateTime<Utc>, now: DateTime<Utc>, here: PageUrl, is_past: bool) -> impl IntoView {
    let field = |at: DateTime<Utc>| at.format("%Y-%m-%dT%H:%M").to_string();
    let to = |at: DateTime<Utc>| here.clone().with("at", format::minute(at)).to_string();
    let step = |by: TimeDelta, words: &'static str, says: &'static str| {
        let then = at + by;
        let is_there = then <= now && now - then <= TimeDelta::minutes(MINUTES);
        is_there.then(|| {
            view! {
                <LinkButton href=to(then) says=says>
                    {words}
                </LinkButton>
            }
        })
    };
    let window = here.get("window").map(str::to_owned);
    let live = here.clone().without("at").to_string();
    view! {
        <form method="get" action=base_path::current().join(here.path()) class="choice">
            <label for="at">"Minute (UTC)"</label>
            <input
                class="input"
                id="at"
                name="at"
                type="datetime-local"
                required
                value=field(at)
                min=field(now - TimeDelta::minutes(MINUTES))
                max=field(now)
            />
            {window.map(|window| view! { <input type="hidden" name="window" value=window /> })}
            <Button>"Show"</Button>
        </form>
        <div class="steps">
            {step(-TimeDelta::hours(1), "−1 h", "One hour earlier")}
            {step(-TimeDelta::minutes(1), "−1 min", "One minute earlier")}
            {step(TimeDelta::minutes(1), "+1 min", "One minute later")}
            {step(TimeDelta::hours(1), "+1 h", "One hour later")}
            {is_past
                .then(|| {
                    view! {
                        <LinkButton href=live kind=ButtonKind::Primary>
                            "Now"
                        </LinkButton>
                    }
                })}
        </div>
        <Slider at=at now=now here=here />
    }
}

/// Shown once the page is hydrated.
#[component]
fn Slider(at: DateTime<Utc>, now: DateTime<Utc>, here: PageUrl) -> impl IntoView {
    let is_hydrated = RwSignal::new(false);
    Effect::new(move |_| is_hydrated.set(true));
    let position = RwSignal::new(MINUTES - (now - at).num_minutes().clamp(0, MINUTES));
    let chosen = move || now - TimeDelta::minutes(MINUTES - position.get());
    let (navigate, base) = (use_navigate(), base_path::current());
    let on_change = move |_| {
        let to = here.clone().with("at", format::minute(untrack(chosen))).to_string();
        navigate(&base.join(&to), NavigateOptions { scroll: false, ..NavigateOptions::default() });
    };
    view! {
        <div class="slide" hidden=move || !is_hydrated.get()>
            <input
                type="range"
                aria-label="Minute of the last day"
                min="0"
                max=MINUTES.to_string()
                step="1"
                value=position.get_untracked().to_string()
                aria-valuetext=move || format::moment(chosen())
                on:input=move |event| {
                    if let Ok(minute) = event_target_value(&event).parse() {
                        position.set(minute);
                    }
                }
                on:change=on_change
            />
            <output class="tabular-nums">{move || format::moment(chosen())}</output>
        </div>
    }
}
