//! Labelled form fields with hint and error, tied together for assistive technology.

use crate::format;
use leptos::prelude::*;

/// A one-line input.
#[component]
pub fn TextField(
    /// Form field name; also the element's id.
    name: &'static str,
    #[prop(into)] label: String,
    #[prop(optional, into)] value: Signal<String>,
    /// HTML input type.
    #[prop(default = "text")]
    kind: &'static str,
    #[prop(optional)] placeholder: &'static str,
    #[prop(optional_no_strip, into)] hint: Option<String>,
    /// Has the focus when the page opens.
    #[prop(optional)]
    autofocus: bool,
    #[prop(optional, into)] error: Signal<Option<String>>,
    #[prop(optional)] autocomplete: Option<&'static str>,
    #[prop(optional)] required: bool,
    /// Lower and upper bound of a number.
    #[prop(optional_no_strip)]
    range: Option<(i64, i64)>,
    /// Granularity of a number, such as `any`; whole numbers by default.
    #[prop(optional_no_strip)]
    step: Option<&'static str>,
    /// Takes the remaining width of a row of fields.
    #[prop(optional)]
    grow: bool,
) -> impl IntoView {
    let hint_id = hint.is_some().then(|| format!("{name}-hint"));
    let described_by = hint_id.clone().unwrap_or_default() + " " + name + "-error";
    view! {
        <div class=if grow { "grow" } else { "" }>
            <label for=name class=LABEL>
                {label}
            </label>
            <input
                class="input"
                id=name
                name=name
                type=kind
                value=move || value.get()
                placeholder=placeholder
                autocomplete=autocomplete
                required=required
                autofocus=autofocus
                min=range.map(|(min, _)| min)
                max=range.map(|(_, max)| max)
                step=step
                aria-invalid=move || error.get().is_some().then_some("true")
                aria-describedby=described_by.trim().to_owned()
            />
            {hint.map(|hint| view! { <p id=hint_id class="type-label text-faint mt-1">{hint}</p> })}
            <p id=format!("{name}-error") class="type-label text-failed mt-1" hidden=move || error.get().is_none()>
                {move || error.get()}
            </p>
        </div>
    }
    .into_any()
}

const LABEL: &str = "block mb-1 type-label font-medium text-muted";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectOption {
    /// Sent with the form.
    pub value: String,
    pub label: String,
    /// Only informs, and cannot be chosen.
    pub is_note: bool,
}

impl SelectOption {
    pub fn new(value: impl Into<String>, label: impl Into<String>) -> Self {
        Self { value: value.into(), label: label.into(), is_note: false }
    }

    /// A note how many more there are, and where to find them.
    pub fn more(n: i64, where_from: &str) -> Option<Self> {
        let label = format!("{} more: {where_from}", format::count(n));
        (n > 0).then(|| Self { value: String::new(), label, is_note: true })
    }
}

#[component]
pub fn SelectField(
    /// Form field name; also the element's id.
    name: &'static str,
    #[prop(into)] label: String,
    #[prop(into)] value: Signal<String>,
    options: Vec<SelectOption>,
) -> impl IntoView {
    view! {
        <div>
            <label for=name class=LABEL>
                {label}
            </label>
            <select class="input" id=name name=name>
                {options
                    .into_iter()
                    .map(|option| {
                        let own = option.value.clone();
                        view! {
                            <option
                                value=option.value
                                disabled=option.is_note
                                selected=move || !option.is_note && value.get() == own
                            >
                                {option.label}
                            </option>
                        }
                    })
                    .collect_view()}
            </select>
        </div>
    }
    .into_any()
}

/// A checkbox with a label.
#[component]
pub fn CheckField(
    /// Form field name.
    name: &'static str,
    /// Sent when checked.
    #[prop(into)]
    value: String,
    #[prop(into)] label: String,
    /// Shows the label to screen readers only, as in a table row.
    #[prop(optional)]
    bare: bool,
    /// Id of its form, when it is outside of it.
    #[prop(optional, into)]
    form: Option<String>,
    #[prop(optional)] checked: bool,
) -> impl IntoView {
    view! {
        <label class="inline-flex items-center gap-2">
            <input type="checkbox" class="check" name=name value=value form=form checked=checked />
            <span class=if bare { "sr-only" } else { "" }>{label}</span>
        </label>
    }
    .into_any()
}
