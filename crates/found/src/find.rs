//! Where agents keep sessions on this machine, and what the names of files tell. It must not read records, but for the one
//! field that says whose subagent a file is.

use std::fs;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use etcetera::BaseStrategy;
use parlor_dialect::Agent;
use parlor_model::text::decode;
use serde::{Deserialize, Serialize};

/// Folders nest four deep in what agents write; more means a loop of links.
const DEPTH: u8 = 8;

/// Where the session's id stands in a subagent's file: in its first record, before the long texts.
const OWNER_LOOK: usize = 64 * 1024;

/// A folder in which an agent keeps sessions.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Whose it is.
    pub agent: Agent,
    /// Where it is.
    pub path: PathBuf,
}

/// A file as the folder tells it. When these are the same, so is its content: sessions only grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed, in nanoseconds since 1970.
    pub modified_ns: u64,
}

/// A session that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Who wrote it; `None` for a file in a folder that the user named.
    pub agent: Option<Agent>,
    /// Its id by the file's name.
    pub id: String,
    /// Its file.
    pub file: Stamp,
    /// The files of its subagents, by path.
    pub subagents: Vec<Stamp>,
}

impl Found {
    /// All its files: its own, and those of its subagents.
    pub fn files(&self) -> impl Iterator<Item = &Stamp> {
        std::iter::once(&self.file).chain(&self.subagents)
    }
}

/// The folders in which the agents keep their sessions, whether they exist or not.
pub fn folders() -> Vec<Folder> {
    let home = etcetera::choose_base_strategy().map(|base| base.home_dir().to_owned()).unwrap_or_default();
    let base = |variable: &str, default: &str| {
        let set = std::env::var_os(variable).filter(|value| !value.is_empty());
        set.map_or_else(|| home.join(default), PathBuf::from)
    };
    let codex = base("CODEX_HOME", ".codex");
    vec![
        Folder { agent: Agent::Claude, path: base("CLAUDE_CONFIG_DIR", ".claude").join("projects") },
        Folder { agent: Agent::Codex, path: codex.join("sessions") },
        Folder { agent: Agent::Codex, path: codex.join("archived_sessions") },
        Folder { agent: Agent::Pi, path: base("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions") },
    ]
}

/// The files in a folder that may hold records, by path. What cannot be read is left out.
pub fn files_in(path: &Path) -> Vec<Stamp> {
    let mut files = Vec::new();
    walk(path, DEPTH, &mut files);
    // As bytes: to take paths apart for every comparison is half the work of a look.
    files.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    files
}

/// The subagents of one Claude session, for someone who has only its file.
pub(crate) fn subagents_of(session: &Path) -> Vec<Stamp> {
    let Some(id) = session.file_stem().and_then(|stem| stem.to_str()) else { return Vec::new() };
    let Some(folder) = session.parent() else { return Vec::new() };
    let own =
        files_in(&folder.join(id).join("subagents")).into_iter().filter(|file| is_agent_file(&file.path));
    let beside = fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
    let beside = beside.filter(|path| is_agent_file(path) && owner(path).as_deref() == Some(id));
    let mut beside: Vec<Stamp> = beside.filter_map(stamp).collect();
    beside.sort_by(|a, b| a.path.cmp(&b.path));
    own.chain(beside).collect()
}

/// The `<id>` of `agent-<id>.jsonl`.
pub(crate) fn agent_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix("agent-")?.split('.').next()
}

/// The note beside a subagent's file, which names the call that started it.
pub fn note_beside(path: &Path) -> Option<PathBuf> {
    Some(path.with_file_name(format!("agent-{}.meta.json", agent_of(path)?)))
}

/// True when the file at `path` may be of a subagent of the session in the file `session`, as far as its name tells.
pub fn is_subagent_of(path: &Path, session: &Path) -> bool {
    let beside = || path.parent() == session.parent();
    is_agent_file(path) && (path.starts_with(session.with_extension("")) || beside())
}

