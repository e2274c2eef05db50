//! The work of subagents that Claude Code keeps in files of their own: found, and laid under the calls that started it, also
//! while it goes on. It must not decode records but through a decoder.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::{Buf, Bytes};
use parlor_dialect::{Format, Splitter, Subagent};
use parlor_model::Key;
use parlor_model::block::Block;
use parlor_model::event::{Event, Reading};
use parlor_model::json::{Json, Reader};
use parlor_model::line::Line;

use crate::find::{self, agent_of};
use crate::{Source, Stamp};

/// Subagents that start subagents, this deep at most: files could name each other.
const DEPTH: u8 = 8;

/// Lines of the n-th subagent are numbered from n times this, so that no two lines have the same place.
/// Thousands of files fit into the whole numbers that JavaScript knows.
const PLACES: u64 = 1 << 40;

/// A line of a subagent's own file, which may come long after the records that stand around its call.
#[derive(Clone, Debug)]
pub struct Nested {
    /// The subagent.
    pub agent: Key,
    /// The call that started it, under which its work lies.
    pub call: Key,
    /// The line's place, which no other line has.
    pub seq: u64,
    /// The line.
    pub line: Line,
    /// What became of it.
    pub reading: Reading,
    /// What it said.
    pub events: Vec<Event>,
}

/// Takes in what a subagent did, line by line.
pub type Fold<'a> = dyn FnMut(Nested) + 'a;

/// The subagents of a session, and how much of their work was told.
#[derive(Default)]
pub struct Subagents {
    /// The session's file, where subagents can have files of their own.
    session: Option<PathBuf>,
    /// When the folders that may hold such files were changed last, and whether they were looked at once more since: a clock
    /// may be too coarse to tell a file that came right after the look.
    folders: ([Option<SystemTime>; 2], bool),
    known: BTreeSet<PathBuf>,
    /// Files that wait for the call that starts them.
    waiting: HashMap<Key, Vec<PathBuf>>,
    /// Files whose call nobody has named yet, by agent.
    nameless: BTreeMap<String, PathBuf>,
    /// The calls that results have named, by agent.
    named: HashMap<String, Key>,
    /// Files that are told as they grow.
    told: Vec<Told>,
    /// Files that are no longer on disk, with what was kept of them.
    kept: HashMap<PathBuf, Bytes>,
    /// For somebody who goes on where an earlier reader left off: how many lines of each agent that one has told. What it has
    /// told cannot be taken back, so that a line is told only when it is whole.
    before: Option<HashMap<Key, u64>>,
}

/// A file whose lines are under their call.
struct Told {
    path: PathBuf,
    reader: Subagent,
    /// How many lines an earlier reader has told.
    before: u64,
    /// The place of the first line.
    first: u64,
    /// How much was told.
    read: u64,
    /// True when the last line was told without its end.
    open: bool,
    /// How long the file was at the last look. A last line that is then as it was is told though it is cut: nothing more may come.
    seen: u64,
}

/// What became of the subagents' files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Nothing is new.
    None,
    /// More of their work was told.
    Told,
    /// A file is shorter than what was told of it, or a line went on that was taken for whole: everything must be read again.
    Replaced,
}

impl Subagents {
    /// The subagents of the session in the file at `path`, whose bytes, or the part that matters, are
    /// `bytes`.
    pub fn of(path: Option<&Path>, format: Format, bytes: &Bytes) -> Subagents {
        let session = path.filter(|_| format == Format::ClaudeSession).map(Path::to_owned);
        let mut subagents = Subagents { session, ..Subagents::default() };
        subagents.find();
        subagents.hear_all(bytes);
        subagents
    }

    /// The same for somebody who knows the files: to find them among those of many sessions takes a look at each.
    pub fn known(files: &[Stamp], bytes: &Bytes) -> Subagents {
        let mut subagents = Subagents::default();
        subagents.add(files.iter().map(|file| file.path.clone()));
        subagents.hear_all(bytes);
        subagents
    }

    /// The same for somebody who goes on where an earlier reader left off, which has told so many lines of each agent.
    pub fn after(path: &Path, format: Format, before: HashMap<Key, u64>) -> Subagents {
        Subagents { before: Some(before), ..Subagents::of(Some(path), format, &Bytes::new()) }
    }

