//! Buttons and links that look like them. The first word says what happens.

use super::{Glyph, Icon, Link};
use leptos::prelude::*;

/// How loud a button is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ButtonKind {
    /// The one thing this page is for.
    Primary,
    /// Everything else.
    #[default]
    Plain,
    /// Beside a louder one.
    Quiet,
    /// Destroys something, or leads to the question before it.
    Danger,
    /// The answer that destroys.
    DangerSolid,
}

impl ButtonKind {
    const fn class(self) -> &'static str {
        match self {
            Self::Primary => "border-accent bg-accent text-accent-ink hover:bg-[color:var(--accent-hover)]",
            Self::Plain => "border-line-strong bg-raised text-ink hover:bg-sunken",
            Self::Quiet => "border-transparent text-muted hover:bg-sunken hover:text-ink",
            Self::Danger => "border-line-strong bg-raised text-failed hover:bg-failed-soft",
            Self::DangerSolid => "border-failed bg-failed text-surface hover:opacity-90",
        }
    }

    fn full_class(self) -> String {
        format!(
            "button inline-flex items-center justify-center gap-1.5 border rounded-[7px] px-2.5 py-1 type-label \
             font-[550] whitespace-nowrap {}",
            self.class()
        )
    }
}

/// A button that submits the form it stands in.
#[component]
pub fn Button(
    /// Loudness.
    #[prop(optional)]
    kind: ButtonKind,
    /// Icon before the word.
    #[prop(optional, into)]
    glyph: Option<Glyph>,
    /// Field name sent with the form, for forms with several buttons.
    #[prop(optional)]
    name: Option<&'static str>,
    /// Value sent under `name`.
    #[prop(optional, into)]
    value: Option<String>,
    /// Another method than the form's own.
    #[prop(optional)]
    method: Option<&'static str>,
    /// Another address than the form's own.
    #[prop(optional, into)]
    to: Option<String>,
    /// The form it belongs to, when it stands outside of it.
    #[prop(optional, into)]
    form: Option<String>,
    /// What a screen reader says instead of the word alone (`Requeue job 0193…`).
    #[prop(optional, into)]
    says: Option<String>,
    /// Cannot be pressed now.
    #[prop(optional, into)]
    disabled: Signal<bool>,
    /// The key that presses it (see [`crate::state::keys`]).
    #[prop(optional)]
    key: Option<&'static str>,
    children: Children,
) -> impl IntoView {
    view! {
        <button
            type="submit"
            data-key=key
            class=kind.full_class()
            name=name
            value=value
            formmethod=method
            formaction=to
            form=form
            aria-label=says
            disabled=move || disabled.get()
        >
            {glyph.map(|glyph| view! { <Icon glyph=glyph size="w-[13px] h-[13px]" /> })}
            {children()}
        </button>
    }
    .into_any()
}

/// A link drawn as a button: it goes somewhere and changes nothing.
#[component]
pub fn LinkButton(
    /// Where to.
    #[prop(into)]
    href: Signal<String>,
    /// Loudness.
    #[prop(optional)]
    kind: ButtonKind,
    /// Icon before the word.
    #[prop(optional, into)]
    glyph: Option<Glyph>,
    /// What a screen reader says instead of the word alone.
    #[prop(optional, into)]
    says: Option<String>,
    children: Children,
) -> impl IntoView {
    view! {
        <Link href=href stay=true class=kind.full_class() says=says.unwrap_or_default()>
            {glyph.map(|glyph| view! { <Icon glyph=glyph size="w-[13px] h-[13px]" /> })}
            {children()}
        </Link>
    }
    .into_any()
}
