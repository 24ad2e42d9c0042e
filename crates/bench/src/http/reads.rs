//! What customers' programs read, over a million records of which a part is out of step.

use crate::{
    Options,
    program::Program,
    report::{Report, Target, median},
    world::{connect, execute, fresh},
};
use anyhow::{Context, Result};
use serde_json::json;
use std::time::Instant;

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let records: u64 = if options.quick { 10_000 } else { 1_000_000 };
    let url = fresh(server).await?;
    let pool = connect(&url, 1).await?;
    let program = Program::start(&url, 0).await?;
    let client = Program::operator()?;
    let app = super::world::app(&program, &client, 1, "http://127.0.0.1:9/").await?;
    let made = json!({"app_id": app, "name": "Read", "integration_type": "webhook", "endpoint_url": "http://127.0.0.1:9/"});
    let shop = program.post(&client, "/integrations", made.to_string()).await?;
    let shop = shop["id"].as_str().context("an integration has an id")?.to_owned();
    execute(
        &pool,
        &format!(
            "insert into headgate.records (app_id, record_type, record_id, version, attributes, attribute_bytes)
             select '{app}', 'product', 'p-' || lpad(n::text, 8, '0'), 1 + (n % 10 = 0)::int, jsonb_build_object('n', n), 9
             from generate_series(1, {records}) n;
             insert into headgate.sent_records (integration_id, record_type, record_id, version, attributes)
             select '{shop}', 'product', 'p-' || lpad(n::text, 8, '0'), 1, jsonb_build_object('n', n)
             from generate_series(1, {records}) n;
             insert into headgate.record_count_deltas (app_id, record_type, n) values ('{app}', 'product', {records});
             vacuum analyze headgate.records; vacuum analyze headgate.sent_records"
        ),
    )
    .await?;
    for (what, path) in [
        ("status of an integration", format!("/integrations/{shop}/status")),
        ("what was sent", format!("/integrations/{shop}/sent?limit=50")),
        (
            "what was sent of a record",
            format!("/integrations/{shop}/sent?record_type=product&record_id=p-00000777"),
        ),
        ("records of an app", format!("/records?app_id={app}&limit=50")),
        ("a record", format!("/records/{app}/product/p-00000777")),
        ("jobs of an app", format!("/jobs?app_id={app}")),
    ] {
        let mut times = Vec::new();
        for _ in 0..if options.quick { 5 } else { 20 } {
            let begun = Instant::now();
            let answer = client.get(format!("{}/api/v1{path}", program.url)).send().await?;
            anyhow::ensure!(answer.status().is_success(), "{path} was answered with {}", answer.status());
            answer.bytes().await?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        report.row(&format!("GET {what}, {records} records, p50"), median(times), "ms", Target::AtMost(20.0));
    }
    Ok(())
}