    /// The same for a session whose files are gone: of `files`, some are of subagents and some are the notes beside them.
    pub fn kept(files: Vec<(PathBuf, Bytes)>, bytes: &Bytes) -> Subagents {
        let mut subagents = Subagents { kept: files.into_iter().collect(), ..Subagents::default() };
        let mut paths: Vec<PathBuf> =
            subagents.kept.keys().filter(|path| find::is_agent_file(path)).cloned().collect();
        paths.sort();
        subagents.add(paths);
        subagents.hear_all(bytes);
        subagents
    }

    /// True when there is any.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The calls among these events that started subagents.
    pub fn calls_in(&self, events: &[Event]) -> Vec<Key> {
        let call = |event: &Event| match event {
            Event::Put { key, block: Block::Tool(_), .. } if self.waiting.contains_key(key) => {
                Some(key.clone())
            }
            _ => None,
        };
        if self.waiting.is_empty() { Vec::new() } else { events.iter().filter_map(call).collect() }
    }

    /// Tells the work of those that these calls started, line by line, to be folded right after the line that made the
    /// calls.
    pub fn tell_under(&mut self, calls: &[Key], fold: &mut Fold<'_>) {
        self.tell_deep(calls, fold, DEPTH);
    }

    /// Takes notice of a line of the session: a result names the agent that did the work, which is all that old sessions have.
    pub fn hear(&mut self, line: &Line) {
        if self.session.is_none() && self.nameless.is_empty() {
            return;
        }
        let Some((agent, call)) = named_in(line) else { return };
        if let Some(path) = self.nameless.remove(&agent) {
            self.waiting.entry(call.clone()).or_default().push(path);
        }
        self.named.insert(agent, call);
    }

    fn hear_all(&mut self, bytes: &Bytes) {
        if !self.nameless.is_empty() {
            Splitter::split(bytes).for_each(|line| self.hear(&line));
        }
    }

    /// Looks for new files, and gives the calls whose files need not wait for them, because they were made before.
    pub fn ready(&mut self, is_made: impl Fn(&Key) -> bool) -> Vec<Key> {
        self.find();
        let mut calls: Vec<Key> = self.waiting.keys().filter(|call| is_made(call)).cloned().collect();
        calls.sort();
        calls
    }

    /// Tells what was added to the files that are told.
    pub fn tell_more(&mut self, fold: &mut Fold<'_>) -> Growth {
        let mut growth = Growth::None;
        for index in 0..self.told.len() {
            let told = &self.told[index];
            let Ok(metadata) = fs::metadata(&told.path) else { continue };
            // A packed file is finished.
            match metadata.len().cmp(&told.read) {
                _ if told.path.extension().is_none_or(|ending| ending != "jsonl") => continue,
                std::cmp::Ordering::Equal => continue,
                // Who cannot take back what was told has told it.
                std::cmp::Ordering::Less if self.before.is_some() => continue,
                std::cmp::Ordering::Less => return Growth::Replaced,
                std::cmp::Ordering::Greater => {}
            }
            let rests = std::mem::replace(&mut self.told[index].seen, metadata.len()) == metadata.len();
            let rests = rests && self.before.is_none();
            let Some(mut piece) = self.told[index].piece() else { continue };
            let told = &mut self.told[index];
            if std::mem::take(&mut told.open) {
                if piece.first() == Some(&b'\n') {
                    piece.advance(1);
                    told.read += 1;
                } else if self.before.is_none() {
                    return Growth::Replaced;
                }
            }
            let whole = if rests { piece.len() } else { whole_lines(&piece) };
            if whole > 0 {
                self.tell_lines(index, &piece.slice(..whole), fold, DEPTH);
                growth = Growth::Told;
            }
        }
        growth
    }

    /// Looks for files that are new, if the folders have changed.
    fn find(&mut self) {
        let Some(session) = &self.session else { return };
        let own = session.with_extension("").join("subagents");
        let changed = |folder: &Path| fs::metadata(folder).and_then(|metadata| metadata.modified()).ok();
        let folders = [session.parent().and_then(changed), changed(&own)];
        // Those of workflows lie deeper, where their folder's time does not show them.
        let again = self.folders.0 == folders;
        if again && self.folders.1 && !own.join("workflows").exists() {
            return;
        }
        self.folders = (folders, again);
        let files = find::subagents_of(session);
        self.add(files.into_iter().map(|file| file.path));
    }

