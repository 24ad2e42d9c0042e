//! The head of a job's page: what it is, its state, and what can be done with it.

use super::{super::subject::subject, live::LiveJob};
use crate::calls::jobs::RequeueJob;
use crate::components::page_table::ConsolePage;
use crate::components::{JobStateBadge, LiveBadge, PageHead};
use crate::ui::{Button, ButtonKind, Glyph, HiddenFields, Link, LinkButton, PostForm, form_action};
use chrono::{DateTime, Utc};
use leptos::prelude::*;
use model::rules::transition::{can_cancel, can_requeue};

#[component]
pub fn Head(live: LiveJob, integration_name: String, may_steer: bool, as_of: DateTime<Utc>) -> impl IntoView {
    let LiveJob { job, status, .. } = live;
    let first = job.get_untracked();
    let (id, integration_id) = (first.id, first.integration_id);
    let heading = format!("{} → {integration_name}", subject(&first));
    let crumbs = StoredValue::new((integration_name, first.job_type));
    let is_cancel_requested = Memo::new(move |_| job.with(|job| job.cancel_requested_at.is_some()));
    let requeue = form_action::<RequeueJob>();
    let requeue_fields =
        move || HiddenFields::default().with("id", id.to_string()).with("back", format!("/jobs/{id}"));
    view! {
        <PageHead
            title=ConsolePage::Jobs.title()
            heading=heading
            crumbs=move || {
                view! {
                    <nav class="mb-1 type-label text-faint" aria-label="Breadcrumb">
                        <Link href="/jobs" class="hover:text-accent">"Jobs"</Link>
                        " / "
                        <Link href=format!("/jobs?integration_id={integration_id}") class="hover:text-accent">{crumbs.with_value(|c| c.0.clone())}</Link>
                        " / "
                        {crumbs.with_value(|c| c.1.clone())}
                    </nav>
                }
            }
            badge=move || view! { <JobStateBadge status=status /> }
        >
            <LiveBadge as_of=as_of />
            {move || {
                may_steer
                    .then(|| {
                        let status = status.get();
                        let may_cancel = can_cancel(status) && !is_cancel_requested.get();
                        let may_requeue = can_requeue(status);
                        view! {
                            {may_cancel
                                .then(|| {
                                    view! {
                                        <LinkButton href=format!("/jobs/{id}?confirm=cancel") kind=ButtonKind::Danger>
                                            "Cancel"
                                        </LinkButton>
                                    }
                                })}
                            {may_requeue
                                .then(|| {
                                    view! {
                                        <PostForm action=requeue hidden=requeue_fields()>
                                            <Button kind=ButtonKind::Primary glyph=Glyph::Undo>
                                                "Requeue"
                                            </Button>
                                        </PostForm>
                                    }
                                })}
                        }
                    })
            }}
        </PageHead>
    }
    .into_any()
}
