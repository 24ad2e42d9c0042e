//! Dead letters by cause: one error of one integration, however often, is one line with one action.

use crate::{
    format,
    state::page_url::PageUrl,
    ui::{Ago, Card, Link, LinkButton, Table},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::{dead_letter::DeadLetterGroup, id::IntegrationId};
use std::collections::BTreeMap;

/// The most frequent first.
#[component]
pub fn Causes(
    /// The groups.
    groups: Vec<DeadLetterGroup>,
    /// Name and app of each integration.
    names: BTreeMap<IntegrationId, (String, String)>,
    /// The page with its filters.
    url: PageUrl,
    /// Against what ages are told.
    #[prop(into)]
    now: Signal<DateTime<Utc>>,
    /// Whether the reader may requeue.
    may_steer: bool,
) -> impl IntoView {
    const MOST: usize = 8;
    let mut groups = groups;
    groups.sort_by(|a, b| b.count.cmp(&a.count).then(b.last_at.cmp(&a.last_at)));
    let all = groups.len();
    let sub = if all > MOST {
        format!("{MOST} of {all} causes")
    } else {
        format::counted(all as i64, "cause", "causes")
    };
    let head = || {
        view! {
            <th scope="col">"Cause"</th>
            <th scope="col">"Integration"</th>
            <th scope="col" class="n">"Dead letters"</th>
            <th scope="col">"First"</th>
            <th scope="col">"Last"</th>
            <th scope="col"><span class="sr-only">"Actions"</span></th>
        }
    };
    view! {
        <Card title="By cause" sub=sub>
            <Table label="Dead letters by cause" head=head>
                {groups
                    .into_iter()
                    .take(MOST)
                    .map(|group| {
                        let only = url.clone().settled().without("cursor").with("fingerprint", &group.fingerprint);
                        let requeue = only.clone().with("confirm", "requeue").to_string();
                        let error = group.error.lines().next().unwrap_or_default().to_owned();
                        let says = format!("Requeue all with the cause {error}");
                        let (name, app) = names
                            .get(&group.integration_id)
                            .cloned()
                            .unwrap_or_else(|| (group.integration_id.to_string(), String::new()));
                        view! {
                            <tr>
                                <td class="clip">
                                    <Link href=only.to_string() class="font-medium hover:underline">
                                        {error}
                                    </Link>
                                </td>
                                <td>
                                    {name} " " <span class="type-label text-faint">{app}</span>
                                </td>
                                <td class="n font-semibold">{format::count(group.count)}</td>
                                <td class="text-muted">
                                    <Ago at=group.first_at now=now />
                                </td>
                                <td class="text-muted">
                                    <Ago at=group.last_at now=now />
                                </td>
                                <td class="n">
                                    {may_steer
                                        .then(|| {
                                            view! {
                                                <LinkButton href=requeue says=says>
                                                    "Requeue"
                                                </LinkButton>
                                            }
                                        })}
                                </td>
                            </tr>
                        }
                    })
                    .collect_view()}
            </Table>
        </Card>
    }
    .into_any()
}
