//! Adds the limits of fields to the schemas, from the constants that the checks use (`model::limits`).

use crate::api::extract::MAX_VALUE_CHARS;
use model::{failure::NOTE_CHARS, limits, rules::narrowing};
use std::ops::RangeInclusive;
use utoipa::Number;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{Array, ArrayItems, Object, SchemaType};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Schema, Type};

enum Limit {
    /// The least and the largest number.
    Value(isize, isize),
    /// Characters of a text, or items of a list.
    Length(RangeInclusive<usize>),
    Pattern(&'static str),
    /// A key chosen by the sender: the usual length, and a pattern.
    Key(&'static str),
    /// A list of such keys.
    Keys(RangeInclusive<usize>, &'static str),
    NotEmpty,
    OneOf(&'static [&'static str]),
}

/// `NewBulk` as each of its two paths takes it: the actions differ.
const NEW_JOB_BULK: &str = "NewJobBulk";
const NEW_DEAD_LETTER_BULK: &str = "NewDeadLetterBulk";

fn value<N: Into<i64> + Copy>(range: &RangeInclusive<N>) -> Option<Limit> {
    let (least, most) = ((*range.start()).into(), (*range.end()).into());
    Some(Limit::Value(isize::try_from(least).ok()?, isize::try_from(most).ok()?))
}

/// No control characters, including those of text direction (`model::text::is_control`).
const KEY: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]+$";
/// The same, and neither `.` nor `..`, which are steps of a URL path.
const RECORD_ID: &str = "^(?!\\.{1,2}$)[^\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]+$";

/// Type and id of a record, neither of them a step of a URL path.
const SUBJECT: &str = "^(?!\\.{1,2}/)[^/\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]{1,255}/\
    (?!\\.{1,2}$)[^\\u0000-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]{1,255}$";
/// `application/json`, or a type that ends in `+json`, whatever its parameters.
const JSON_TYPE: &str = "^[^;]*[/+][jJ][sS][oO][nN][ \\t]*(;|$)";

/// The limit of a field of a schema. Fields that only filter have none: nothing longer is found, that is all.
fn limit(schema: &str, field: &str) -> Option<Limit> {
    if schema == "JobFilter" {
        return filter_limit(field);
    }
    let of_request = schema.starts_with("New") || schema.ends_with("Changes") || schema == "Pause";
    let is_sent = of_request || matches!(schema, "Event" | "CloudEvent");
    match field {
        "record_type" | "job_type" | "deduplication_id" | "serialize_key" | "correlation_id"
        | "correlationid" | "rate_limit_key"
            if is_sent =>
        {
            Some(Limit::Key(KEY))
        }
        "record_id" if is_sent => Some(Limit::Key(RECORD_ID)),
        "id" | "source" if schema == "CloudEvent" => Some(Limit::NotEmpty),
        "specversion" => Some(Limit::OneOf(&["1.0"])),
        "datacontenttype" => Some(Limit::Pattern(JSON_TYPE)),
        "subject" if schema == "CloudEvent" => Some(Limit::Pattern(SUBJECT)),
        "id" if schema == "Event" => Some(Limit::Key(KEY)),
        "password" if of_request => Some(Limit::Length(limits::PASSWORD_CHARS)),
        "email" if of_request => Some(Limit::Length(limits::EMAIL_CHARS)),
        "record_type" | "record_id" | "job_type" | "deduplication_id" | "serialize_key"
        | "correlation_id" | "correlationid" | "rate_limit_key" => Some(Limit::Length(limits::KEY_CHARS)),
        "name" if of_request && schema.contains("SavedView") => Some(Limit::Length(limits::VIEW_NAME_CHARS)),
        "query" if of_request => Some(Limit::Length(limits::VIEW_QUERY_CHARS)),
        "alert_at" if of_request => value(&limits::VIEW_ALERT_AT),
        "slug" if of_request => Some(Limit::Pattern("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")),
        "role" if schema.contains("User") && of_request => {
            Some(Limit::OneOf(&["operator", "support", "auditor"]))
        }
        "action" if schema == NEW_JOB_BULK => Some(Limit::OneOf(&["requeue", "cancel"])),
        "action" if schema == NEW_DEAD_LETTER_BULK => Some(Limit::OneOf(&["requeue", "purge"])),
        "name" if of_request => Some(Limit::Length(limits::NAME_CHARS)),
        "reason" if of_request => Some(Limit::Length(limits::REASON_CHARS)),
        "ids" if of_request => Some(Limit::Length(limits::ITEMS)),
        "record_ids" if of_request => Some(Limit::Keys(limits::ITEMS, KEY)),
        "record_types" if of_request => Some(Limit::Keys(0..=*limits::ITEMS.end(), KEY)),
        "endpoint_url" if of_request => Some(Limit::Length(limits::ENDPOINT_URL_CHARS)),
        "note" if schema == "SetFailureNote" => Some(Limit::Length(NOTE_CHARS)),
        "priority" => value(&limits::PRIORITY),
        "max_attempts" => value(&limits::MAX_ATTEMPTS),
        "retry_schedule" if of_request => Some(Limit::Length(limits::RETRY_SCHEDULE_CHARS)),
        "timeout_ms" => value(&limits::TIMEOUT_MS),
        "max_concurrency" => value(&limits::MAX_CONCURRENCY),
        "bundle_window_seconds" => value(&limits::BUNDLE_WINDOW_SECONDS),
        "seconds" if schema == "Debounce" => value(&limits::DEBOUNCE_SECONDS),
        "max_seconds" if schema == "Debounce" => value(&limits::DEBOUNCE_MAX_SECONDS),
        "requests" if schema == "RateLimit" => value(&limits::REQUESTS),
        "per_seconds" if schema == "RateLimit" => value(&limits::PER_SECONDS),
        "rate_per_second" => value(&limits::RATE_PER_SECOND),
        "hold_seconds" => value(&limits::HOLD_SECONDS),
        "expires_in_seconds" => value(&limits::EXPIRES_IN_SECONDS),
        _ => None,
    }
}

/// The same for the parameters of a list.
fn filter_limit(field: &str) -> Option<Limit> {
    match field {
        "attempt" | "attempt_min" | "attempt_max" => value(&(0..=i16::MAX)),
        "cursor" => Some(Limit::Length(1..=MAX_VALUE_CHARS)),
        _ => None,
    }
}

/// Adds the limits to the parameters of an operation, and to those without an index of their own which other filter they need.
pub(super) fn narrow(path: &str, parameters: &mut [RefOr<Parameter>]) {
    let is_dead = path.starts_with("/dead-letters");
    for parameter in parameters {
        let RefOr::T(Parameter { name, parameter_in: ParameterIn::Query, schema, description, .. }) =
            parameter
        else {
            continue;
        };
        if let Some(schema) = schema {
            match filter_limit(name) {
                Some(limit) => apply(schema, &limit),
                None => limit_length(schema, MAX_VALUE_CHARS),
            }
        }
        if (path == "/jobs" || is_dead)
            && let Some(companions) = narrowing::companions(name, is_dead)
        {
            let before = description.take().unwrap_or_default();
            *description = Some(format!("{before} It {companions}."));
        }
    }
}

/// Only for plain texts: one with a format, an enum or a pattern is bounded by that.
fn limit_length(schema: &mut RefOr<Schema>, most: usize) {
    if let RefOr::T(Schema::Object(Object {
        schema_type: SchemaType::Type(Type::String),
        format: None,
        enum_values: None,
        pattern: None,
        max_length: length @ None,
        ..
    })) = schema
    {
        *length = Some(most);
    }
}

/// Adds the limits to every schema.
pub(super) fn write(openapi: &mut OpenApi) {
    for path in openapi.paths.paths.values_mut() {
        if let Some(RefOr::T(body)) = path.post.as_mut().and_then(|post| post.request_body.as_mut()) {
            for form in body.content.values_mut() {
                if let RefOr::T(Content { schema: Some(RefOr::T(Schema::Array(list))), .. }) = form {
                    limit_items(list, &limits::ITEMS);
                }
            }
        }
    }
    let Some(components) = openapi.components.as_mut() else { return };
    if let Some(bulk) = components.schemas.remove("NewBulk") {
        for name in [NEW_JOB_BULK, NEW_DEAD_LETTER_BULK] {
            components.schemas.insert(name.to_owned(), bulk.clone());
        }
    }
    for (name, schema) in &mut components.schemas {
        let RefOr::T(schema) = schema else { continue };
        if let Some(item) = name.strip_prefix("OneOrMany_") {
            one_or_many(item, schema);
        } else if name == "RateLimits" {
            limit_array_form(schema, &limits::RATE_LIMITS);
        } else {
            fields(name, schema);
        }
    }
}

fn fields(name: &str, schema: &mut Schema) {
    match schema {
        Schema::Object(object) => {
            for (field, schema) in &mut object.properties {
                if let Some(limit) = limit(name, field) {
                    apply(schema, &limit);
                }
                if name.ends_with("Changes") {
                    keep_absent(schema);
                }
            }
        }
        // A flattened answer: each part has its own fields.
        Schema::AllOf(parts) => {
            for part in &mut parts.items {
                if let RefOr::T(part) = part {
                    fields(name, part);
                }
            }
        }
        _ => {}
    }
}

/// In a change, absent and null differ: absent keeps the value, null removes it. So there is no default.
fn keep_absent(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(field)) => field.default = None,
        RefOr::T(Schema::Array(list)) => list.default = None,
        RefOr::T(Schema::OneOf(forms)) => forms.default = None,
        RefOr::T(Schema::AnyOf(forms)) => forms.default = None,
        RefOr::T(Schema::AllOf(parts)) => parts.default = None,
        RefOr::Ref(named) => named.default = None,
        RefOr::T(_) => {}
    }
}

