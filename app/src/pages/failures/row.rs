//! One group in the list.

use super::look;
use crate::{
    format,
    state::page_url::PageUrl,
    ui::{Ago, Link, LinkButton, Pill, Sparkline},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::failure::FailureGroup;

/// Its row: the cause leads to all of it.
#[component]
pub fn Row(
    /// The group.
    group: FailureGroup,
    /// The list.
    here: PageUrl,
    /// Against what ages are told.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
    /// Whether the reader may try it again.
    may_steer: bool,
) -> impl IntoView {
    let words = group.words();
    let (tone, glyph, word) = look::state(&group);
    let whole = here.clone().with("group", group.fingerprint).to_string();
    let retry = here.with("group", group.fingerprint).with("confirm", "requeue").to_string();
    let error = format::error_line(&group.error).to_owned();
    let trend: Vec<_> = group.trend.failed.iter().map(|n| Some(*n as f64)).collect();
    let trend_says = look::trend(&group);
    let trend_label = Signal::stored(trend_says.clone());
    let zero = |n: i64| if n == 0 { "n zero" } else { "n font-semibold" };
    view! {
        <tr>
            <td class="grow what">
                <Link href=whole class="font-semibold hover:underline">{words.cause}</Link>
                <p class="type-label text-faint break-words" title=group.error.clone()>{error}</p>
            </td>
            <td class="state">
                <Pill tone=Signal::stored(tone) glyph=Signal::stored(glyph) label=Signal::stored(word.to_owned()) />
            </td>
            <td class="w-28 tone-failed" title=trend_says>
                <Sparkline values=Signal::stored(trend) label=trend_label />
            </td>
            <td class=zero(group.to_be_retried) data-label="to be retried">{format::count(group.to_be_retried)}</td>
            <td class=zero(group.dead_letters) data-label="dead letters">{format::count(group.dead_letters)}</td>
            <td class="where">{look::reach(&group)}</td>
            <td class="first text-muted" data-label="first">
                <Ago at=group.first_at now=now />
            </td>
            <td class="when text-muted" data-label="last">
                <Ago at=group.last_at now=now />
            </td>
            <td class="deed">
                {(may_steer && group.jobs() > 0)
                    .then(|| view! { <LinkButton href=retry says=format!("Retry: {}", words.cause)>"Retry"</LinkButton> })}
            </td>
        </tr>
    }
    .into_any()
}
