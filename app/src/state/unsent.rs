//! What somebody has entered into the forms of a page and not sent. It survives that the page is drawn again, which happens whenever its data
//! is loaded again.
//!
//! Drawing a page again takes it away in two ways. Leptos (with erased views) sets all attributes of an element anew, and a browser then selects the
//! option that is marked `selected`. And what depends on a signal gets new elements. So input is kept here, and put back afterwards.

use leptos::{ev::Event, prelude::*, wasm_bindgen::JsCast, wasm_bindgen::JsValue, web_sys};
use std::collections::BTreeMap;
use web_sys::{
    Element, EventInit, EventTarget, HtmlFormElement, HtmlInputElement, HtmlSelectElement,
    HtmlTextAreaElement, NodeList,
};

/// For all pages of a tab.
#[derive(Clone, Copy)]
pub struct Unsent {
    inputs: StoredValue<Inputs>,
    /// Of the form that is being sent.
    submitted: StoredValue<Inputs>,
}

/// By form and name of the field.
pub type Inputs = BTreeMap<(String, String), Input>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    value: String,
    /// What the page gave the field.
    drawn: String,
}

pub fn provide() -> Unsent {
    let unsent =
        Unsent { inputs: StoredValue::new(Inputs::new()), submitted: StoredValue::new(Inputs::new()) };
    provide_context(unsent);
    unsent
}

pub fn current() -> Unsent {
    use_context().unwrap_or_else(provide)
}

impl Unsent {
    /// Keeps what the `input` event of a field is about.
    pub fn note(self, event: &Event) {
        let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else {
            return;
        };
        let Some(form) = form_of(&element) else { return };
        if let Some(field) = Field::of(element) {
            let input = Input { value: field.value(), drawn: field.drawn() };
            self.inputs.try_update_value(|inputs| inputs.insert((key(&form), field.name()), input));
        }
    }

    /// Puts everything back after the page was drawn again. What has no field any more is forgotten.
    pub fn restore(self) {
        let Some(inputs) = self.inputs.try_get_value().filter(|inputs| !inputs.is_empty()) else { return };
        let mut kept = Inputs::new();
        for form in all::<HtmlFormElement>(document().query_selector_all("form")) {
            let fields = all::<Element>(form.query_selector_all("input, select, textarea"));
            for field in fields.into_iter().filter_map(Field::of) {
                let place = (key(&form), field.name());
                let Some(input) = inputs.get(&place) else { continue };
                // A filter that the page shows otherwise was changed by a link.
                if is_filter(&form) && field.drawn() != input.drawn {
                    continue;
                }
                field.enter(&input.value);
                kept.insert(place, input.clone());
            }
        }
        self.inputs.try_set_value(kept);
    }

    /// Remembers what a form is about to send.
    pub fn submit(self, event: &Event) {
        let form = event.target().and_then(|target| target.dyn_into::<HtmlFormElement>().ok());
        let Some(form) = form.as_ref().map(key) else { return };
        let sent = self.inputs.try_with_value(|inputs| {
            let own = inputs.iter().filter(|((of, _), _)| *of == form);
            own.map(|(place, input)| (place.clone(), input.clone())).collect::<Inputs>()
        });
        self.submitted.try_set_value(sent.unwrap_or_default());
    }

    /// What the form sends that was submitted last.
    pub fn take_submitted(self) -> Inputs {
        self.submitted.try_update_value(std::mem::take).unwrap_or_default()
    }

    /// Forgets what was sent, but not what was entered after that.
    pub fn forget(self, sent: &Inputs) {
        self.inputs.try_update_value(|inputs| inputs.retain(|place, input| sent.get(place) != Some(input)));
    }
}

/// The page of a form, what it calls, and what it is about: that is its first hidden field.
fn key(form: &HtmlFormElement) -> String {
    let page = location().pathname().unwrap_or_default();
    let action = form.get_attribute("action").unwrap_or_default();
    let about = form.query_selector("input[type=hidden]").ok().flatten();
    let about = about.and_then(|field| field.get_attribute("value")).unwrap_or_default();
    format!("{page} {action} {about}")
}

/// Whether its fields are in the page's address.
fn is_filter(form: &HtmlFormElement) -> bool {
    form.get_attribute("method").is_some_and(|method| method == "get")
}

