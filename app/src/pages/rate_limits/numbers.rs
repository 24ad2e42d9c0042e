//! The heat map as a table of numbers: used of allowed, step by step.

use crate::components::{allowed, edits_in, moment};
use crate::format;
use crate::ui::{Link, Table};
use leptos::prelude::*;
use model::{limit_use::LimitUse, views::rate_limits::LimitList};

/// A row per limit, a column per step, the newest first.
#[component]
pub fn Numbers(list: Memo<LimitList>) -> impl IntoView {
    let head = move || {
        let steps = move || {
            let used = list.with(|list| list.rows.first().map(|row| LimitUse::from(&row.cells)));
            let used = used.unwrap_or_default();
            used.steps.iter().rev().map(|step| moment(&used, step)).collect::<Vec<_>>()
        };
        view! {
            <th scope="col">"Integration"</th>
            {move || steps().into_iter().map(|at| view! { <th scope="col" class="n">{at}</th> }).collect_view()}
        }
    };
    let rows = move || {
        list.get()
            .rows
            .into_iter()
            .map(|row| {
                let used = LimitUse::from(&row.cells);
                let cells: Vec<_> = used
                    .steps
                    .iter()
                    .rev()
                    .map(|step| {
                        let mut text = format!("{} / {}", format::count(step.given), allowed(step));
                        if step.refused > 0 {
                            text.push_str(&format!(", {} × 429", format::count(step.refused)));
                        }
                        if edits_in(&used, step) > 0 {
                            text.push_str(", edited");
                        }
                        (text, step.given == 0 && step.refused == 0)
                    })
                    .collect();
                let (id, name) = row.members.first().cloned().unzip();
                view! {
                    <tr>
                        <th scope="row">
                            <Link href=id.map(|id| format!("/integrations/{id}")).unwrap_or_default() class="font-semibold hover:underline">
                                {name.unwrap_or(row.key)}
                            </Link>
                        </th>
                        {cells
                            .into_iter()
                            .map(|(text, is_zero)| view! { <td class=if is_zero { "n zero" } else { "n" }>{text}</td> })
                            .collect_view()}
                    </tr>
                }
            })
            .collect_view()
    };
    view! {
        <Table label="Rate limits in numbers" head=head>
            {rows}
        </Table>
    }
    .into_any()
}
