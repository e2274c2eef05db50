//! The processes of a run: the agent's own group, whatever descends from it, and whatever carries the run's mark in its
//! environment, since shell commands and daemons leave the group. It knows no agent and no protocol.
//!
//! Linux tells all of that in `/proc`. Where there is none, a run is its process group.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::time::Duration;

use parlor_model::Key;
use rustix::process::{Pid, Signal, WaitOptions};

/// The variable that marks every process of a run.
pub(crate) const MARK: &str = "PARLOR_RUN";
/// How much of a process's environment is looked at for the mark: Linux itself allows no more by far.
const ENVIRONMENT_LIMIT: u64 = 4 << 20;
/// How long a sweep lets processes end by themselves before it ends them by force, and for how long it does that.
const SWEEP_STEPS: (u32, u32) = (25, 100);
const SWEEP_STEP: Duration = Duration::from_millis(20);

/// A process, told from a later one with the same number by its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pid: i32,
    start: u64,
}

/// The processes of one or more runs.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The agent itself: the leader of its group. None when only marks are looked for.
    root: Option<i32>,
    /// `PARLOR_RUN=<run>` of each run.
    marks: Vec<Vec<u8>>,
    /// Everything that was once seen to belong here: a process stays known when its parent is gone.
    known: BTreeSet<Process>,
    /// Ended processes that had nobody to wait for them the last time.
    ended: BTreeSet<Process>,
}

/// What `/proc` says of a process.
#[derive(Clone, Copy, Debug)]
struct Stat {
    process: Process,
    parent: i32,
    group: i32,
    session: i32,
    ended: bool,
}

/// Ends every process that carries one of these runs' marks, with its descendants: what a Parlor that was killed left
/// behind. Says how many there were. It takes up to two and a half seconds where something does not want to end.
pub fn sweep(runs: &[Key]) -> u32 {
    let mut tree = Tree {
        root: None,
        marks: runs.iter().map(mark).collect(),
        known: BTreeSet::new(),
        ended: BTreeSet::new(),
    };
    let mut found = BTreeSet::new();
    for step in 0..SWEEP_STEPS.1 {
        let alive = tree.look();
        found.extend(alive.iter().copied());
        if alive.is_empty() {
            break;
        }
        match step {
            0 => send(&alive, Signal::TERM),
            _ if step >= SWEEP_STEPS.0 => send(&alive, Signal::KILL),
            _ => {}
        }
        std::thread::sleep(SWEEP_STEP);
    }
    found.len() as u32
}

/// Makes this process the parent of what its descendants leave behind, so that those stay in sight.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::debug!(%error, "orphans of agents go to init");
    }
}

/// True where processes cannot be looked at.
pub(crate) fn is_blind() -> bool {
    table().is_empty()
}

/// The mark of a run in the environment of its processes.
pub(crate) fn mark_value(run: &Key) -> OsString {
    OsString::from(run.as_str())
}

