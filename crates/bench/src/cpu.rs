//! Processor time and memory of processes, from `/proc`.

use anyhow::{Context, Result};
use std::{collections::HashMap, fs, time::Duration};

/// Ticks a second in `/proc`: 100 on every Linux we know.
const TICKS: u64 = 100;

/// Processor time used by the process `root` and all its descendants, running and ended.
pub(crate) fn used_by_tree(root: u32) -> Result<Duration> {
    let mut parents: HashMap<u32, (u32, u64)> = HashMap::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // Processes may end meanwhile.
        if let Ok(stat) = fs::read_to_string(entry.path().join("stat"))
            && let Some(parsed) = parse(&stat)
        {
            parents.insert(pid, parsed);
        }
    }
    let belongs = |mut pid: u32| {
        while pid != root {
            match parents.get(&pid) {
                Some((parent, _)) if *parent != 0 => pid = *parent,
                _ => return false,
            }
        }
        true
    };
    let ticks: u64 = parents.iter().filter(|(pid, _)| belongs(**pid)).map(|(_, (_, ticks))| ticks).sum();
    Ok(Duration::from_millis(ticks * 1000 / TICKS))
}

/// The parent, and the ticks in user and kernel mode, including those of children that have ended.
fn parse(stat: &str) -> Option<(u32, u64)> {
    // The name is in brackets and may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let parent = fields.get(1)?.parse().ok()?;
    let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some((parent, ticks))
}

/// Resident memory of a process, in bytes.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS in /proc")?;
    let kb: u64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kb * 1024)
}
