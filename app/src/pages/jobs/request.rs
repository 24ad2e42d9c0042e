//! The next request as a curl command.

use crate::ui::{Card, CopyButton};
use leptos::prelude::*;
use model::{request::RequestPreview, text::shown};

/// The text, with a button that copies it.
#[component]
pub fn AsCurl(request: RequestPreview) -> impl IntoView {
    let text = request.to_curl();
    view! {
        <Card title="As curl" sub="the next attempt, without secrets and signature">
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
