//! What a send changes: the attributes to be sent against those last accepted, line by line.

use leptos::prelude::*;
use model::{attributes::Attributes, text::shown};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Same,
    Before,
    After,
}

#[component]
pub fn DeltaDiff(
    /// What was last accepted; `None`: nothing yet.
    before: Option<Attributes>,
    /// What the record has now.
    after: Attributes,
) -> impl IntoView {
    let lines = lines(before.as_ref(), &after);
    view! {
        <div class="diff" role="region" aria-label="Changes" tabindex="0">
            {lines
                .into_iter()
                .map(|(side, text)| {
                    let (class, sign, says) = match side {
                        Side::Same => ("ctx", "", ""),
                        Side::Before => ("del", "−", "before: "),
                        Side::After => ("add", "+", "now: "),
                    };
                    view! {
                        <div class=class>
                            <span aria-hidden="true">{sign}</span>
                            <span>
                                <span class="sr-only">{says}</span>
                                {text}
                            </span>
                        </div>
                    }
                })
                .collect_view()}
        </div>
    }
    .into_any()
}

/// Changed attributes, then one line that counts the rest.
fn lines(before: Option<&Attributes>, after: &Attributes) -> Vec<(Side, String)> {
    let empty = Attributes::new();
    let old = before.unwrap_or(&empty);
    let mut lines = Vec::new();
    let mut same = 0usize;
    for (key, value) in after {
        match old.get(key) {
            Some(was) if was == value => same += 1,
            Some(was) => {
                lines.push((Side::Before, line(key, was)));
                lines.push((Side::After, line(key, value)));
            }
            None => lines.push((Side::After, line(key, value))),
        }
    }
    for (key, was) in old.iter().filter(|(key, _)| !after.contains_key(*key)) {
        lines.push((Side::Before, line(key, was)));
    }
    match same {
        0 => {}
        1 => lines.push((Side::Same, "1 attribute unchanged".to_owned())),
        n => lines.push((Side::Same, format!("{n} attributes unchanged"))),
    }
    if lines.is_empty() {
        lines.push((Side::Same, "no attributes".to_owned()));
    }
    lines
}

fn line(key: &str, value: &Value) -> String {
    const MAX_CHARS: usize = 400;
    let text = format!("{}: {value}", Value::String(key.to_owned()));
    let text = shown(&text);
    if text.chars().count() <= MAX_CHARS {
        text.into_owned()
    } else {
        text.chars().take(MAX_CHARS).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_attributes_show_both_sides_and_the_rest_is_counted() {
        let object = |text: &str| serde_json::from_str::<Attributes>(text).expect("an object");
        let before = object(r#"{"price": 749.0, "title": "Oak", "gone": true}"#);
        let after = object(r#"{"price": 699.0, "title": "Oak", "new": null}"#);
        assert_eq!(
            lines(Some(&before), &after),
            [
                (Side::After, r#""new": null"#.to_owned()),
                (Side::Before, r#""price": 749.0"#.to_owned()),
                (Side::After, r#""price": 699.0"#.to_owned()),
                (Side::Before, r#""gone": true"#.to_owned()),
                (Side::Same, "1 attribute unchanged".to_owned()),
            ]
        );
        assert_eq!(lines(None, &Attributes::new()), [(Side::Same, "no attributes".to_owned())]);
    }
}
