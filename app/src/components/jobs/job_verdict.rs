//! Why a job is not running, or when it will: the verdict in words, then every gate, open or closed.

use crate::{
    components::{JobStateStyle, RichText, page::rich_text::foreign},
    format,
    state::clock,
    ui::{Glyph, Icon, Link},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{
    id::IntegrationId,
    job::{Job, JobStatus},
    rules::explain::{Explanation, Reason, ReasonCode},
    stats::IntegrationGauge,
    text::ordinal,
};

#[component]
pub fn JobVerdict(
    job: Job,
    /// What the engine says about it.
    explanation: Explanation,
    /// Its integration's gauges, for numbers of open gates.
    gauge: Option<IntegrationGauge>,
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
    view! {
        <section class=format!("card {}", tone.class()) aria-label="Verdict">
            <div class="verdict">
                <div>
                    <b class="say">{move || headline(&job, &explanation, now.get())}</b>
                    <p>
                        <RichText text=text />
                    </p>
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

/// One gate between the job and its next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gate {
    name: &'static str,
    is_open: bool,
    detail: String,
    until: Option<DateTime<Utc>>,
    target: Option<Target>,
}

/// Where a closed gate is explained or can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    href: String,
    words: &'static str,
}

#[component]
fn TargetLink(target: Target) -> impl IntoView {
    view! { <Link href=target.href class="underline">{target.words}</Link> }.into_any()
}

/// Links to what blocks a job.
#[derive(Clone, Copy)]
struct Targets {
    integration_id: IntegrationId,
    sees_deployment: bool,
}

impl Targets {
    fn from(self, code: ReasonCode) -> Option<Target> {
        let id = self.integration_id;
        let (href, words) = match code {
            ReasonCode::IntegrationPaused | ReasonCode::IntegrationDisabled => {
                (format!("/integrations/{id}"), "Go to integration")
            }
            ReasonCode::CircuitOpen => (format!("/integrations/{id}"), "Go to breaker"),
            ReasonCode::HeldByReceiver | ReasonCode::RateLimited => {
                (format!("/integrations/{id}"), "Go to limits")
            }
            ReasonCode::ResyncPaused => ("/resyncs".to_owned(), "Go to re-syncs"),
            ReasonCode::ConcurrencyFull => {
                (format!("/jobs?status=processing&integration_id={id}"), "Running jobs")
            }
            ReasonCode::BehindInQueue => {
                (format!("/jobs?status=pending&integration_id={id}"), "Waiting jobs")
            }
            ReasonCode::NoWorker if self.sees_deployment => ("/workers".to_owned(), "Go to workers"),
            ReasonCode::LeaseLost if self.sees_deployment => ("/workers".to_owned(), "Go to workers"),
            _ => return None,
        };
        Some(Target { href, words })
    }
}

/// All gates in the order a job meets them. Those the engine names no reason for are open.
fn gates(reasons: &[Reason], gauge: Option<&IntegrationGauge>, targets: Targets) -> Vec<Gate> {
    use ReasonCode::{
        BehindInQueue, BehindSerializeKey, CircuitOpen, ConcurrencyFull, GathersChanges, HeldByReceiver,
        IntegrationDisabled, IntegrationPaused, NoWorker, NotInQueue, RateLimited, ResyncPaused, Scheduled,
        WaitingRetry,
    };
    let slots = gauge.map_or_else(
        || "free".to_owned(),
        |g| format!("{} in use", format::of_max(g.processing, g.max_concurrency.into())),
    );
    let limit = gauge.and_then(|g| g.rate_limit).map_or_else(
        || "no limit".to_owned(),
        |l| {
            format!(
                "{} of {}",
                format::count(l.used.into()),
                format::limit(l.limit.into(), l.per_seconds.into())
            )
        },
    );
    let table: [(&'static str, &[ReasonCode], String); 8] = [
        (
            "Integration",
            &[IntegrationDisabled, IntegrationPaused, CircuitOpen, ResyncPaused],
            "active".to_owned(),
        ),
        ("Time", &[Scheduled, GathersChanges, WaitingRetry], "due".to_owned()),
        ("Order", &[BehindSerializeKey], "first of its key".to_owned()),
        ("Their system", &[HeldByReceiver], "accepts requests".to_owned()),
        ("Rate limit", &[RateLimited], limit),
        ("Concurrency", &[ConcurrencyFull], slots),
        ("Workers", &[NoWorker], "running".to_owned()),
        ("Queue", &[BehindInQueue, NotInQueue], "nothing ahead".to_owned()),
    ];
    table
        .into_iter()
        .map(|(name, codes, open)| match reasons.iter().find(|reason| codes.contains(&reason.code)) {
            Some(reason) => {
                let target = targets.from(reason.code);
                Gate { name, is_open: false, detail: closed_in_words(reason), until: reason.until, target }
            }
            None => Gate { name, is_open: true, detail: open, until: None, target: None },
        })
        .collect()
}

fn closed_in_words(reason: &Reason) -> String {
    match reason.code {
        ReasonCode::WaitingRetry => "waits".to_owned(),
        ReasonCode::Scheduled => "scheduled".to_owned(),
        ReasonCode::GathersChanges => "collecting changes".to_owned(),
        ReasonCode::HeldByReceiver => "asked to wait (429)".to_owned(),
        ReasonCode::RateLimited => "used up".to_owned(),
        ReasonCode::IntegrationPaused => "paused".to_owned(),
        ReasonCode::IntegrationDisabled => "disabled".to_owned(),
        ReasonCode::ResyncPaused => "its re-sync is paused".to_owned(),
        ReasonCode::CircuitOpen if reason.until.is_some() => "its circuit is open".to_owned(),
        ReasonCode::CircuitOpen => "its circuit lets few through".to_owned(),
        _ => reason.detail.trim_end_matches('.').to_owned(),
    }
}

/// The engine opens a gate within a second of its time.
fn until_in_words(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let clock = format::clock(at, now);
    if at <= now {
        format!(" until {clock}, any moment now")
    } else {
        format!(" until {clock}, {}", format::relative(at, now))
    }
}

fn headline(job: &Job, explanation: &Explanation, now: DateTime<Utc>) -> String {
    let at = |at: Option<DateTime<Utc>>| {
        at.map_or_else(String::new, |at| {
            format!(" at {}, {}", format::clock(at, now), format::relative(at, now))
        })
    };
    if let Some(at) = job.cancel_requested_at {
        let when = format::relative(at, now);
        return format!("Cancellation was requested {when}; its worker has not stopped yet.");
    }
    match job.status {
        JobStatus::Processing => format!(
            "Processing: attempt {} of {} began{}.",
            job.attempt,
            job.max_attempts,
            at(job.started_at)
        ),
        JobStatus::Completed if job.outcome.as_deref() == Some("unchanged") => {
            format!("Completed{}, without a request: the record was already in sync.", at(job.completed_at))
        }
        JobStatus::Completed => format!("Completed{}, in {}.", at(job.completed_at), attempts(job.attempt)),
        JobStatus::Failed => format!("Given up{} after {}.", at(job.failed_at), attempts(job.attempt)),
        JobStatus::Cancelled => format!("Cancelled{}.", at(job.cancelled_at)),
        JobStatus::Pending | JobStatus::ToBeRetried | JobStatus::Retrying => waiting(job, explanation, now),
    }
}

fn first_blocker(explanation: &Explanation) -> Option<&Reason> {
    explanation.reasons.first().filter(|first| first.code != ReasonCode::NextInLine)
}

fn waiting(job: &Job, explanation: &Explanation, now: DateTime<Utc>) -> String {
    let next = ordinal(i64::from(job.attempt) + 1);
    let Some(first) = first_blocker(explanation) else {
        return format!("Its {next} attempt starts at once: nothing blocks it.");
    };
    match (first.code, explanation.runs_at) {
        (ReasonCode::WaitingRetry | ReasonCode::Scheduled | ReasonCode::GathersChanges, Some(at)) => {
            let (clock, relative) = (format::clock(at, now), format::relative(at, now));
            if at <= now {
                format!("Its {next} attempt is due since {clock}.")
            } else {
                format!("Waits for its {next} attempt at {clock}, {relative}.")
            }
        }
        _ => format!("Waits for its {next} attempt. {}", first.detail),
    }
}

/// The sentence below the verdict.
fn remark(job: &Job, explanation: &Explanation, is_in_sync: bool) -> String {
    let error = job
        .error_message
        .as_deref()
        .and_then(|text| text.lines().next())
        .map(|text| foreign(text.trim_end_matches('.')));
    let others: Vec<_> = explanation.reasons.iter().skip(1).map(|reason| reason.detail.clone()).collect();
    match (job.status, error) {
        (JobStatus::Failed, Some(error)) if is_in_sync => {
            format!(
                "Last attempt: **{error}**. A later job has brought the record up to date: **nothing is missing**."
            )
        }
        (JobStatus::Failed, Some(error)) => {
            format!(
                "Last attempt: **{error}**. It will not be tried again by itself: requeue it once the cause is fixed."
            )
        }
        (JobStatus::ToBeRetried | JobStatus::Retrying, Some(error)) if others.is_empty() => {
            format!("Last attempt: **{error}**. Nothing else blocks it.")
        }
        (JobStatus::ToBeRetried | JobStatus::Retrying, Some(error)) => {
            format!("Last attempt: **{error}**. Also: {}", others.join(" "))
        }
        (JobStatus::Processing, _) if explanation.reasons.iter().any(|r| r.code == ReasonCode::LeaseLost) => {
            explanation.reasons.iter().map(|reason| reason.detail.clone()).collect::<Vec<_>>().join(" ")
        }
        (JobStatus::Processing, _) if job.cancel_requested_at.is_some() => {
            "It ends when its worker stops, or its lease is lost. **No further attempt follows**, and no other job of its record or serialize key starts before then.".to_owned()
        }
        (JobStatus::Cancelled, _) => {
            job.outcome.as_deref().map_or_else(String::new, |why| foreign(&format!("Why: {why}.")))
        }
        _ => others.join(" "),
    }
}

fn attempts(n: i16) -> String {
    format::counted(n.into(), "attempt", "attempts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_job_says_when_it_was_asked_to_cancel() {
        let id = "0193f2c1-7b1e-7d04-9a55-2f0c8a9d41b7";
        let (at, now) = ("2026-11-20T14:00:00Z", "2026-11-20T14:00:03Z");
        let job: Job = serde_json::from_value(serde_json::json!({
            "id": id, "app_id": id, "integration_id": id, "integration_type": "webhook", "job_type": "record.updated",
            "status": "processing", "priority": 0, "correlation_id": "c", "attempt": 1, "max_attempts": 10,
            "run_at": at, "created_at": at, "started_at": at, "cancel_requested_at": at, "folded": 0,
        }))
        .expect("a job");
        let explanation = Explanation { state: job.status, reasons: Vec::new(), runs_at: None };
        assert_eq!(
            headline(&job, &explanation, now.parse().expect("a time")),
            "Cancellation was requested 3 s ago; its worker has not stopped yet."
        );
        assert!(remark(&job, &explanation, false).contains("No further attempt follows"));
    }

    #[test]
    fn a_gate_whose_time_has_come_opens_any_moment() {
        let now = DateTime::UNIX_EPOCH;
        let after = |seconds| until_in_words(now + chrono::TimeDelta::seconds(seconds), now);
        assert_eq!(after(38), " until 00:00:38, in 38 s");
        assert_eq!(after(0), " until 00:00:00, any moment now");
    }

    #[test]
    fn the_closed_gate_is_marked_and_the_others_are_open() {
        let reason = Reason {
            code: ReasonCode::ConcurrencyFull,
            detail: "50 of 50 jobs are running.".to_owned(),
            remedy: String::new(),
            until: None,
        };
        let targets = Targets { integration_id: IntegrationId::generate(), sees_deployment: false };
        let gates = gates(&[reason], None, targets);
        assert_eq!(gates.len(), 8);
        let closed: Vec<_> = gates.iter().filter(|gate| !gate.is_open).collect();
        assert_eq!(closed.len(), 1);
        assert_eq!((closed[0].name, closed[0].detail.as_str()), ("Concurrency", "50 of 50 jobs are running"));
    }
}
