//! How fast and how hard an integration is tried: the form.

use crate::{
    calls::integrations::EditLimits,
    ui::{Button, ButtonKind, HiddenFields, PostForm, TextField},
};
use leptos::prelude::*;
use model::integration::Integration;

/// Fields with what holds now; an empty one takes its setting away.
#[component]
pub fn LimitsForm(
    /// The integration.
    integration: Integration,
    /// Where to come back to.
    #[prop(into)]
    back: String,
) -> impl IntoView {
    let edit = ServerAction::<EditLimits>::new();
    let limits =
        integration.rate_limit.as_ref().map(model::rate_limit::RateLimits::to_vec).unwrap_or_default();
    // Several limits at once are the API's business; the form would drop all but the first.
    if limits.len() > 1 {
        return view! {
            <p class="px-4 pb-4 pt-2 text-muted">
                "Several limits hold here at once. Change them with PATCH /api/v1/integrations/{id}."
            </p>
        }
        .into_any();
    }
    let text = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
    let limit = limits.first().copied();
    let hidden = HiddenFields::default().with("id", integration.id.to_string()).with("back", back);
    view! {
        <PostForm action=edit hidden=hidden class="grid gap-3 px-4 pt-2.5 pb-4">
            <div class="grid grid-cols-2 wide:grid-cols-3 gap-3">
                <TextField
                    name="limits[requests]"
                    label="Requests"
                    kind="number"
                    range=(1, 1_000_000)
                    value=text(limit.map(|l| l.requests.into()))
                    hint="Empty: no limit"
                />
                <TextField
                    name="limits[per_seconds]"
                    label="in each window of seconds"
                    kind="number"
                    range=(1, 86_400)
                    value=text(Some(limit.map_or(1, |l| l.per_seconds.into())))
                />
                <TextField
                    name="limits[max_concurrency]"
                    label="Jobs at once"
                    kind="number"
                    range=(1, 10_000)
                    required=true
                    value=integration.max_concurrency.to_string()
                />
                <TextField
                    name="limits[max_attempts]"
                    label="Attempts of a job"
                    kind="number"
                    range=(1, 100)
                    value=text(integration.max_attempts.map(i64::from))
                    hint="Empty: the default"
                />
                <TextField
                    name="limits[timeout_seconds]"
                    label="Seconds of one attempt"
                    kind="number"
                    range=(1, 3_600)
                    value=text(integration.timeout_ms.map(|ms| i64::from(ms) / 1_000))
                    hint="Empty: the default"
                />
            </div>
            <div>
                <Button kind=ButtonKind::Primary>"Save limits"</Button>
            </div>
        </PostForm>
    }
    .into_any()
}