/// Signals these processes; one that has ended meanwhile is none of them any more.
pub(crate) fn send(processes: &[Process], signal: Signal) {
    for process in processes {
        let Some(pid) = Pid::from_raw(process.pid) else { continue };
        // The handle is taken before the process is looked at, so that the signal cannot reach another one.
        #[cfg(target_os = "linux")]
        if let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
            if stat(process.pid).is_some_and(|stat| stat.process == *process) {
                let _ = rustix::process::pidfd_send_signal(handle, signal);
            }
            continue;
        }
        if stat(process.pid).is_none_or(|stat| stat.process == *process) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

impl Tree {
    /// The tree of a run whose agent is the process `pid`, the leader of its own group.
    pub(crate) fn new(run: &Key, pid: u32) -> Tree {
        let root = i32::try_from(pid).ok();
        let known = root.and_then(stat).map(|stat| stat.process).into_iter().collect();
        Tree { root, marks: vec![mark(run)], known, ended: BTreeSet::new() }
    }

    /// Every process that is alive, by all that is known: parents, group, marks.
    pub(crate) fn look(&mut self) -> Vec<Process> {
        let found = self.find();
        found.into_iter().filter(|stat| !stat.ended).map(|stat| stat.process).collect()
    }

    /// Like [`look`](Tree::look), but only what a turn started for itself: agents give shell commands a session of
    /// their own, and keep their servers in their own one.
    pub(crate) fn look_detached(&mut self) -> Vec<Process> {
        let own = self.root.and_then(stat).map(|stat| stat.session);
        let found = self.find();
        let alive = found.into_iter().filter(|stat| !stat.ended && Some(stat.session) != own);
        alive.map(|stat| stat.process).collect()
    }

    /// Remembers who descends from the agent now, and waits for those that nobody else waits for. It is cheap enough to
    /// be done all the time, unlike [`look`](Tree::look).
    pub(crate) fn watch(&mut self) {
        self.known.retain(|process| stat(process.pid).is_some_and(|stat| stat.process == *process));
        let mut todo: Vec<i32> = self.known.iter().map(|process| process.pid).collect();
        while let Some(pid) = todo.pop() {
            for stat in children(pid).into_iter().filter_map(stat) {
                if self.known.insert(stat.process) {
                    todo.push(stat.process.pid);
                }
            }
        }
        self.reap();
        self.reap_strangers();
    }

    /// True when the agent's group has nobody in it. Only of use where `/proc` is not there.
    pub(crate) fn is_group_empty(&self) -> bool {
        let group = self.root.and_then(Pid::from_raw);
        group.is_none_or(|group| rustix::process::test_kill_process_group(group).is_err())
    }

    /// Signals the agent's own group.
    pub(crate) fn send_group(&self, signal: Signal) {
        if let Some(group) = self.root.and_then(Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Finds all members and remembers them.
    fn find(&mut self) -> Vec<Stat> {
        let table = table();
        let own = own();
        let is_member = |stat: &Stat| {
            self.known.contains(&stat.process)
                || Some(stat.group) == self.root
                || self.marks.iter().any(|mark| carries(stat.process.pid, mark))
        };
        let mut members: BTreeSet<i32> =
            table.iter().filter(|stat| is_member(stat)).map(|stat| stat.process.pid).collect();
        members.remove(&own);
        loop {
            let count = members.len();
            for stat in &table {
                if stat.process.pid != own && members.contains(&stat.parent) {
                    members.insert(stat.process.pid);
                }
            }
            if members.len() == count {
                break;
            }
        }
        let found: Vec<Stat> = table.into_iter().filter(|stat| members.contains(&stat.process.pid)).collect();
        self.known.extend(found.iter().map(|stat| stat.process));
        self.reap();
        found
    }

    /// Waits for orphans of this run that have ended: they are this process's children now, and nobody else's.
    fn reap(&self) {
        let own = own();
        for process in self.known.iter().filter(|process| Some(process.pid) != self.root) {
            if stat(process.pid)
                .is_some_and(|stat| stat.process == *process && stat.ended && stat.parent == own)
            {
                wait_for(process.pid);
            }
        }
    }

    /// A daemon that came and went between two looks is known to nobody. Whoever starts a program waits for it at once;
    /// who is still there the next time, in a group of its own, was left behind.
    fn reap_strangers(&mut self) {
        let group = stat(own()).map(|stat| stat.group);
        let strangers = children(own()).into_iter().filter_map(stat);
        let strangers = strangers.filter(|stat| stat.ended && Some(stat.group) != group);
        let strangers = strangers.filter(|stat| Some(stat.process.pid) != self.root);
        let strangers: BTreeSet<Process> = strangers.map(|stat| stat.process).collect();
        for process in strangers.intersection(&self.ended) {
            wait_for(process.pid);
        }
        self.ended = strangers;
    }
}

fn own() -> i32 {
    i32::try_from(std::process::id()).unwrap_or_default()
}

fn wait_for(pid: i32) {
    let _ = rustix::process::waitpid(Pid::from_raw(pid), WaitOptions::NOHANG);
}

fn mark(run: &Key) -> Vec<u8> {
    format!("{MARK}={run}").into_bytes()
}

fn carries(pid: i32, mark: &[u8]) -> bool {
    let Ok(file) = std::fs::File::open(format!("/proc/{pid}/environ")) else { return false };
    let mut environment = Vec::new();
    let _ = file.take(ENVIRONMENT_LIMIT).read_to_end(&mut environment);
    environment.split(|byte| *byte == 0).any(|variable| variable == mark)
}

fn table() -> Vec<Stat> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| stat(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// The program's name may hold spaces and brackets: what counts begins after its last bracket.
fn stat(pid: i32) -> Option<Stat> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let after = memchr::memrchr(b')', &text)? + 1;
    let text = std::str::from_utf8(&text[after..]).ok()?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    Some(Stat {
        process: Process { pid, start: fields.get(19)?.parse().ok()? },
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        ended: matches!(*fields.first()?, "Z" | "X"),
    })
}
