//! What was counted before anything was changed.

use crate::components::{IntegrationLink, JobStateBadge};
use crate::format;
use crate::ui::Table;
use leptos::prelude::*;
use model::operation::DryRunPart;
use model::views::names::Names;

#[component]
pub fn Breakdown(parts: Vec<DryRunPart>, names: Names) -> impl IntoView {
    const MAX_ROWS: usize = 20;
    let more = parts.len().saturating_sub(MAX_ROWS);
    let head = || {
        view! {
            <th scope="col" class="grow">"Integration"</th>
            <th scope="col">"State at request"</th>
            <th scope="col" class="n">"Count"</th>
        }
    };
    view! {
        <Table label="Jobs at request" stacks=true head=head>
            {parts
                .into_iter()
                .take(MAX_ROWS)
                .map(|part| {
                    view! {
                        <tr>
                            <td class="grow what">
                                <IntegrationLink id=part.integration_id names=names.clone() />
                            </td>
                            <td class="state">
                                <JobStateBadge status=part.status />
                            </td>
                            <td class="n" data-label="count">{format::count(part.count)}</td>
                        </tr>
                    }
                })
                .collect_view()}
        </Table>
        {(more > 0).then(|| view! { <p class="px-4 py-2 type-label text-faint">{format!("and {more} more")}</p> })}
    }
    .into_any()
}
