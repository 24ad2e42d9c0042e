//! What is wrong with one integration.

use super::actions::Actions;
use crate::components::integrations::rate_limit_use::in_words;
use crate::components::{HealthBadge, Judged};
use crate::ui::{Link, ProgressBar, RichText, Tone};
use leptos::prelude::*;

#[component]
pub fn Row(row: Memo<Judged>, may_configure: bool, read_only: bool) -> impl IntoView {
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
