use super::*;
use model::json::{MAX_RECORD_BYTES, MAX_VALUES};
use std::cell::Cell;

fn refused(text: &str) -> Unreadable {
    match read(text.as_bytes()) {
        Err(unreadable) => unreadable,
        Ok(value) => panic!("{text} was read as {value}"),
    }
}

#[test]
fn a_name_given_twice_is_refused_with_its_place() {
    for (text, place) in [
        (r#"{"a": 1, "a": 1}"#, "/a"),
        (r#"[{"b": 1}, {"attributes": {"x/y": [0, {"~": 1, "n": 2, "~": 3}]}}]"#, "/1/attributes/x~1y/1/~0"),
        (r#"{"é": 1, "\u00e9": 2}"#, "/é"),
        (r#"{"": 1, "": 2"#, "/"),
    ] {
        let Unreadable { pointer, why } = refused(text);
        assert!(matches!(why, Why::Twice), "{text}: {why:?}");
        assert_eq!(pointer, place);
    }
}

#[test]
fn an_integer_beyond_64_bits_is_refused_with_its_place() {
    let long = format!(r#"{{"a": {}}}"#, "9".repeat(400));
    for (text, place) in [
        ("18446744073709551616", ""),
        ("-9223372036854775809", ""),
        (r#"{"b": 1, "a": 12345678901234567890123456789}"#, "/a"),
        // Not the doubles before it, nor strings that look like numbers.
        (
            r#"{"z": [1e300, "123456789012345678901\"2", 1.5e20], "a": [-1e19, 100000000000000000000]}"#,
            "/a/1",
        ),
        (r#"[{"x": {"1e400": 1e400}}]"#, "/0/x/1e400"),
        (&long, "/a"),
    ] {
        let Unreadable { pointer, why } = refused(text);
        assert!(matches!(why, Why::Number), "{text}: {why:?}");
        assert_eq!(pointer, place, "{text}");
    }
}

#[test]
fn a_number_is_read_as_the_nearest_double() {
    for text in [
        "18446744073709551615",
        "-9223372036854775808",
        "12345678901234567890123456789.0",
        "1.2345678901234567890123456789e28",
        "0.1",
        "-0.0",
        "122.416294033786585",
        "9007199254740993.0",
        "2.2250738585072011e-308",
        "5e-324",
        "1.7976931348623157e308",
        "1e23",
        "0.30000000000000004",
    ] {
        let value = read(text.as_bytes()).unwrap();
        if value.is_f64() {
            assert_eq!(value.as_f64().unwrap().to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        } else {
            assert_eq!(value.to_string(), text);
        }
        // Its text is read as the same value again.
        assert_eq!(read(value.to_string().as_bytes()).unwrap(), value, "{text}");
    }
}

#[test]
fn values_are_counted_before_they_are_created() {
    let most = format!("[{}]", vec!["1"; MAX_VALUES - 1].join(","));
    assert!(read(most.as_bytes()).is_ok());
    for text in [most.replacen('1', "1,1", 1), format!(r#"{{"a": {most}}}"#)] {
        let Unreadable { pointer, why } = refused(&text);
        assert!(matches!(why, Why::TooManyValues) && pointer.is_empty(), "{why:?} at {pointer:?}");
    }
}

#[test]
fn a_payload_is_refused_before_it_is_parsed() {
    let text = |bytes| "x".repeat(bytes);
    let Unreadable { pointer, why } =
        refused(&format!(r#"[{{"n": 1}}, {{"payload": {{"a": ["{}"]}}}}]"#, text(MAX_RECORD_BYTES)));
    assert!(matches!(why, Why::TooLarge), "{why:?}");
    assert_eq!(pointer, "/1/payload");
    // Each payload has a limit of its own, and whitespace does not count.
    let (one, space) = (text(900_000), " ".repeat(900_000));
    let both = format!(r#"{{"payload": ["{one}",{space}1], "data": "{one}", "other": "{one}{one}"}}"#);
    assert!(read(both.as_bytes()).is_ok());
}

#[test]
fn a_document_takes_no_more_memory_than_it_reserved() {
    for text in [
        format!("[{}]", vec![r#"{"a":1}"#; 100_000].join(",")),
        format!("[{}]", vec!["1"; 200_000].join(",")),
        format!("[{}]", vec!["{}"; 200_000].join(",")),
        format!("{{{}}}", (0..100_000).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",")),
    ] {
        let asked_for = Cell::new(0);
        let value = read_within(text.as_bytes(), &|bytes| {
            asked_for.set(bytes);
            true
        });
        let takes = size(&value.unwrap());
        assert!(asked_for.get() >= takes, "{} asked for, {takes} taken: {:.30}", asked_for.get(), text);
        let room = asked_for.get() / 2;
        let Err(refused) = read_within(text.as_bytes(), &|bytes| bytes <= room) else { panic!("{text:.30}") };
        assert!(matches!(refused.why, Why::NoRoom), "{refused:?}");
    }
}

/// Bytes in memory as the standard library lays it out: a vector's capacity, a map's nodes of eleven entries with at least five used.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.capacity() * size_of::<Value>() + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => {
            let node = 11 * (size_of::<String>() + size_of::<Value>()) + 16;
            let nodes = if fields.is_empty() { 0 } else { 1 + fields.len() / 6 };
            nodes * node + fields.iter().map(|(name, value)| name.capacity() + size(value)).sum::<usize>()
        }
        Value::String(text) => text.capacity(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[test]
fn invalid_json_has_a_place_too() {
    for (text, place) in
        [(r#"{"a": [1, "\ud800"]}"#, "/a/1"), (r#"{"a": tru}"#, "/a"), (r#"[{"a": "#, "/0/a"), ("{} x", "")]
    {
        let Unreadable { pointer, why } = refused(text);
        assert!(matches!(why, Why::Json(_)), "{text}: {why:?}");
        assert_eq!(pointer, place, "{text}");
    }
}

#[test]
fn everything_else_reads_as_serde_json_reads_it() {
    for text in [
        r#"{"a": {"a": [1, -1, 1.5, 1e300, 18446744073709551615, -0.0, true, null, "x\n\u00e9"]}, "b": {}, "c": []}"#,
        "[]",
        "7",
        "\"x\"",
        "null",
        "",
        "{\"a\":",
        "[1,]",
        "{} x",
        "\"\\ud800\"",
        "{1: 2}",
    ] {
        match (read(text.as_bytes()), serde_json::from_str::<Value>(text)) {
            (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs, "{text}"),
            (Err(Unreadable { why: Why::Json(ours), .. }), Err(theirs)) => {
                assert_eq!(ours.to_string(), theirs.to_string(), "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// `cargo test -p server --release -- --ignored --nocapture`: against serde_json alone, on a request of 1,000 events.
#[test]
#[ignore = "a measurement"]
fn what_the_checks_cost() {
    let event = r#"{"app_id":"01890a5d-ac96-774b-bcce-b302099a8057","type":"record.updated","record_type":"product","record_id":"sku-1",
        "attributes":{"title":"A lamp for the desk","price":19.99,"stock":120,"tags":["a","b"],"size":{"w":10.5,"h":20}}}"#;
    let text = format!("[{}]", vec![event; 1_000].join(","));
    let time = |work: &dyn Fn()| {
        (0..7)
            .map(|_| {
                let began = std::time::Instant::now();
                (0..20).for_each(|_| work());
                began.elapsed()
            })
            .min()
    };
    let ours = time(&|| drop(read(text.as_bytes()).unwrap()));
    let theirs = time(&|| drop(serde_json::from_str::<Value>(&text).unwrap()));
    println!("ours {ours:?}, serde_json {theirs:?}");
}
