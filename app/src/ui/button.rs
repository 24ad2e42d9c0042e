//! Buttons, and links that look like buttons. The first word says what happens.

use super::{Glyph, Icon, Link};
use leptos::prelude::*;

/// How prominent a button is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ButtonKind {
    /// The main action of a page.
    Primary,
    #[default]
    Plain,
    /// Next to a more prominent one.
    Quiet,
    /// Destroys something, or opens the dialog that asks for it.
    Danger,
    /// The confirmation in such a dialog.
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

/// A submit button.
#[component]
pub fn Button(
    #[prop(optional)] kind: ButtonKind,
    #[prop(optional, into)] glyph: Option<Glyph>,
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
    /// Id of its form, when it is outside of it.
    #[prop(optional, into)]
    form: Option<String>,
    /// Label for screen readers (`Requeue job 0193…`).
    #[prop(optional, into)]
    says: Option<String>,
    #[prop(optional, into)] disabled: Signal<bool>,
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

/// A link that looks like a button: it navigates and changes nothing.
#[component]
pub fn LinkButton(
    #[prop(into)] href: Signal<String>,
    #[prop(optional)] kind: ButtonKind,
    #[prop(optional, into)] glyph: Option<Glyph>,
    /// Label for screen readers.
    #[prop(optional, into)]
    says: Option<String>,
    children: Children,
) -> impl IntoView {
    view! {
        <Link href=href keep_scroll=true class=kind.full_class() says=says.unwrap_or_default()>
            {glyph.map(|glyph| view! { <Icon glyph=glyph size="w-[13px] h-[13px]" /> })}
            {children()}
        </Link>
    }
    .into_any()
}
