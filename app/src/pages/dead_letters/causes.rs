//! Dead letters by cause: one error of one integration, however often, is one line with one action.

use crate::{
    calls::names::Names,
    components::IntegrationLink,
    format,
    state::page_url::PageUrl,
    ui::{Ago, Card, Link, LinkButton, Table},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::dead_letter::DeadLetterGroup;

/// The most frequent first.
#[component]
pub fn Causes(
    /// The groups.
    groups: Vec<DeadLetterGroup>,
    /// What their integrations are called.
    names: Names,
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
            <th scope="col" class="grow">
                <span class="block min-w-[200px]">"Cause"</span>
            </th>
            <th scope="col">"Integration"</th>
            <th scope="col" class="n">"Dead letters"</th>
            <th scope="col">"First"</th>
            <th scope="col">"Last"</th>
            <th scope="col"><span class="sr-only">"Actions"</span></th>
        }
    };
    view! {
        <Card title="By cause" sub=sub>
            <Table label="Dead letters by cause" stacks=true head=head>
                {groups
                    .into_iter()
                    .take(MOST)
                    .map(|group| {
                        let only = url.clone().settled().without("cursor").with("fingerprint", &group.fingerprint);
                        let requeue = only.clone().with("confirm", "requeue").to_string();
                        let error = format::error_line(&group.error).to_owned();
                        let says = format!("Requeue all with the cause {error}");
                        view! {
                            <tr>
                                <td class="grow what" title=group.error>
                                    <Link href=only.to_string() class="font-medium hover:underline">
                                        {error}
                                    </Link>
                                </td>
                                <td class="where">
                                    <IntegrationLink id=group.integration_id names=names.clone() />
                                </td>
                                <td class="n font-semibold" data-label="dead letters">{format::count(group.count)}</td>
                                <td class="first text-muted" data-label="first">
                                    <Ago at=group.first_at now=now />
                                </td>
                                <td class="when text-muted" data-label="last">
                                    <Ago at=group.last_at now=now />
                                </td>
                                <td class="deed">
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
