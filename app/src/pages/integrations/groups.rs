//! Integrations grouped by app or type, those that need most attention first.

use crate::format;
use crate::state::page_url::PageUrl;
use crate::ui::{Glyph, Link, Pill, Table, Tone};
use leptos::prelude::*;
use model::views::integration_list::IntegrationGroup;

/// A row per group; its name links to its integrations.
#[component]
pub fn Groups(groups: Vec<IntegrationGroup>, here: PageUrl) -> impl IntoView {
    let head = || {
        view! {
            <th scope="col">"Group"</th>
            <th scope="col">"State"</th>
            <th scope="col" class="n">"Integrations"</th>
            <th scope="col" class="n">"Backlog"</th>
            <th scope="col" class="n">"In / min"</th>
            <th scope="col" class="n">"Out / min"</th>
            <th scope="col" class="n">"Failed / min"</th>
            <th scope="col" class="n">"Dead letters"</th>
            <th scope="col" class="n">"Oldest"</th>
        }
    };
    let n = |n: i64| if n == 0 { "n zero" } else { "n" };
    view! {
        <Table label="Groups" stacks=true head=head>
            {groups
                .into_iter()
                .map(|group| {
                    let (name, value) = &group.narrowed;
                    let href = here.clone().settled().without("group").without("page").with(name, value).to_string();
                    let (tone, glyph, word) = match group.need_attention {
                        0 => (Tone::Delivered, Glyph::Check, "Healthy".to_owned()),
                        1 => (Tone::Failed, Glyph::Alert, "1 needs attention".to_owned()),
                        n => (Tone::Failed, Glyph::Alert, format!("{} need attention", format::count(n))),
                    };
                    let oldest = group.oldest_pending_age_seconds.filter(|_| group.backlog > 0);
                    view! {
                        <tr>
                            <td class="what">
                                <Link href=href class="font-semibold hover:underline">{group.name}</Link>
                            </td>
                            <td class="state">
                                <Pill tone=Signal::stored(tone) glyph=Signal::stored(glyph) label=Signal::stored(word) />
                            </td>
                            <td class="n" data-label="integrations">{format::count(group.integrations)}</td>
                            <td class=n(group.backlog) data-label="backlog">{format::count(group.backlog)}</td>
                            <td class=n(group.accepted_per_minute.unwrap_or(0)) data-label="in / min">
                                {group.accepted_per_minute.map_or_else(|| "–".to_owned(), format::count)}
                            </td>
                            <td class=n(group.delivered_per_minute) data-label="out / min">
                                {format::count(group.delivered_per_minute)}
                            </td>
                            <td class=n(group.failed_per_minute) data-label="failed / min">
                                {format::count(group.failed_per_minute)}
                            </td>
                            <td class=n(group.dead_letters) data-label="dead letters">{format::count(group.dead_letters)}</td>
                            <td class=n(oldest.unwrap_or(0)) data-label="oldest">
                                {oldest.map_or_else(|| "–".to_owned(), format::age_seconds)}
                            </td>
                        </tr>
                    }
                })
                .collect_view()}
        </Table>
    }
    .into_any()
}
