//! CloudEvents 1.0 in its JSON format (structured and batched), read as changes of records.

use super::extract::typed;
use chrono::{DateTime, Utc};
use model::event::{Event, EventType};
use model::id::AppId;
use model::moment;
use model::problem::Faults;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

/// A CloudEvent about a record. Extensions other than those named are ignored, as the standard asks.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub(super) struct CloudEvent {
    /// `1.0`
    specversion: String,
    /// The sender's id of the event: another event with the same `id` and `source` changes nothing for 24 hours.
    id: String,
    /// Where it happened.
    source: String,
    /// What happened, such as `record.updated`.
    #[serde(rename = "type")]
    event_type: EventType,
    /// `record_type/record_id`: the part before the first slash is the type.
    subject: String,
    /// When it happened; becomes `occurred_at` of the event.
    #[serde(default, deserialize_with = "moment::optional")]
    time: Option<DateTime<Utc>>,
    /// `application/json` or absent.
    #[serde(default)]
    datacontenttype: Option<String>,
    /// The attributes.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    data: Option<Map<String, Value>>,
    /// Not accepted: attributes are JSON.
    #[serde(default)]
    data_base64: Option<Value>,
    /// The app; may be left out with a key that is bound to one.
    #[serde(default)]
    appid: Option<AppId>,
    /// Correlation id: ties related events and jobs together.
    #[serde(default)]
    correlationid: Option<String>,
}

/// # Errors
/// Every fault, each with a pointer below `at`.
pub(super) fn read(value: Value, at: &str, own_app: Option<AppId>) -> Result<Event, Faults> {
    let event: CloudEvent = typed(value, at)?;
    let mut faults = Faults::default();
    faults.require(event.specversion == "1.0", "/specversion", "must be 1.0");
    faults.require(!event.id.is_empty(), "/id", "must not be empty");
    faults.require(!event.source.is_empty(), "/source", "must not be empty");
    let is_json = event.datacontenttype.as_deref().is_none_or(is_json);
    faults.require(is_json, "/datacontenttype", "must be application/json or another JSON type");
    faults.require(event.data_base64.is_none(), "/data_base64", "is not accepted: send data as JSON");
    let subject = event.subject.split_once('/');
    faults.require(subject.is_some(), "/subject", "must be record_type/record_id");
    let app_id = event.appid.or(own_app);
    faults.require(app_id.is_some(), "/appid", "is required");
    let (Some((record_type, record_id)), Some(app_id)) = (subject, app_id) else {
        return Err(nested(at, faults));
    };
    if !faults.0.is_empty() {
        return Err(nested(at, faults));
    }
    let read = Event {
        app_id,
        event_type: event.event_type,
        record_type: record_type.to_owned(),
        record_id: record_id.to_owned(),
        attributes: event.data.unwrap_or_default(),
        occurred_at: event.time,
        correlation_id: event.correlationid,
        trace: None,
        id: Some(identity(&event.source, &event.id)),
    };
    // Checked here so that faults have CloudEvents' names; accepting the event checks it again under ours.
    read.check().map_err(|faults| nested(at, Faults(faults.0.into_iter().map(renamed).collect())))?;
    Ok(read)
}

/// Source and id together identify an event. The standard allows longer ones than we store, so long ones are hashed.
fn identity(source: &str, id: &str) -> String {
    let identity = format!("{source} {id}");
    if identity.chars().count() <= 255 { identity } else { format!("{:x}", Sha256::digest(identity)) }
}

fn renamed(mut fault: model::problem::FieldError) -> model::problem::FieldError {
    for (ours, theirs) in [
        ("/app_id", "/appid"),
        ("/attributes", "/data"),
        ("/record_type", "/subject"),
        ("/record_id", "/subject"),
        ("/correlation_id", "/correlationid"),
    ] {
        if let Some(rest) = fault.pointer.strip_prefix(ours) {
            fault.pointer = format!("{theirs}{rest}");
            break;
        }
    }
    fault
}

fn nested(at: &str, part: Faults) -> Faults {
    let mut faults = Faults::default();
    faults.nest(at, part);
    faults
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.ends_with("/json") || essence.ends_with("+json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event() -> Value {
        json!({
            "specversion": "1.0", "id": "e1", "source": "/shop", "type": "record.updated",
            "subject": "product/a/1", "time": "2026-01-02T03:04:05Z", "datacontenttype": "application/json",
            "data": {"price": 5}, "appid": "01890a5d-ac96-774b-bcce-b302099a8057", "correlationid": "c1",
            "othervendor": 7,
        })
    }

    #[test]
    fn an_event_is_read_field_by_field() {
        let read = read(event(), "", None).unwrap();
        assert_eq!((read.record_type.as_str(), read.record_id.as_str()), ("product", "a/1"));
        assert_eq!(read.correlation_id.as_deref(), Some("c1"));
        assert_eq!(read.attributes["price"], 5);
        assert!(read.occurred_at.is_some());
    }

    #[test]
    fn source_and_id_together_identify_an_event() {
        let id = |source: &str, id: &str| {
            let mut event = event();
            (event["source"], event["id"]) = (json!(source), json!(id));
            read(event, "", None).unwrap().id.unwrap()
        };
        assert_eq!(id("/shop", "1"), "/shop 1");
        let long = "x".repeat(400);
        assert_ne!(id("/shop", &format!("{long}1")), id("/shop", &format!("{long}2")));
    }

    #[test]
    fn faults_use_the_names_of_cloudevents() {
        for (field, value, pointer) in [
            ("specversion", json!("0.3"), "/4/specversion"),
            ("type", json!("order.paid"), "/4/type"),
            ("subject", json!("product"), "/4/subject"),
            ("subject", json!("product/"), "/4/subject"),
            ("appid", Value::Null, "/4/appid"),
            ("data", json!([1]), "/4/data"),
            ("data_base64", json!("AA=="), "/4/data_base64"),
            ("datacontenttype", json!("text/xml"), "/4/datacontenttype"),
            ("time", json!("noon"), "/4/time"),
            ("correlationid", json!(""), "/4/correlationid"),
        ] {
            let mut event = event();
            event[field] = value;
            assert_eq!(read(event, "/4", None).unwrap_err().0[0].pointer, pointer);
        }
    }

    #[test]
    fn a_bound_key_supplies_the_app() {
        let mut event = event();
        event.as_object_mut().unwrap().remove("appid");
        let own = AppId::generate();
        assert_eq!(read(event, "", Some(own)).unwrap().app_id, own);
    }
}
