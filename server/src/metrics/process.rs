//! What the kernel knows of this process, under Prometheus' standard names. Linux only; elsewhere these are left out.

use super::text::Text;

pub(super) fn gauges(text: &mut Text) {
    let read = |path| std::fs::read_to_string(path).ok();
    if let Some(pages) = read("/proc/self/statm").and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok())
    {
        text.gauge("process_resident_memory_bytes", "Memory in use.", &[], pages * 4_096);
    }
    // Counted after the process name, which may contain anything: fields 14 and 15 are the time used, 22 the start after boot, all in clock ticks
    // of a hundredth of a second.
    let fields: Vec<u64> = read("/proc/self/stat")
        .and_then(|text| Some(text.rsplit_once(") ")?.1.to_owned()))
        .map(|text| text.split(' ').skip(11).map(|field| field.parse().unwrap_or(0)).collect())
        .unwrap_or_default();
    if let [user, system, ..] = fields[..] {
        let seconds = (user + system) as f64 / 100.0;
        text.counter("process_cpu_seconds_total", "User and system CPU time.", &[], seconds);
    }
    let booted = read("/proc/stat")
        .and_then(|text| text.lines().find_map(|line| line.strip_prefix("btime ")?.parse::<f64>().ok()));
    if let Some((booted, started)) = booted.zip(fields.get(8)) {
        let at = booted + *started as f64 / 100.0;
        text.gauge("process_start_time_seconds", "Start time, in Unix time.", &[], at);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        text.gauge("process_open_fds", "Open files and sockets.", &[], files.count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_measured_on_linux() {
        let mut text = Text::default();
        gauges(&mut text);
        let text = text.into_string();
        if std::path::Path::new("/proc/self/stat").exists() {
            assert!(text.contains("process_cpu_seconds_total ") && text.contains("process_open_fds "));
            let started = text.lines().find_map(|line| line.strip_prefix("process_start_time_seconds "));
            let started: f64 = started.expect("a start").parse().expect("a number");
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
            // Two clocks of the kernel differ by up to a second.
            let age = now.as_secs_f64() - started;
            assert!((-2.0..3_600.0).contains(&age), "{age}");
        }
    }
}
