//! `data-*` attributes that hydration does not write again.
//!
//! Leptos does not know the name of a `data-label="…"` in a view at compile time, so hydration writes each of them again: a hundred on a
//! page. With a type for the name it leaves them as the server rendered them.

use leptos::tachys::html::attribute::AttributeValue;
use leptos::tachys::html::attribute::custom::{CustomAttr, CustomAttributeKey, custom_attribute};

/// `<td class="n" {..data_label("attempts")}>`: the text before the cell's value on a phone, where a row is a block of lines.
pub fn data_label<V: AttributeValue>(value: V) -> CustomAttr<Label, V> {
    custom_attribute(Label, value)
}

/// `<a {..data_noscroll(true)}>`: the router keeps the scroll position.
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
