//! One limit in the list.

use crate::components::{LimitStrip, RateLimitUseMeter};
use crate::format;
use crate::state::page_url::PageUrl;
use crate::ui::{Glyph, Link, LinkButton, Pill, Tone};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{limit_use::LimitUse, rate_limit::RateLimitUse, views::rate_limits::LimitRow};

/// How many integrations that share it are named before the rest is counted.
const NAMED: usize = 3;

/// Each cell updates by itself.
#[component]
pub fn Row(
    row: Memo<LimitRow>,
    may_edit: bool,
    /// The moment of the first numbers.
    as_of: DateTime<Utc>,
    /// The list, without a question in its address.
    back: PageUrl,
) -> impl IntoView {
    let first = row.get_untracked();
    let used = Memo::new(move |_| row.with(|row| LimitUse::from(&row.cells)));
    let now = Signal::derive(move || {
        row.with(|row| {
            Some(RateLimitUse { limit: row.requests, used: row.used, per_seconds: row.per_seconds })
        })
    });
    let backlog = Memo::new(move |_| row.with(|row| row.backlog));
    let eta = Memo::new(move |_| row.with(|row| row.eta_seconds.filter(|_| row.backlog > 0)));
    let quiet_until = Memo::new(move |_| row.with(|row| row.quiet_until.filter(|until| *until > as_of)));
    let members = first.members.clone();
    let more = first.members.len().saturating_sub(NAMED);
    let about = match &first.shared_key {
        Some(key) => format!("{} · shared key {key}", first.app_name),
        None => first.app_name.clone(),
    };
    let named = first.members.first().map(|(_, name)| name.clone()).unwrap_or_default();
    let edit = first.members.first().map(|(id, _)| back.with("edit", id).to_string() + "#edit");
    view! {
        <tr>
            <td class="what">
                {members
                    .into_iter()
                    .take(NAMED)
                    .enumerate()
                    .map(|(at, (id, name))| {
                        view! {
                            {(at > 0).then_some(", ")}
                            <Link href=format!("/integrations/{id}") class="font-semibold hover:underline">
                                {name}
                            </Link>
                        }
                    })
                    .collect_view()}
                {(more > 0).then(|| format!(" and {} more", format::count(more as i64)))}
                " "
                <span class="type-label text-faint">{about}</span>
            </td>
            <td class="grow rest">
                <LimitStrip used=used />
            </td>
            <td class="first" data-label="used now">
                <RateLimitUseMeter usage=now />
                {move || {
                    quiet_until.get()
                        .map(|until| {
                            let text = format!("quiet until {}", format::clock(until, as_of));
                            view! {
                                " "
                                <Pill
                                    tone=Signal::stored(Tone::Limited)
                                    glyph=Signal::stored(Glyph::Hand)
                                    label=Signal::stored(text)
                                />
                            }
                        })
                }}
            </td>
            <td class=move || if backlog.get() == 0 { "n zero" } else { "n" } data-label="backlog">
                {move || format::count(backlog.get())}
            </td>
            <td class=move || if eta.get().is_none() { "n zero" } else { "n" } data-label="clears in">
                {move || eta.get().map_or_else(|| "–".to_owned(), format::eta)}
            </td>
            {may_edit
                .then(|| {
                    view! {
                        <td class="actions">
                            {edit.map(|href| view! { <LinkButton href=href says=format!("Edit limits of {named}")>"Edit"</LinkButton> })}
                        </td>
                    }
                })}
        </tr>
    }
    .into_any()
}
