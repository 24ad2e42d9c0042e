//! The head of the list: what it shows, and what to do with all of it.

use super::super::offered::Offered;
use super::states::headline;
use crate::components::page_table::ConsolePage;
use crate::components::{LiveBadge, PageHead};
use crate::state::page_url::PageUrl;
use crate::ui::{ButtonKind, Glyph, LinkButton};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

#[component]
pub fn Head(
    /// The list, without notices and dialogs.
    url: PageUrl,
    /// What to offer for all that match.
    offered: Offered,
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let ask = |action: &str| url.clone().with("confirm", action).to_string();
    let (ask_requeue, ask_cancel) = (ask("requeue"), ask("cancel"));
    view! {
        <PageHead title=ConsolePage::Jobs.title() headline=headline(&url)>
            <LiveBadge as_of=as_of />
            {offered
                .requeue
                .then(|| {
                    view! {
                        <LinkButton href=ask_requeue glyph=Glyph::Undo>
                            "Requeue all that match"
                        </LinkButton>
                    }
                })}
            {offered
                .cancel
                .then(|| {
                    view! {
                        <LinkButton href=ask_cancel kind=ButtonKind::Danger>
                            "Cancel all that match"
                        </LinkButton>
                    }
                })}
        </PageHead>
    }
    .into_any()
}
