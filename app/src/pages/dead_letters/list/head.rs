//! The head of the list: what to do with all of it.

use super::Rights;
use crate::{
    components::{LiveBadge, PageHead, page_table::ConsolePage},
    state::{base_path, page_url::PageUrl, url_filters},
    ui::{ButtonKind, Glyph, LinkButton},
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;

#[component]
pub fn Head(
    headline: Signal<String>,
    url: PageUrl,
    has_filter: bool,
    is_empty: bool,
    rights: Rights,
    as_of: DateTime<Utc>,
) -> impl IntoView {
    let ask = |action: &str| url.clone().settled().with("confirm", action).to_string();
    let (requeue_all, purge_all) = (ask("requeue"), ask("purge"));
    let export = export_of(&url);
    let all = if has_filter { "all that match" } else { "all" };
    view! {
        <PageHead title=ConsolePage::DeadLetters.title() headline=headline>
            <LiveBadge as_of=as_of />
            <LinkButton href="/dead-letters?show=bin" kind=ButtonKind::Quiet glyph=Glyph::Trash>
                "Bin"
            </LinkButton>
            {(!is_empty)
                .then(|| {
                    view! {
                        // `external`: it is a file, and the router must not look for a page at that address.
                        <a href=export rel="external" download="dead-letters.csv" class="underline type-label">
                            "Export CSV"
                        </a>
                    }
                })}
            {(rights.steer && !is_empty)
                .then(|| view! { <LinkButton href=requeue_all glyph=Glyph::Undo>{format!("Requeue {all}")}</LinkButton> })}
            {(rights.purge && !is_empty)
                .then(|| {
                    view! {
                        <LinkButton href=purge_all kind=ButtonKind::Danger glyph=Glyph::Trash>
                            {format!("Purge {all}")}
                        </LinkButton>
                    }
                })}
        </PageHead>
    }
    .into_any()
}

/// The same list as a CSV file.
fn export_of(url: &PageUrl) -> String {
    let file = url_filters::active(url)
        .into_iter()
        .fold(PageUrl::parse("/api/v1/dead-letters/export"), |file, (name, value)| file.with(&name, value));
    base_path::current().join(&file.to_string())
}
