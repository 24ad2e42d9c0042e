//! The request as a command, to be repeated by hand.

use crate::ui::{Card, CopyButton};
use leptos::prelude::*;
use model::{request::RequestPreview, text::shown};

/// Visible text with a button that copies it.
#[component]
pub fn AsCurl(
    /// What would be sent.
    request: RequestPreview,
) -> impl IntoView {
    let text = request.to_curl();
    view! {
        <Card title="As curl" sub="what its next attempt would send; secrets and signature are for you to fill in">
            <pre class="code" tabindex="0" role="region" aria-label="curl command">
                {shown(&text).into_owned()}
            </pre>
            <p class="flex items-center gap-1 px-4 pb-3 -mt-2 type-label text-faint">
                "Copy" <CopyButton text=text says="Copy the curl command" />
            </p>
        </Card>
    }
    .into_any()
}
