use super::*;
use serde_json::json;

fn object(value: Value) -> Attributes {
    match value {
        Value::Object(fields) => fields,
        other => panic!("no object: {other}"),
    }
}

#[test]
fn secrets_are_masked_at_every_depth_and_of_every_type() {
    let mut value = json!({
        "id": 7,
        "password": "hunter2",
        "user": {"apiKey": {"id": 1, "value": "k"}, "name": "Ada"},
        "cards": [{"cardNumber": 4_111_111_111_111_111_u64, "brand": "visa"}],
        "lines": [[{"token": "t"}], {"title": "x"}],
        "iban": null, "secret": "", "auth": false, "tokens": [],
        "body": "{\"password\":\"hunter2\",\"n\":1}",
        "url": "https://x.test/?access_token=abc&n=1",
        "text": "It is a token: nothing more",
    });
    assert_eq!(Masking::default().value(&mut value), 6);
    assert_eq!(
        value,
        json!({
            "id": 7,
            "password": MASK,
            "user": {"apiKey": MASK, "name": "Ada"},
            "cards": MASK,
            "lines": [[{"token": MASK}], {"title": "x"}],
            "iban": null, "secret": "", "auth": false, "tokens": [],
            "body": "{\"password\":\"[masked]\",\"n\":1}",
            "url": "https://x.test/?access_token=[masked]&n=1",
            "text": "It is a token: nothing more",
        })
    );
}

#[test]
fn marked_fields_are_masked_by_name_or_by_path() {
    let masking = Masking::new(["e_mail", "customer.address.*", "lines.price", "", "."]);
    let mut value = json!({
        "eMail": "a@x.test", "deep": [{"E-MAIL": "b@x.test"}],
        "customer": {"address": {"street": "s", "town": "t"}, "name": "n"},
        "address": {"street": "stays"},
        "lines": [{"price": 1, "title": "stays"}, {"price": 2}],
        "price": 3,
        "changes": {"set": {"lines": [{"price": 4}]}},
    });
    assert_eq!(masking.value(&mut value), 7);
    assert_eq!(
        value,
        json!({
            "eMail": MASK, "deep": [{"E-MAIL": MASK}],
            "customer": {"address": {"street": MASK, "town": MASK}, "name": "n"},
            "address": {"street": "stays"},
            "lines": [{"price": MASK, "title": "stays"}, {"price": MASK}],
            "price": 3,
            "changes": {"set": {"lines": [{"price": MASK}]}},
        })
    );
    assert_eq!(masking.text("price=5&e-mail=a").as_deref(), Some("price=[masked]&e-mail=[masked]"));
}

#[test]
fn a_changed_secret_shows_that_it_changed_and_not_how() {
    let mut before =
        object(json!({"token": "a", "pin": 1.0, "n": {"iban": "x"}, "list": [{"otp": 1}], "gone": 1}));
    let mut after = object(
        json!({"token": "b", "pin": 1, "n": {"iban": "y"}, "list": [{"otp": 1}, {"otp": 2}], "secret": "new"}),
    );
    assert_eq!(Masking::default().both(&mut before, &mut after), 6);
    let was = json!({"token": MASK, "pin": MASK, "n": {"iban": MASK}, "list": [{"otp": MASK}], "gone": 1});
    assert_eq!(Value::Object(before), was);
    assert_eq!(
        Value::Object(after),
        json!({
            "token": MASK_OF_ANOTHER, "pin": MASK, "n": {"iban": MASK_OF_ANOTHER},
            "list": [{"otp": MASK}, {"otp": MASK}], "secret": MASK,
        })
    );
}

#[test]
fn metadata_marks_fields_by_a_list_of_names() {
    let of = |value| marked(&object(json!({ METADATA_KEY: value }))).map(|fields| fields.join(" "));
    assert_eq!(of(json!(["email", "customer.*"])).as_deref(), Ok("email customer.*"));
    assert_eq!(marked(&Attributes::new()), Ok(Vec::new()));
    for bad in [json!("email"), json!([1]), json!([""]), json!(["a..b"]), json!(["*"]), json!(vec!["a"; 101])]
    {
        assert!(of(bad.clone()).is_err(), "{bad}");
    }
}
