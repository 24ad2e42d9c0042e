//! What it skipped, by reason.

use crate::format;
use crate::ui::{Card, Table};
use leptos::prelude::*;
use model::{operation::Operation, text::capitalise};

#[component]
pub fn Skipped(operation: Operation) -> impl IntoView {
    let head = || {
        view! {
            <th scope="col" class="grow">"Reason"</th>
            <th scope="col" class="n">"Count"</th>
        }
    };
    view! {
        <Card title="Skipped">
            <Table label="Skipped" head=head>
                {operation
                    .skipped_reasons
                    .into_iter()
                    .map(|skipped| {
                        view! {
                            <tr>
                                <td class="grow">{capitalise(skipped.reason.words())}</td>
                                <td class="n">{format::count(skipped.count)}</td>
                            </tr>
                        }
                    })
                    .collect_view()}
            </Table>
        </Card>
    }
    .into_any()
}