fn apply(schema: &mut RefOr<Schema>, limit: &Limit) {
    match (limit, schema) {
        // The enum is shared with answers and has more values than a request may use.
        (Limit::OneOf(values), schema) => {
            let field = Object::builder().schema_type(Type::String).enum_values(Some(values.iter().copied()));
            *schema = field.into();
        }
        (Limit::Value(least, most), RefOr::T(Schema::Object(field))) => {
            field.minimum = Some(Number::Int(*least));
            field.maximum = Some(Number::Int(*most));
        }
        (Limit::Length(range), RefOr::T(Schema::Object(field))) => {
            field.min_length = Some(*range.start()).filter(|least| *least > 0);
            field.max_length = Some(*range.end());
        }
        (Limit::Key(pattern), RefOr::T(Schema::Object(field))) => {
            field.min_length = Some(*limits::KEY_CHARS.start());
            field.max_length = Some(*limits::KEY_CHARS.end());
            field.pattern = Some((*pattern).to_owned());
        }
        (Limit::NotEmpty, RefOr::T(Schema::Object(field))) => field.min_length = Some(1),
        (Limit::Length(range), RefOr::T(Schema::Array(list))) => limit_items(list, range),
        (Limit::Keys(range, pattern), RefOr::T(Schema::Array(list))) => {
            limit_items(list, range);
            if let ArrayItems::RefOrSchema(item) = &mut list.items {
                apply(item, &Limit::Key(pattern));
            }
        }
        (Limit::Pattern(pattern), RefOr::T(Schema::Object(field))) => {
            field.pattern = Some((*pattern).to_owned());
        }
        _ => {}
    }
}

fn limit_items(list: &mut Array, range: &RangeInclusive<usize>) {
    list.min_items = Some(*range.start()).filter(|least| *least > 0);
    list.max_items = Some(*range.end());
}

/// A body that is one item or several: the item is described once, under its own name.
fn one_or_many(item: &str, schema: &mut Schema) {
    limit_array_form(schema, &limits::ITEMS);
    let Schema::OneOf(forms) = schema else { return };
    let item = || RefOr::Ref(Ref::from_schema_name(item));
    for form in &mut forms.items {
        match form {
            RefOr::T(Schema::Array(list)) => list.items = ArrayItems::RefOrSchema(Box::new(item())),
            form => *form = item(),
        }
    }
}

fn limit_array_form(schema: &mut Schema, range: &RangeInclusive<usize>) {
    let Schema::OneOf(forms) = schema else { return };
    for form in &mut forms.items {
        if let RefOr::T(Schema::Array(list)) = form {
            limit_items(list, range);
        }
    }
}
