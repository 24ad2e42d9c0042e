//! What programs read over the API, with a million records of which a tenth is out of sync.

use super::world::Stage;
use crate::Options;
use crate::report::{Report, Target, median};
use crate::world::execute;
use anyhow::Result;
use std::time::Instant;

/// Nothing is sent there, because no worker runs.
const NOBODY: &str = "http://127.0.0.1:9/";

pub(crate) async fn run(options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let sizes: &[u64] = if options.quick { &[10_000] } else { &[100_000, 1_000_000] };
    for records in sizes {
        of_records(*records, options, server, report).await?;
    }
    Ok(())
}

async fn of_records(records: u64, options: &Options, server: &str, report: &mut Report) -> Result<()> {
    let stage = Stage::create(server, 0, 0, NOBODY).await?;
    let (app, shop) = (&stage.app, stage.webhook("Read", NOBODY).await?);
    execute(
        &stage.pool,
        &format!(
            "insert into headgate.records (app_id, record_type, record_id, version, attributes, attribute_bytes)
             select '{app}', 'product', 'p-' || lpad(n::text, 8, '0'), 1 + (n % 10 = 0)::int, jsonb_build_object('n', n), 9
             from generate_series(1, {records}) n;
             insert into headgate.sent_records (integration_id, record_type, record_id, version, attributes)
             select '{shop}', 'product', 'p-' || lpad(n::text, 8, '0'), 1, jsonb_build_object('n', n)
             from generate_series(1, {records}) n;
             insert into headgate.record_count_deltas (app_id, record_type, n) values ('{app}', 'product', {records});
             insert into headgate.in_sync_count_deltas (integration_id, record_type, n)
             values ('{shop}', 'product', {records} - {records} / 10)"
        ),
    )
    .await?;
    execute(&stage.pool, "vacuum analyze headgate.records, headgate.sent_records").await?;
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
            stage.operator.get(&path).await?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        report.row(&format!("GET {what}, {records} records, p50"), median(times), "ms", Target::AtMost(20.0));
    }
    Ok(())
}
