//! `data-*` attributes that stay as the server wrote them.
//!
//! Of `data-label="…"` in a view Leptos does not know the name when it takes a page over, and writes each anew: a hundred on a page. With
//! a type for the name it leaves them alone.

use leptos::tachys::html::attribute::{
    AttributeValue,
    custom::{CustomAttr, CustomAttributeKey, custom_attribute},
};

/// `<td class="n" {..data_label("attempts")}>`: what a cell says before its value where rows are blocks of lines, on a phone.
pub fn data_label<V: AttributeValue>(value: V) -> CustomAttr<Label, V> {
    custom_attribute(Label, value)
}

/// `<a {..data_noscroll(true)}>`: the router leaves the page where it is scrolled to.
pub fn data_noscroll<V: AttributeValue>(value: V) -> CustomAttr<NoScroll, V> {
    custom_attribute(NoScroll, value)
}

#[derive(Clone, Copy, Debug)]
pub struct Label;

#[derive(Clone, Copy, Debug)]
pub struct NoScroll;

impl CustomAttributeKey for Label {
    const KEY: &'static str = "data-label";
}

impl CustomAttributeKey for NoScroll {
    const KEY: &'static str = "data-noscroll";
}

impl AsRef<str> for Label {
    fn as_ref(&self) -> &str {
        Self::KEY
    }
}

impl AsRef<str> for NoScroll {
    fn as_ref(&self) -> &str {
        Self::KEY
    }
}