/// The session named in the first record of a subagent's file.
pub(crate) fn owner(path: &Path) -> Option<String> {
    let mut file = fs::File::open(path).ok()?;
    // It nearly always stands in the first few hundred bytes.
    owner_in(&mut file, 4 * 1024).or_else(|| {
        file.rewind().ok()?;
        owner_in(&mut file, OWNER_LOOK)
    })
}

fn owner_in(file: &mut fs::File, bytes: usize) -> Option<String> {
    let mut start = Vec::with_capacity(bytes);
    file.take(bytes as u64).read_to_end(&mut start).ok()?;
    owner_named(&start)
}

/// The session named in the first record of a subagent's file that begins like this.
pub fn owner_named(start: &[u8]) -> Option<String> {
    let at = memchr::memmem::find(start, b"\"sessionId\":\"")? + "\"sessionId\":\"".len();
    let length = memchr::memchr(b'"', start.get(at..)?)?;
    Some(decode(start.get(at..at + length)?).into_owned())
}

/// `agent-<id>.jsonl`: Claude Code's name for the work of a subagent.
pub(crate) fn is_agent_file(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("agent-") && name.contains(".jsonl"))
}

/// The id in a file's name: all of it for Claude, and the UUID at the end for Codex (`rollout-<time>-<uuid>`)
/// and Pi (`<time>_<uuid>`).
pub(crate) fn id_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split(".jsonl").next().unwrap_or(&name);
    if let Some(rest) = stem.strip_prefix("rollout-") {
        // `2026-11-15T14-02-03-` comes first; a second id after `_` names a reverted version of the same
        // thread.
        return rest.get(20..).filter(|id| !id.is_empty()).unwrap_or(rest).to_owned();
    }
    match stem.rsplit_once('_') {
        Some((time, id)) if time.contains('T') && !id.is_empty() => id.to_owned(),
        _ => stem.to_owned(),
    }
}

fn walk(folder: &Path, depth: u8, files: &mut Vec<Stamp>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = item.path();
        let Ok(kind) = item.file_type() else { continue };
        match kind.is_symlink() {
            true if path.is_dir() => walk(&path, depth, files),
            true => files.extend(Some(path).filter(|path| holds_records(path)).and_then(stamp)),
            false if kind.is_dir() => walk(&path, depth, files),
            false if holds_records(&path) => {
                files.extend(item.metadata().ok().and_then(|metadata| stamp_of(path, &metadata)));
            }
            false => {}
        }
    }
}

/// True for names of files with one record per line, packed or not. `journal.jsonl` is Claude's log of a
/// workflow.
pub fn holds_records(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = name.trim_end_matches(".zst").trim_end_matches(".gz");
    let records = [".jsonl", ".ndjson", ".sse"].iter().any(|ending| name.ends_with(ending));
    records && name != "journal.jsonl"
}

pub(crate) fn stamp(path: PathBuf) -> Option<Stamp> {
    let metadata = fs::metadata(&path).ok()?;
    stamp_of(path, &metadata)
}

fn stamp_of(path: PathBuf, metadata: &fs::Metadata) -> Option<Stamp> {
    if !metadata.is_file() {
        return None;
    }
    let since = metadata.modified().ok().and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    let modified_ns = since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0);
    Some(Stamp { path, size: metadata.len(), modified_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_in_the_file_s_name() {
        let uuid = "019982b8-3422-79e0-8b3b-05abaf4f3c3e";
        for name in [
            format!("{uuid}.jsonl"),
            format!("rollout-2026-09-25T15-12-14-{uuid}.jsonl"),
            format!("rollout-2026-09-25T15-12-14-{uuid}.jsonl.zst"),
            format!("2026-11-15T19-22-07-437Z_{uuid}.jsonl"),
        ] {
            assert_eq!(id_of(Path::new(&name)), uuid, "{name}");
        }
        assert_eq!(id_of(Path::new("my_notes.jsonl")), "my_notes");
        assert_eq!(id_of(Path::new("rollout-é.jsonl")), "é");
    }
}
