//! Every setting: its default, what it accepts, what it refuses and with which message.

use super::*;
use std::{collections::BTreeMap, time::Duration};

fn sources(environment: &[(&str, &str)]) -> Sources {
    let environment = environment.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Sources::gather(BTreeMap::new(), environment, None, &all_keys()).unwrap()
}

fn refusal(name: &str, value: &str) -> String {
    let sources = sources(&[(name, value)]);
    let faults = [
        DatabaseSettings::read(&sources).err(),
        ListenSettings::read(&sources).err(),
        EngineSettings::read(&sources).err(),
        OperatorSettings::read(&sources).err(),
        TelemetrySettings::read(&sources).err(),
    ];
    faults.into_iter().flatten().map(|error| error.to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_documented_variable_exists() {
    let names: Vec<&str> = all_keys().iter().map(|key| key.name).collect();
    for name in [
        "DATABASE_URL",
        "DATABASE_READ_URL",
        "DATA_DIR",
        "LISTEN",
        "BASE_PATH",
        "TRUSTED_PROXIES",
        "ADMIN_API_KEY",
        "ADMIN_EMAIL",
        "ADMIN_PASSWORD",
        "MASTER_KEY",
        "ALLOWED_TARGETS",
        "ALLOW_HTTP",
        "WORKERS",
        "FETCH_LIMIT",
        "POLL_INTERVAL",
        "JOB_TIMEOUT",
        "MAX_ATTEMPTS",
        "RETRY_SCHEDULE",
        "RETRY_JITTER",
        "BREAKER_FAILURES",
        "HEARTBEAT_INTERVAL",
        "RECOVERY_INTERVAL",
        "SHUTDOWN_GRACE",
        "RETENTION",
        "AMQP_URL",
        "LOG",
        "LOG_FORMAT",
    ] {
        assert!(names.contains(&format!("HEADGATE_{name}").as_str()), "{name}");
    }
    assert!(names.contains(&"OTEL_EXPORTER_OTLP_ENDPOINT"));
}

#[test]
fn the_defaults_are_those_documented() {
    let sources = sources(&[]);
    let serve = ServeSettings::read(&sources).unwrap();
    let workers = &serve.engine.workers;
    assert_eq!(serve.listen.address.to_string(), "127.0.0.1:3000");
    assert_eq!((workers.workers, workers.fetch_limit), (100, 200));
    assert_eq!(workers.poll_interval, Duration::from_secs(1));
    assert_eq!(workers.job_timeout, Duration::from_secs(30));
    assert_eq!(workers.heartbeat_interval, Duration::from_secs(10));
    assert_eq!(workers.recovery_interval, Duration::from_secs(10));
    assert_eq!(workers.shutdown_grace, Duration::from_secs(20));
    assert_eq!(serve.engine.retentions, Retentions::default());
    assert_eq!(serve.engine.retry.backoff, model::rules::backoff::Backoff::default());
    assert_eq!((serve.engine.retry.max_attempts, serve.engine.retry.breaker_failures), (10, 20));
    assert!(!serve.engine.delivery.allow_http && serve.engine.delivery.allowed_targets.is_empty());
    assert!(serve.database.url.is_none() && serve.operator.first_operator.is_none());
    let telemetry = TelemetrySettings::read(&sources).unwrap();
    assert_eq!((telemetry.filter.as_str(), telemetry.format), ("info", LogFormat::Text));
}

#[test]
fn a_bad_value_is_refused_with_key_value_and_what_is_accepted() {
    for (name, value, accepted) in [
        ("HEADGATE_LISTEN", "nowhere", "an address and a port"),
        ("HEADGATE_BASE_PATH", "gate", "a path such as"),
        ("HEADGATE_INSTANCE", "production#red", "a name of up to 40 characters"),
        ("HEADGATE_ALLOWED_TARGETS", "10.0.0.0/33", "a list of CIDRs"),
        ("HEADGATE_ALLOW_HTTP", "maybe", "true or false"),
        ("HEADGATE_MASKED_FIELDS", "email,,phone", "a list of up to 100 fields"),
        ("HEADGATE_WORKERS", "-1", "a whole number from 0 to 10000"),
        ("HEADGATE_WORKERS", "10001", "a whole number from 0 to 10000"),
        ("HEADGATE_FETCH_LIMIT", "0", "a whole number from 1 to 2000"),
        ("HEADGATE_POLL_INTERVAL", "1", "a duration from 10ms to 1h"),
        ("HEADGATE_POLL_INTERVAL", "1 s", "a duration from 10ms to 1h"),
        ("HEADGATE_JOB_TIMEOUT", "2h", "a duration from 100ms to 1h"),
        ("HEADGATE_MAX_ATTEMPTS", "0", "a whole number from 1 to 100"),
        ("HEADGATE_RETRY_SCHEDULE", "1s,,2s", "a list of 1 to 100 waits"),
        ("HEADGATE_RETRY_JITTER", "1.5", "a number from 0 to 1"),
        ("HEADGATE_RETRY_JITTER", "NaN", "a number from 0 to 1"),
        ("HEADGATE_BREAKER_FAILURES", "x", "a whole number from 0"),
        ("HEADGATE_HEARTBEAT_INTERVAL", "1ms", "a duration from 100ms to 10m"),
        ("HEADGATE_RECOVERY_INTERVAL", "1w", "a duration from 100ms to 10m"),
        ("HEADGATE_SHUTDOWN_GRACE", "soon", "a duration from 0s to 1h"),
        ("HEADGATE_RETENTION", "1s", "a duration from 1h to 3650d"),
        ("HEADGATE_OPERATION_RETENTION", "23h", "a duration from 1d to 3650d"),
        ("HEADGATE_AUDIT_RETENTION", "for ever", "a duration from 1h to 3650d"),
        ("HEADGATE_ADMIN_EMAIL", "nobody", "an e-mail address"),
        ("HEADGATE_LOG", "loud", "a tracing filter"),
        ("HEADGATE_LOG_FORMAT", "xml", "text or json"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "no url", "a URL"),
    ] {
        let line = refusal(name, value);
        assert!(line.starts_with(&format!("{name}={value}: must be {accepted}")), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}

#[test]
fn a_secret_is_never_shown() {
    for (name, value) in [
        ("HEADGATE_DATABASE_URL", "mysql://me:hunter2@x/y"),
        ("DATABASE_URL", "hunter2"),
        ("HEADGATE_DATABASE_READ_URL", "http://hunter2"),
        ("HEADGATE_ADMIN_API_KEY", "hunter2"),
        ("HEADGATE_ADMIN_PASSWORD", "hunter2"),
        ("HEADGATE_MASTER_KEY", "hunter2"),
        ("HEADGATE_AMQP_URL", "hunter2"),
    ] {
        let line = refusal(name, value);
        assert!(line.starts_with(&format!("{name}=(hidden")) && line.contains("): must be "), "{line}");
        assert!(!line.contains("hunter2"), "{line}");
    }
    let sources = sources(&[
        ("HEADGATE_DATABASE_URL", "postgres://me:hunter2@db/headgate"),
        ("HEADGATE_ADMIN_API_KEY", "hunter2-hunter2-hunter2-hunter2-hunter2"),
    ]);
    assert!(!format!("{:?}", ServeSettings::read(&sources).unwrap()).contains("hunter2"));
}

#[test]
fn contradictory_settings_are_refused() {
    for (given, words) in [
        (("HEADGATE_ADMIN_EMAIL", "a@b.test"), "HEADGATE_ADMIN_PASSWORD is not"),
        (("HEADGATE_ADMIN_PASSWORD", "long enough"), "HEADGATE_ADMIN_EMAIL is not"),
        (("HEADGATE_DATABASE_READ_URL", "postgres://r/x"), "HEADGATE_DATABASE_URL is not"),
    ] {
        assert!(refusal(given.0, given.1).contains(words));
    }
}

#[test]
fn values_are_parsed() {
    let sources = sources(&[
        ("HEADGATE_ALLOWED_TARGETS", "10.0.0.0/8, 127.0.0.1 ,fd00::/8"),
        ("HEADGATE_ALLOW_HTTP", "TRUE"),
        ("HEADGATE_MASKED_FIELDS", "email, customer.iban"),
        ("HEADGATE_RETRY_SCHEDULE", "exponential"),
        ("HEADGATE_POLL_INTERVAL", "250ms"),
        ("HEADGATE_MASTER_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
        ("DATABASE_URL", "postgres:///headgate?host=%2Frun&user=x"),
    ]);
    let serve = ServeSettings::read(&sources).unwrap();
    assert_eq!(serve.engine.delivery.allowed_targets.len(), 3);
    assert!(serve.engine.delivery.allow_http && serve.engine.delivery.master_key.is_some());
    assert_eq!(serve.engine.delivery.masked_fields, ["email", "customer.iban"]);
    assert_eq!(serve.engine.workers.poll_interval, Duration::from_millis(250));
    assert!(serve.database.url.is_some());
}
