//! Ends commands with everything they started, and makes sure that nothing is left. It looks for processes by their group, by
//! their ancestors and by a mark in their environment, since a process can leave any one of these.

use std::collections::BTreeMap;
use std::time::Duration;

use parlor_model::seen::Force;
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::process::{kill_process, kill_process_group, test_kill_process_group, waitpid};
use tokio::time::Instant;

/// How long processes may take to end by themselves.
const GRACE: Duration = Duration::from_millis(1_500);
/// How long they are killed again and again.
const PATIENCE: Duration = Duration::from_millis(3_000);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(15);

/// Which processes are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    /// `NAME=value` in their environment.
    pub(crate) mark: String,
    /// The leaders of their groups.
    pub(crate) groups: Vec<u32>,
}

/// Ends them all. Says what was needed, and how many could not be ended.
pub(crate) async fn end(target: Target) -> (Force, u32) {
    let start = Instant::now();
    let mut needed = Force::Nothing;
    let mut known = BTreeMap::new();
    loop {
        let alive = look(&target, &mut known);
        if alive.is_empty() {
            return (needed, 0);
        }
        let elapsed = start.elapsed();
        if elapsed > GRACE + PATIENCE {
            return (needed, u32::try_from(alive.len()).unwrap_or(u32::MAX));
        }
        if needed == Force::Nothing {
            needed = Force::Terminate;
            signal(&target, &alive, Signal::TERM);
        } else if elapsed > GRACE {
            needed = Force::Kill;
            signal(&target, &alive, Signal::KILL);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn signal(target: &Target, alive: &[u32], signal: Signal) {
    // One that has ended meanwhile is what was wanted.
    for pid in target.groups.iter().filter_map(|pid| pid_of(*pid)) {
        let _ = kill_process_group(pid, signal);
    }
    for pid in alive.iter().filter_map(|pid| pid_of(*pid)) {
        let _ = kill_process(pid, signal);
    }
}

/// A process, as `/proc` tells it.
struct Process {
    parent: u32,
    group: u32,
    session: u32,
    /// True when it only waits to be forgotten.
    ended: bool,
    /// When it was started: a number that is used again has another one.
    started: u64,
}

/// The processes that are alive. `known` holds those that were found before, so that none is lost whose parent has ended.
fn look(target: &Target, known: &mut BTreeMap<u32, u64>) -> Vec<u32> {
    let processes = processes();
    if processes.is_empty() {
        // No `/proc` here: the groups are all there is to see.
        let alive = |pid: &u32| pid_of(*pid).is_some_and(|pid| test_kill_process_group(pid).is_ok());
        return target.groups.iter().copied().filter(alive).collect();
    }
    let own = std::process::id();
    known.retain(|pid, started| processes.get(pid).is_some_and(|process| process.started == *started));
    for (pid, process) in &processes {
        let in_group = target.groups.contains(&process.group) || target.groups.contains(&process.session);
        if *pid != own && !known.contains_key(pid) && (in_group || is_marked(*pid, &target.mark)) {
            known.insert(*pid, process.started);
        }
    }
    while let Some(found) = Some(children_of(known, &processes)).filter(|found| !found.is_empty()) {
        known.extend(found);
    }
    forget(known, &processes, target);
    known.keys().copied().collect()
}

fn children_of(known: &BTreeMap<u32, u64>, processes: &BTreeMap<u32, Process>) -> Vec<(u32, u64)> {
    let is_new_child =
        |pid: &u32, process: &Process| known.contains_key(&process.parent) && !known.contains_key(pid);
    let children = processes.iter().filter(|(pid, process)| is_new_child(pid, process));
    children.map(|(pid, process)| (*pid, process.started)).collect()
}

/// Forgets those that have ended. An orphan may have become this process's child, and then nobody else waits for it; for the
/// commands themselves somebody does.
fn forget(known: &mut BTreeMap<u32, u64>, processes: &BTreeMap<u32, Process>, target: &Target) {
    known.retain(|pid, _| {
        let Some(process) = processes.get(pid).filter(|process| process.ended) else { return true };
        if process.parent == std::process::id() && !target.groups.contains(pid) {
            let _ = waitpid(pid_of(*pid), WaitOptions::NOHANG);
        }
        false
    });
}

/// Every process there is.
fn processes() -> BTreeMap<u32, Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)))
        .collect()
}

/// Reads a line of `/proc/…/stat`; the program's name in it may hold anything, so it is read from the last parenthesis on.
fn read(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let small = |index: usize| u32::try_from(number(index)?).ok();
    let ended = matches!(*fields.first()?, "Z" | "X" | "x");
    Some(Process { parent: small(1)?, group: small(2)?, session: small(3)?, ended, started: number(19)? })
}

/// True when the environment of a process holds the mark. Those of other people cannot be read.
fn is_marked(pid: u32, mark: &str) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    !mark.is_empty() && environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_is_no_trouble() {
        let tail = "S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0";
        let process = read(&format!("5 (a) b (c)) {tail}")).unwrap();
        assert_eq!((process.parent, process.group, process.session, process.started), (7, 8, 9, 4242));
        assert!(read(&format!("5 (x) {}", tail.replacen('S', "Z", 1))).unwrap().ended, "a zombie has ended");
        assert!(read("nonsense").is_none());
    }
}
