//! One group in the list.

use super::group_words;
use crate::format;
use crate::state::page_url::PageUrl;
use crate::ui::{Ago, Link, LinkButton, Pill, Sparkline};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::failure::FailureGroup;
use model::rules::plain_cause;

/// The cause links to the group. The row stays in place while its numbers change, and when it has left the list.
#[component]
pub fn Row(
    group: Memo<FailureGroup>,
    /// The list that was loaded again has it no more: its numbers are the last known ones.
    has_left: Memo<bool>,
    /// The list.
    here: PageUrl,
    /// Ages are relative to it.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
    /// Whether the reader may retry it.
    may_steer: bool,
) -> impl IntoView {
    let (fingerprint, words, first_at) =
        group.with_untracked(|group| (group.fingerprint, group.words(), group.first_at));
    let whole = here.clone().with("group", fingerprint).to_string();
    let retry = here.with("group", fingerprint).with("confirm", "requeue").to_string();
    let error = Memo::new(move |_| group.with(|group| group.error.clone()));
    let cause =
        Memo::new(move |_| group.with(|group| plain_cause::sentence(&group.error, group.response_status)));
    let trend = Signal::derive(move || {
        group.with(|group| group.trend.failed.iter().map(|n| Some(*n as f64)).collect::<Vec<_>>())
    });
    let trend_says = Memo::new(move |_| group.with(group_words::trend));
    let state = Memo::new(move |_| {
        if has_left.get() { group_words::NO_LONGER_LISTED } else { group.with(group_words::state) }
    });
    let last_at = Memo::new(move |_| group.with(|group| group.last_at));
    let has_jobs = Memo::new(move |_| group.with(|group| group.jobs() > 0));
    let waiting = Memo::new(move |_| group.with(|group| group.to_be_retried));
    let dead = Memo::new(move |_| group.with(|group| group.dead_letters));
    let zero = |n: Memo<i64>| move || if n.get() == 0 { "n zero" } else { "n font-semibold" };
    view! {
        <tr>
            <td class="grow what">
                <Link href=whole class="font-semibold hover:underline">{words.cause}</Link>
                <p class="type-label text-faint break-any" title=move || error.get()>
                    {move || cause.get()}
                </p>
            </td>
            <td class="state">
                <Pill
                    tone=Signal::derive(move || state.get().0)
                    glyph=Signal::derive(move || state.get().1)
                    label=Signal::derive(move || state.get().2.to_owned())
                />
            </td>
            <td class="w-28 tone-failed" title=move || trend_says.get()>
                <Sparkline values=trend label=trend_says />
            </td>
            <td class=zero(waiting) data-label="to be retried">{move || format::count(waiting.get())}</td>
            <td class=zero(dead) data-label="dead letters">{move || format::count(dead.get())}</td>
            <td class="where">{move || group.with(group_words::reach)}</td>
            <td class="first text-muted" data-label="first">
                <Ago at=first_at now=now />
            </td>
            <td class="when text-muted" data-label="last">
                {move || view! { <Ago at=last_at.get() now=now /> }}
            </td>
            <td class="actions">
                {move || {
                    (may_steer && has_jobs.get())
                        .then(|| {
                            view! {
                                <LinkButton href=retry.clone() says=format!("Retry: {}", words.cause)>
                                    "Retry"
                                </LinkButton>
                            }
                        })
                }}
            </td>
        </tr>
    }
    .into_any()
}