    fn add(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if self.known.insert(path.clone())
                && let Some(agent) = agent_of(&path)
            {
                self.nameless.insert(agent.to_owned(), path);
            }
        }
        // The note may be written after the file.
        for (agent, path) in std::mem::take(&mut self.nameless) {
            match self.call_in_note(&path).or_else(|| self.named.get(&agent).cloned()) {
                Some(call) => self.waiting.entry(call).or_default().push(path),
                None => drop(self.nameless.insert(agent, path)),
            }
        }
    }

    /// The call that started a subagent, as the note beside its file has it.
    fn call_in_note(&self, path: &Path) -> Option<Key> {
        let note = find::note_beside(path)?;
        let note = self.kept.get(&note).cloned().or_else(|| Some(fs::read(&note).ok()?.into()))?;
        let note = Json::new(note);
        let call = ["toolUseId", "tool_use_id", "toolUseID"].iter().find_map(|key| note.field_text(key))?;
        Some(Key::from(call.as_str()))
    }

    fn tell_deep(&mut self, calls: &[Key], fold: &mut Fold<'_>, depth: u8) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for call in calls {
            for path in self.waiting.remove(call).unwrap_or_default() {
                self.tell_file(&path, call, fold, depth);
            }
        }
    }

    fn tell_file(&mut self, path: &Path, call: &Key, fold: &mut Fold<'_>, depth: u8) {
        let kept = self.kept.get(path).cloned();
        let Some(mut bytes) = kept.or_else(|| Some(Source::file(path).ok()?.bytes)) else { return };
        if self.before.is_some() {
            bytes.truncate(whole_lines(&bytes));
        }
        let reader = Subagent::new(agent_of(path).unwrap_or_default().into(), call.clone());
        let index = self.told.len();
        let first = (index as u64 + 1).saturating_mul(PLACES);
        let (path, seen) = (path.to_owned(), bytes.len() as u64);
        let before = self.before.as_ref().and_then(|before| before.get(reader.agent()).copied()).unwrap_or(0);
        self.told.push(Told { path, reader, before, first, read: 0, open: false, seen });
        self.tell_lines(index, &bytes, fold, depth);
    }

    fn tell_lines(&mut self, index: usize, piece: &Bytes, fold: &mut Fold<'_>, depth: u8) {
        let told = &mut self.told[index];
        told.read += piece.len() as u64;
        told.open = piece.last().is_some_and(|byte| *byte != b'\n');
        for line in Splitter::split(piece) {
            let told = &mut self.told[index];
            let seq = told.first + told.reader.lines();
            let mut events = Vec::new();
            let reading = told.reader.read(&line, &mut events);
            let (agent, call) = (told.reader.agent().clone(), told.reader.call().clone());
            let is_new = told.reader.lines() > told.before;
            let calls = self.calls_in(&events);
            if is_new {
                fold(Nested { agent, call, seq, line, reading, events });
            }
            self.tell_deep(&calls, fold, depth);
        }
    }
}

impl Told {
    /// What was added to the file, if anything was.
    fn piece(&self) -> Option<Bytes> {
        let mut file = fs::File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.read)).ok()?;
        let mut piece = Vec::new();
        file.read_to_end(&mut piece).ok()?;
        (!piece.is_empty()).then(|| piece.into())
    }
}

/// How much of a piece is whole lines. The last may lack its end if it is sound without it.
fn whole_lines(piece: &[u8]) -> usize {
    let ended = memchr::memrchr(b'\n', piece).map_or(0, |end| end + 1);
    let mut reader = Reader::new(&piece[ended..]);
    reader.skip();
    let is_sound = ended < piece.len() && reader.finish().is_none();
    if is_sound { piece.len() } else { ended }
}

/// The agent and the call that a result names.
fn named_in(line: &Line) -> Option<(String, Key)> {
    let bytes = line.bytes();
    memchr::memmem::find(bytes, b"\"agentId\"")?;
    memchr::memmem::find(bytes, b"\"toolUseResult\"")?;
    let record = Json::new(bytes.clone());
    let agent = record.get("toolUseResult").and_then(|result| result.field_text("agentId"))?;
    let content = record.get("message").and_then(|message| message.get("content")).unwrap_or_default();
    let call = content.items().iter().find_map(|block| block.field_text("tool_use_id"))?;
    Some((agent.as_str().into_owned(), Key::from(call.as_str())))
}
