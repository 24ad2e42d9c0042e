//! The bin: purged dead letters, until they are deleted for good.

use crate::{
    calls::dead_letters::{RestoreDeadLetter, list_bin},
    components::{IntegrationLink, LiveBadge, NewerRows, PageHead, page_table::ConsolePage},
    format,
    state::{clock, page_url::PageUrl, refresh},
    ui::{
        Ago, Button, EmptyState, Glyph, HiddenFields, Link, LinkButton, ListCard, PageLinks, PostForm,
        Remount, Table, data_label, form_action,
    },
};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::dead_letter::BinnedLetter;
use model::rules::plain_cause;
use model::views::dead_letters;
use model::views::names::Names;
use std::time::Duration;

/// Value of `?show=` for it.
pub const SHOWN: &str = "bin";

/// Replaces the list of the page of dead letters.
#[component]
pub fn Bin(bin: dead_letters::Bin, url: PageUrl, may_steer: bool) -> impl IntoView {
    let dead_letters::Bin { page, names, as_of } = bin;
    let now = clock::now_or(as_of);
    let settled = url.settled();
    let query = settled.query();
    let newer = refresh::every(Duration::from_secs(5), move || list_bin(query.clone()));
    let key = |binned: &BinnedLetter| (binned.binned_at, binned.letter.id);
    let keys = move |bin: &dead_letters::Bin| bin.page.items.iter().map(key).collect::<Vec<_>>();
    let came = refresh::came(newer, page.items.first().map(key), keys);
    let shown = format::counted(page.items.len() as i64, "dead letter shown", "dead letters shown");
    let pages = PageLinks::by_cursor(&settled, page.next_cursor.as_deref(), shown);
    let is_empty = page.items.is_empty();
    let (back, reload) = (settled.to_string(), settled.to_string());
    let head = move || {
        view! {
            <th scope="col">"Job"</th>
            <th scope="col" class="grow">"Error"</th>
            <th scope="col">"Integration"</th>
            <th scope="col">"Purged"</th>
            <th scope="col">"Deleted permanently"</th>
            <th scope="col">"By"</th>
            {may_steer.then(|| view! { <th scope="col"><span class="sr-only">"Actions"</span></th> })}
        }
    };
    let rows = move || {
        page.items
            .iter()
            .cloned()
            .map(|binned| {
                view! { <Row binned=binned names=names.clone() now=now may_steer=may_steer back=back.clone() /> }
            })
            .collect_view()
    };
    let empty = || {
        view! {
            <EmptyState
                glyph=Glyph::Trash
                title="The bin is empty"
                text="Purged dead letters stay here for 24 hours."
            >
                <LinkButton href="/dead-letters">"Dead letters"</LinkButton>
            </EmptyState>
        }
    };
    view! {
        <PageHead title=ConsolePage::DeadLetters.title() headline="Purged dead letters can be restored for 24 hours, then they are deleted permanently.">
            <LiveBadge as_of=as_of />
            <LinkButton href="/dead-letters">"Back to the list"</LinkButton>
        </PageHead>
        <ListCard
            title="Bin"
            sub="most recently purged first"
            toolbar=move || view! { <NewerRows count=came href=reload /> }
            is_empty=is_empty
            empty=empty
            pages=pages
        >
            <Table label="Bin" stacks=true head=head>
                <Remount key=as_of>{rows.clone()}</Remount>
            </Table>
        </ListCard>
    }
    .into_any()
}

#[component]
fn Row(
    binned: BinnedLetter,
    names: Names,
    now: Signal<DateTime<Utc>>,
    may_steer: bool,
    back: String,
) -> impl IntoView {
    let restore = form_action::<RestoreDeadLetter>();
    let BinnedLetter { letter, binned_at, deleted_at, operation_id } = binned;
    let about = letter.about();
    let error = plain_cause::sentence(&letter.error_message, None);
    let hidden = HiddenFields::default().with("id", letter.id.to_string()).with("back", back);
    let by = match operation_id {
        Some(id) => {
            view! { <Link href=format!("/operations/{id}") class="underline">"a bulk operation"</Link> }
                .into_any()
        }
        None => "a single purge".into_any(),
    };
    view! {
        <tr>
            <td class="what font-medium">{about.clone()}</td>
            <td class="grow rest" title=letter.error_message>
                {error}
            </td>
            <td class="where">
                <IntegrationLink id=letter.integration_id names=names />
            </td>
            <td class="first text-muted" {..data_label("purged")}>
                <Ago at=binned_at now=now />
            </td>
            <td class="when text-muted">
                <Ago at=deleted_at now=now />
            </td>
            <td class="rest" {..data_label("by")}>{by}</td>
            {may_steer
                .then(|| {
                    view! {
                        <td class="actions">
                            <PostForm action=restore hidden=hidden>
                                <Button glyph=Glyph::Undo says=format!("Restore {about}")>
                                    "Restore"
                                </Button>
                            </PostForm>
                        </td>
                    }
                })}
        </tr>
    }
    .into_any()
}
