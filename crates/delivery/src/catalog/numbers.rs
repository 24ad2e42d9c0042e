//! Numbers as Postgres returns them.
//!
//! `jsonb` keeps numbers as decimals: `1e17` is read back as 100000000000000000, an integer to serde_json, and would look like a change
//! each time it is sent. Such floats are turned into the integer they are before anything is compared or stored.

use serde_json::{Number, Value};

/// Turns every float that is written with a positive exponent and is an integer of 64 bits into that integer.
pub(super) fn normalise(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(integer) = as_integer(number) {
                *number = integer;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(fields) => fields.values_mut().for_each(normalise),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn as_integer(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    if float.abs() < 1e15 || float.abs() >= 2e19 {
        return None;
    }
    // The shortest digits that mean this float, as they are sent to Postgres: 1.2345e17.
    let text = number.to_string();
    let (digits, exponent) = text.split_once('e')?;
    let exponent: usize = exponent.trim_start_matches('+').parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let zeros = exponent.checked_sub(fraction.len())?;
    let decimal = format!("{whole}{fraction}{}", "0".repeat(zeros));
    match decimal.parse::<i64>() {
        Ok(integer) => Some(integer.into()),
        Err(_) => decimal.parse::<u64>().ok().map(Number::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_floats_become_the_integer_postgres_returns() {
        for (given, kept) in [
            ("1e17", "100000000000000000"),
            ("-1.5e17", "-150000000000000000"),
            ("12345678901234567890123", "1.2345678901234568e+22"),
            ("1.2345678901234567e18", "1234567890123456800"),
            ("1e19", "10000000000000000000"),
            ("1.0", "1.0"),
            ("7", "7"),
            ("1e-7", "1e-7"),
            ("1e300", "1e+300"),
            (r#"{"a":[1e17,"1e17",null]}"#, r#"{"a":[100000000000000000,"1e17",null]}"#),
        ] {
            let mut value: Value = serde_json::from_str(given).unwrap();
            normalise(&mut value);
            assert_eq!(value, serde_json::from_str::<Value>(kept).unwrap(), "{given}");
        }
    }
}
