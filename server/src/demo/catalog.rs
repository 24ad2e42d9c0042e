//! The catalogs of the demo: products with titles, prices, stock, translations and nested variants. They are derived from a number, so that every
//! start has the same ones, and are changed as shops change theirs.

use model::attributes::Attributes;
use rand::{Rng, seq::IndexedRandom as _};
use serde_json::{Value, json};

/// What an app sells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// Of record ids.
    pub(super) prefix: &'static str,
    /// First words of titles.
    pub(super) qualities: &'static [&'static str],
    /// Last words of titles: English, German, French.
    pub(super) things: &'static [[&'static str; 3]],
    pub(super) variants: &'static [&'static str],
    /// Number of products.
    pub(super) size: u32,
}

pub(super) const OUTDOOR: Range = Range {
    prefix: "nw",
    qualities: &["Alpine", "Fjord", "Granite", "Larch", "Meltwater", "North Ridge", "Storm", "Tundra"],
    things: &[
        ["tent", "Zelt", "tente"],
        ["boots", "Stiefel", "bottes"],
        ["rain jacket", "Regenjacke", "veste de pluie"],
        ["sleeping bag", "Schlafsack", "sac de couchage"],
        ["rucksack", "Rucksack", "sac à dos"],
        ["stove", "Kocher", "réchaud"],
    ],
    variants: &["S", "M", "L", "XL"],
    size: 320,
};
pub(super) const LIGHTING: Range = Range {
    prefix: "lamp",
    qualities: &["Arc", "Brass", "Dune", "Halo", "Linen", "Opal", "Paper", "Smoke"],
    things: &[
        ["floor lamp", "Stehleuchte", "lampadaire"],
        ["pendant", "Pendelleuchte", "suspension"],
        ["desk lamp", "Tischleuchte", "lampe de bureau"],
        ["wall light", "Wandleuchte", "applique"],
        ["bulb", "Leuchtmittel", "ampoule"],
    ],
    variants: &["black", "white", "brass", "oak"],
    size: 260,
};
pub(super) const BOOKS: Range = Range {
    prefix: "book",
    qualities: &["A Short History of", "The Silence of", "Notes on", "Beyond", "The Last", "Letters from"],
    things: &[
        ["the harbour", "Hafen", "le port"],
        ["winter", "Winter", "l'hiver"],
        ["bridges", "Brücken", "les ponts"],
        ["the amber coast", "Bernsteinküste", "la côte d'ambre"],
        ["small numbers", "kleine Zahlen", "les petits nombres"],
    ],
    variants: &["hardback", "paperback", "e-book"],
    size: 380,
};

pub(super) fn record_id(range: &Range, n: u32) -> String {
    format!("{}-{n:04}", range.prefix)
}

/// The n-th product before any change.
pub(super) fn product(range: &Range, n: u32) -> Attributes {
    let pick = |step: u32, of: usize| (n / step) as usize % of.max(1);
    let quality = range.qualities[pick(1, range.qualities.len())];
    let thing = range.things[pick(3, range.things.len())];
    let price = f64::from(n * 37 % 900 + 9) + 0.99;
    let variants: Vec<Value> = range
        .variants
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let index = u32::try_from(index).unwrap_or(0);
            json!({
                "sku": format!("{}-{}", record_id(range, n), index + 1),
                "name": name,
                "stock": n * 13 % 90 + index * 7,
                "price": {"amount": price + f64::from(index * 5), "currency": "EUR"},
            })
        })
        .collect();
    let product = json!({
        "title": format!("{quality} {}", thing[0]),
        "price": {"amount": price, "currency": "EUR"},
        "stock": n * 13 % 90,
        "ean": format!("40{:011}", u64::from(n) * 7_919 % 100_000_000_000),
        "is_listed": true,
        "tags": [quality.to_lowercase(), thing[0]],
        "translations": {
            "de": {"title": format!("{quality} {}", thing[1])},
            "fr": {"title": format!("{quality} {}", thing[2])},
        },
        "variants": variants,
    });
    match product {
        Value::Object(attributes) => attributes,
        _ => Attributes::new(),
    }
}

/// A change of a product: its new attributes, and whether it is urgent (a price, or whether it is listed).
pub(super) fn change(range: &Range, n: u32, rng: &mut impl Rng) -> (Attributes, bool) {
    let known = product(range, n);
    let (value, is_urgent) = match rng.random_range(0..100) {
        0..45 => (json!({"stock": rng.random_range(0..120)}), false),
        45..65 => {
            (json!({"price": {"amount": round(rng.random_range(9.0..999.0)), "currency": "EUR"}}), true)
        }
        65..75 => {
            let until = format!("2027-0{}-01", rng.random_range(1..10));
            (json!({"sale": {"percent": rng.random_range(5..50), "until": until}}), false)
        }
        75..85 => {
            let base = known.get("title").and_then(Value::as_str).unwrap_or_default();
            let suffix = ["", " II", " Pro", " (2027)", " – new"].choose(rng).copied().unwrap_or_default();
            (json!({"title": format!("{base}{suffix}")}), false)
        }
        85..95 => {
            let mut variants = known.get("variants").and_then(Value::as_array).cloned().unwrap_or_default();
            if !variants.is_empty() {
                let index = rng.random_range(0..variants.len());
                variants[index]["stock"] = json!(rng.random_range(0..60));
            }
            (json!({"variants": variants}), false)
        }
        _ => (json!({"is_listed": rng.random_bool(0.8)}), true),
    };
    match value {
        Value::Object(attributes) => (attributes, is_urgent),
        _ => (Attributes::new(), is_urgent),
    }
}

fn round(amount: f64) -> f64 {
    (amount * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng as _, rngs::StdRng};

    #[test]
    fn products_are_the_same_at_every_start_and_differ() {
        for range in [OUTDOOR, LIGHTING, BOOKS] {
            assert_eq!(product(&range, 7), product(&range, 7));
            assert_ne!(product(&range, 7), product(&range, 8));
            assert!(product(&range, 7)["variants"].as_array().is_some_and(|v| v.len() >= 3));
        }
    }

    #[test]
    fn a_change_has_one_attribute() {
        let mut rng = StdRng::seed_from_u64(1);
        let changes: Vec<_> = (0..200).map(|n| change(&OUTDOOR, n, &mut rng)).collect();
        assert!(changes.iter().all(|(attributes, _)| attributes.len() == 1));
        assert!(
            changes.iter().any(|(_, is_urgent)| *is_urgent)
                && changes.iter().any(|(_, is_urgent)| !is_urgent)
        );
    }
}
