//! A mistake on the command line or in a setting is one line and exit code 2.

use crate::support::{Output, run};

async fn refused(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let Output { code, out, err } = run(arguments, environment, "").await;
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    err
}

#[tokio::test]
async fn an_unknown_or_invalid_setting_prevents_the_start_with_one_line() {
    for (environment, words) in [
        (
            ("HEADGATE_WORKRES", "5"),
            "HEADGATE_WORKRES=5: there is no such setting; did you mean HEADGATE_WORKERS?",
        ),
        (("HEADGATE_POLL_INTERVAL", "often"), "HEADGATE_POLL_INTERVAL=often: must be a duration"),
        (
            ("HEADGATE_DATABASE_URL", "mysql://me:hunter2@db/x"),
            "HEADGATE_DATABASE_URL=(hidden: it begins with mysql://): must be a URL such as postgres://user:password@host:5432/database",
        ),
        (("HEADGATE_ADMIN_API_KEY", "short"), "HEADGATE_ADMIN_API_KEY=(hidden): must be 32 to 1000 visible"),
        (("HEADGATE_ADMIN_EMAIL", "a@b.test"), "HEADGATE_ADMIN_PASSWORD is not"),
    ] {
        let line = refused(&["serve"], &[environment]).await;
        assert!(line.contains(words), "{line}");
    }
    let line = refused(&["worker"], &[("HEADGATE_WORKERS", "0")]).await;
    assert!(line.contains("HEADGATE_WORKERS=0: a worker without workers"), "{line}");
}

#[tokio::test]
async fn a_mistake_on_the_command_line_is_one_line() {
    for (arguments, words) in [
        (&["serve", "--wrokers", "5"][..], "unexpected argument '--wrokers'"),
        (&["sevre"][..], "unrecognized subcommand 'sevre'"),
        (&["import", "records"][..], "--app"),
        (&["export", "everything"][..], "dead-letters"),
        (&["serve", "--workers", "many"][..], "--workers=many: must be a whole number from 0 to 10000"),
        (&["serve", "--config", "/nowhere.toml"][..], "/nowhere.toml"),
    ] {
        let line = refused(arguments, &[]).await;
        assert!(line.contains(words), "{line}");
    }
}

#[tokio::test]
async fn help_and_version_go_to_standard_output() {
    let version = run(&["--version"], &[], "").await;
    assert_eq!(
        (version.code, version.out.trim()),
        (Some(0), concat!("headgate ", env!("CARGO_PKG_VERSION")))
    );
    let help = run(&["serve", "--help"], &[("HEADGATE_NONSENSE", "1")], "").await;
    assert_eq!(help.code, Some(0));
    for words in ["--retry-schedule", "[default: 0s,10s,30s", "HEADGATE_LISTEN", "waits between attempts"] {
        assert!(help.out.contains(words), "{words}");
    }
}

#[tokio::test]
async fn settings_that_another_command_uses_are_ignored_and_empty_ones_are_unset() {
    let environment =
        [("HEADGATE_LISTEN", "nonsense"), ("HEADGATE_WORKERS", ""), ("HEADGATE_DATABASE_URL", "http://x")];
    let line = refused(&["migrate"], &environment).await;
    assert!(
        line.contains(
            "HEADGATE_DATABASE_URL=(hidden: it begins with http://): must be a URL such as postgres://"
        ),
        "{line}"
    );
}

#[tokio::test]
async fn a_data_directory_that_cannot_be_created_is_named_with_its_setting() {
    let output = run(&["migrate"], &[("HEADGATE_DATA_DIR", "/proc/headgate")], "").await;
    let lines: Vec<&str> = output.err.lines().collect();
    assert!(output.code != Some(0) && lines.len() == 1, "{}", output.err);
    assert!(
        lines[0].contains("/proc/headgate: ") && lines[0].contains("HEADGATE_DATA_DIR"),
        "{}",
        output.err
    );
    assert_eq!(lines[0].matches("(os error").count(), 1, "{}", output.err);
}