fn form_of(field: &Element) -> Option<HtmlFormElement> {
    field.closest("form").ok().flatten()?.dyn_into().ok()
}

fn all<T: JsCast>(found: Result<NodeList, JsValue>) -> Vec<T> {
    let Ok(found) = found else { return Vec::new() };
    (0..found.length()).filter_map(|at| found.item(at)?.dyn_into().ok()).collect()
}

/// A field whose content may be kept.
enum Field {
    Check(HtmlInputElement),
    Line(HtmlInputElement),
    Select(HtmlSelectElement),
    Text(HtmlTextAreaElement),
}

impl Field {
    /// None: not a field, or one that nobody but its form may keep, such as a password.
    fn of(element: Element) -> Option<Self> {
        let element = match element.dyn_into::<HtmlInputElement>() {
            Ok(input) => {
                return match input.type_().as_str() {
                    "password" | "hidden" | "file" | "submit" | "button" => None,
                    "checkbox" | "radio" => Some(Self::Check(input)),
                    _ => Some(Self::Line(input)),
                };
            }
            Err(element) => element,
        };
        match element.dyn_into::<HtmlSelectElement>() {
            Ok(select) => Some(Self::Select(select)),
            Err(element) => element.dyn_into().ok().map(Self::Text),
        }
    }

    /// Checkboxes of one name differ in their values.
    fn name(&self) -> String {
        match self {
            Self::Check(input) => format!("{}={}", input.name(), input.value()),
            Self::Line(input) => input.name(),
            Self::Select(select) => select.name(),
            Self::Text(text) => text.name(),
        }
    }

    /// `true` or nothing for a checkbox.
    fn value(&self) -> String {
        match self {
            Self::Check(input) => of_check(input.checked()),
            Self::Line(input) => input.value(),
            Self::Select(select) => select.value(),
            Self::Text(text) => text.value(),
        }
    }

    /// What the page gave it.
    fn drawn(&self) -> String {
        match self {
            Self::Check(input) => of_check(input.default_checked()),
            Self::Line(input) => input.default_value(),
            Self::Select(select) => {
                let option = select.query_selector("option[selected]").ok().flatten();
                option.and_then(|option| option.get_attribute("value")).unwrap_or_default()
            }
            Self::Text(text) => text.default_value().unwrap_or_default(),
        }
    }

    /// Changes it as its reader would, so that what follows their typing follows.
    fn enter(&self, value: &str) {
        if self.value() != value {
            match self {
                Self::Check(input) => input.set_checked(!value.is_empty()),
                Self::Line(input) => input.set_value(value),
                Self::Select(select) => {
                    let present = select.value();
                    select.set_value(value);
                    // An option that there is no more selects none.
                    if select.value() != value {
                        select.set_value(&present);
                    }
                }
                Self::Text(text) => text.set_value(value),
            }
        }
        let bubbling = EventInit::new();
        bubbling.set_bubbles(true);
        if let Ok(event) = Event::new_with_event_init_dict("input", &bubbling) {
            let _ = self.target().dispatch_event(&event);
        }
    }

    fn target(&self) -> &EventTarget {
        match self {
            Self::Check(input) | Self::Line(input) => input,
            Self::Select(select) => select,
            Self::Text(text) => text,
        }
    }
}

fn of_check(is_checked: bool) -> String {
    if is_checked { "true".to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_entered_after_the_form_was_sent_stays() {
        Owner::new().with(|| {
            let unsent = provide();
            let place = |field: &str| ("/integrations/1 /console/edit-limits 1".to_owned(), field.to_owned());
            let input = |value: &str| Input { value: value.to_owned(), drawn: String::new() };
            let enter = |field: &str, value: &str| {
                unsent.inputs.update_value(|inputs| {
                    inputs.insert(place(field), input(value));
                });
            };
            enter("requests", "5");
            enter("max_attempts", "9");
            let sent = unsent.inputs.get_value();
            enter("max_attempts", "8");
            enter("timeout", "3");
            unsent.forget(&sent);
            let left = unsent.inputs.get_value();
            assert_eq!(
                left,
                Inputs::from([(place("max_attempts"), input("8")), (place("timeout"), input("3"))])
            );
        });
    }
}
