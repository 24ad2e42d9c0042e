//! Why a job is not running, or when it will: the verdict in words, then every gate, open or closed.

mod gates;
mod targets;
mod words;

use self::gates::{gates, until_in_words};
use self::targets::{TargetLink, Targets};
use self::words::{first_blocker, headline, remark, same_cause};
use crate::components::JobStateStyle;
use crate::state::clock;
use crate::ui::{Glyph, Icon, Link, RichText};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::failure::SameCause;
use model::job::{Job, JobStatus};
use model::rules::explain::Explanation;
use model::stats::IntegrationGauge;

#[component]
pub fn JobVerdict(
    job: Job,
    /// What the engine says about it.
    explanation: Explanation,
    /// Its integration's gauges, for numbers of open gates.
    gauge: Option<IntegrationGauge>,
    /// The failure group of a job whose last attempt failed.
    group: Option<SameCause>,
    /// Whether to link to the pages of the deployment.
    #[prop(optional)]
    sees_deployment: bool,
    /// The integration has the record's newest version, whichever job delivered it.
    #[prop(optional)]
    is_in_sync: bool,
    /// The moment `explanation` and `gauge` were read.
    as_of: DateTime<Utc>,
    /// Buttons next to the verdict.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let now = clock::now_or(as_of);
    let tone = JobStateStyle::of(job.status).tone;
    let is_waiting = matches!(job.status, JobStatus::Pending | JobStatus::ToBeRetried | JobStatus::Retrying);
    let targets = Targets { integration_id: job.integration_id, sees_deployment };
    let gates = is_waiting.then(|| gates(&explanation.reasons, gauge.as_ref(), targets));
    let help = first_blocker(&explanation).map(|first| (first.remedy.clone(), targets.from(first.code)));
    let text = remark(&job, &explanation, is_in_sync);
    // A job that has changed since the group was read may have left it.
    let is_failing = matches!(job.status, JobStatus::ToBeRetried | JobStatus::Retrying | JobStatus::Failed);
    let group = group.filter(|_| is_failing).map(|group| {
        let href = format!("/failures?group={}", group.fingerprint);
        view! {
            <p>
                <RichText text=same_cause(&group, as_of) /> " "
                <Link href=href class="underline">"Go to group"</Link>
            </p>
        }
    });
    view! {
        <section class=format!("card {}", tone.class()) aria-label="Verdict">
            <div class="verdict">
                <div>
                    <b class="say break-any">{move || headline(&job, &explanation, now.get())}</b>
                    <p class="break-any">
                        <RichText text=text />
                    </p>
                    {group}
                    {help
                        .map(|(remedy, target)| {
                            view! {
                                <p>
                                    "What helps: "
                                    {remedy}
                                    {target.map(|target| view! { " " <TargetLink target=target /> })}
                                </p>
                            }
                        })}
                </div>
                {children.map(|children| view! { <div class="act flex flex-wrap gap-1.5">{children()}</div> })}
            </div>
            {gates
                .map(|gates| {
                    let gates = gates
                        .into_iter()
                        .map(|gate| {
                            let until = gate.until;
                            let class = if gate.is_open { "gate" } else { "gate stop" };
                            let glyph = if gate.is_open { Glyph::Check } else { Glyph::Clock };
                            let says = if gate.is_open { "open: " } else { "closed: " };
                            view! {
                                <div class=class>
                                    <span>
                                        <Icon glyph=glyph size="w-[13px] h-[13px]" />
                                        {gate.name}
                                    </span>
                                    <p>
                                        <span class="sr-only">{says}</span>
                                        {gate.detail}
                                        {move || {
                                            until.map(|at| until_in_words(at, now.get()))
                                        }}
                                    </p>
                                    {gate.target.map(|target| view! { <p><TargetLink target=target /></p> })}
                                </div>
                            }
                        })
                        .collect_view();
                    view! { <div class="gates">{gates}</div> }
                })}
        </section>
    }
    .into_any()
}
