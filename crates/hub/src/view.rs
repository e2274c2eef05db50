//! A session as far as it has been read: the one fold that every client looks at. It must not know where records come
//! from, nor who looks.

use std::sync::Arc;

use parlor_dialect::{Format, House};
use parlor_found::{Growth, Nested, Subagents};
use parlor_model::Key;
use parlor_model::entry::Entry;
use parlor_model::event::{Event, Reading};
use parlor_model::line::Line;
use parlor_model::outline::Outline;
use parlor_model::record::Record;
use parlor_model::session::{Phase, Session};
use parlor_model::time::Time;
use parlor_transcript::Transcript;

/// The entries of a session, and which record changed which of them.
pub struct View {
    /// Changes when the records before were not those that are here now.
    pub epoch: Key,
    first: Option<Format>,
    house: House,
    transcript: Transcript,
    outline: Outline,
    records: Vec<Record>,
    /// The lines of subagents' own files, each with the step in which it was folded.
    nested: Vec<(u64, Arc<Nested>)>,
    /// How many bytes the records have.
    bytes: u64,
    /// The entries that stand by themselves, in order: an entry's place among them never changes.
    roots: Vec<usize>,
    /// For each root the version at which it changed last.
    changed: Vec<u64>,
    /// The same in the order of the changes. Changes that newer ones overtook are dropped now and then.
    changes: Vec<(u64, usize)>,
    /// The version at which all roots that there were changed at once.
    all_changed: u64,
    version: u64,
    /// When the phase began that the session is in.
    since: Option<Time>,
    events: Vec<Event>,
}

/// What one step of the fold took in. Its bytes are shared.
#[derive(Clone, Debug)]
pub enum Folded {
    /// A record of the session.
    Record(Record),
    /// A line of a subagent's own file.
    Nested(Arc<Nested>),
}

impl View {
    /// A session that has not begun. `format` is that of a file's lines; a log says its own.
    pub fn new(epoch: Key, format: Option<Format>) -> View {
        View {
            epoch,
            first: format,
            house: House::new(format),
            transcript: Transcript::default(),
            outline: Outline::default(),
            records: Vec::new(),
            nested: Vec::new(),
            bytes: 0,
            roots: Vec::new(),
            changed: Vec::new(),
            changes: Vec::new(),
            all_changed: 0,
            version: 0,
            since: None,
            events: Vec::new(),
        }
    }

    /// Takes in the next record. Its seq must be [`View::end`].
    pub fn push(&mut self, record: Record) {
        self.push_with(record, &mut Subagents::default());
    }

    /// The same, with the work of subagents that have files of their own right after the call that started them.
    pub(crate) fn push_with(&mut self, record: Record, subagents: &mut Subagents) {
        let mut events = std::mem::take(&mut self.events);
        let (line, reading) = self.house.read(&record, &mut events);
        let calls = subagents.calls_in(&events);
        self.fold(record.seq, &line, &reading, events.drain(..));
        self.events = events;
        self.tell_under(&calls, subagents);
        self.bytes += record.body.len() as u64;
        self.records.push(record);
    }

    /// Takes in what subagents have done since.
    pub(crate) fn go_on(&mut self, subagents: &mut Subagents) -> Growth {
        let calls = subagents.ready(|call| self.transcript.position(call).is_some());
        self.tell_under(&calls, subagents);
        let more = subagents.tell_more(&mut |nested| self.fold_nested(nested));
        if more == Growth::None && !calls.is_empty() { Growth::Told } else { more }
    }

    fn tell_under(&mut self, calls: &[Key], subagents: &mut Subagents) {
        subagents.tell_under(calls, &mut |nested| self.fold_nested(nested));
    }

    fn fold_nested(&mut self, nested: Nested) {
        let Nested { seq, line, reading, events, .. } = &nested;
        let touched = self.transcript.fold(*seq, line, reading, events.iter().cloned());
        self.nested.push((self.version, Arc::new(nested)));
        self.mark(&touched);
    }

    fn fold(&mut self, seq: u64, line: &Line, reading: &Reading, events: impl IntoIterator<Item = Event>) {
        let session = self.transcript.session();
        let (phase, cwd) = (session.phase.clone(), session.cwd.clone());
        let touched = self.transcript.fold(seq, line, reading, events);
        let session = self.transcript.session();
        if session.phase != phase {
            self.since = reading.at.or(self.since);
        }
        let moved = session.cwd != cwd;
        self.mark(&touched);
        if moved {
            // Paths are shown relative to the folder: wherever one is shown, it may read differently now. An agent may
            // move with every call, so that this must not look at every root.
            self.all_changed = self.version;
        }
    }

    fn mark(&mut self, touched: &[usize]) {
        self.version += 1;
        let known = self.outline.len();
        self.outline.grow(self.transcript.entries());
        for index in known..self.outline.len() {
            if self.outline.root_of(index) == index {
                self.roots.push(index);
                self.changed.push(0);
            }
        }
        for index in touched {
            self.touch(*index);
            // Where rewound entries begin is shown: one that follows them may no longer be the first.
            if self.transcript.entries().get(index + 1).is_some_and(|next| next.overtaken) {
                self.touch(index + 1);
            }
        }
    }

    /// The entry at `index` has changed with this version, and with it the root that shows it.
    fn touch(&mut self, index: usize) {
        let Some(place) = self.place(index) else { return };
        if std::mem::replace(&mut self.changed[place], self.version) == self.version {
            return;
        }
        self.changes.push((self.version, place));
        if self.changes.len() > 64 + 2 * self.roots.len() {
            let changed = &self.changed;
            self.changes.retain(|(version, place)| changed[*place] == *version);
        }
    }

    /// The place of the root that shows the entry at `index`.
    fn place(&self, index: usize) -> Option<usize> {
        self.roots.binary_search(&self.outline.root_of(index)).ok()
    }

    /// How many records there are: the seq of the next one.
    pub fn end(&self) -> u64 {
        self.records.len() as u64
    }

    /// Grows by one with everything that is folded: how many steps there were.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What was folded from a step on, at most so much, in order. Where no subagent has a file of its own, the steps are
    /// the records.
    pub fn steps(&self, from: u64, most: usize) -> Vec<Folded> {
        let before = self.nested.partition_point(|(at, _)| *at < from);
        let mut nested = self.nested[before..].iter().peekable();
        let mut records = self.records.iter().skip((from as usize).saturating_sub(before));
        let step = |step| match nested.next_if(|(at, _)| *at == step) {
            Some((_, line)) => Some(Folded::Nested(line.clone())),
            None => records.next().cloned().map(Folded::Record),
        };
        (from..self.version.min(from.saturating_add(most as u64))).map_while(step).collect()
    }

    /// The records, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The entries that an agent may mean by `name`, and the records that opened them.
    pub(crate) fn entries_named(&self, name: &str) -> impl Iterator<Item = (Key, u64)> {
        let names = self.house.names_of(name);
        names
            .filter_map(|name| self.transcript.position(&name).map(|index| (name, self.entries()[index].seq)))
    }

    /// How many bytes the records have.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is known of the session as a whole.
    pub fn session(&self) -> &Session {
        self.transcript.session()
    }

    /// All entries.
    pub fn entries(&self) -> &[Entry] {
        self.transcript.entries()
    }

    /// The entry of that id.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.transcript.entry(id)
    }

    /// Where the entry of that id is among the entries; behind the last where there is none.
    pub(crate) fn position_of(&self, id: &str) -> usize {
        self.transcript.position(id).unwrap_or(self.transcript.entries().len())
    }

    /// Where entries stand.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// The entries that stand by themselves, as indexes into [`View::entries`].
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The place among the roots in which an entry is shown.
    pub fn place_of(&self, id: &str) -> Option<usize> {
        self.place(self.transcript.position(id)?)
    }

    /// The version at which the root at `place` changed last.
    pub fn changed(&self, place: usize) -> u64 {
        self.changed.get(place).map_or(0, |version| self.all_changed.max(*version))
    }

    /// The places of the roots at or after `from` that changed after `version`, in order.
    pub fn changed_since(&self, version: u64, from: usize) -> Vec<usize> {
        if version < self.all_changed {
            return (from..self.roots.len()).collect();
        }
        let newer = &self.changes[self.changes.partition_point(|(changed, _)| *changed <= version)..];
        let last = newer.iter().filter(|(version, place)| self.changed[*place] == *version);
        let mut places: Vec<usize> = last.map(|(_, place)| *place).filter(|place| *place >= from).collect();
        places.sort_unstable();
        places
    }

    /// When the phase began that the session is in.
    pub fn since(&self) -> Option<Time> {
        self.since
    }

    /// True when the agent is at rest.
    pub fn is_idle(&self) -> bool {
        self.session().phase == Phase::Idle
    }

    /// The tool calls that wait for a person: the ask's id and the entry's.
    pub fn asks(&self) -> Vec<(Key, Key)> {
        self.transcript.asks()
    }

    /// The format of the agent's lines before the log says one: what a second reader of the records begins with.
    pub fn first_format(&self) -> Option<Format> {
        self.first
    }

    /// The format of the agent's lines now.
    pub fn format(&self) -> Option<Format> {
        self.house.format()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parlor_model::record::Origin;

    fn line(seq: u64, body: &str) -> Record {
        Record { seq, at: None, origin: Origin::Agent, body: body.to_owned().into() }
    }

    fn view(lines: &[&str]) -> View {
        let mut view = View::new("e".into(), Some(Format::ClaudeSession));
        for (seq, body) in lines.iter().enumerate() {
            view.push(line(seq as u64, body));
        }
        view
    }

    const LINES: [&str; 3] = [
        r#"{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"Hi"}}"#,
        r#"{"type":"assistant","uuid":"a","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#,
        r#"{"type":"user","uuid":"r","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#,
    ];

    #[test]
    fn what_changed_since_a_version_is_told_once_and_in_its_newest_form() {
        let view = view(&LINES);
        assert_eq!((view.end(), view.roots().len(), view.version()), (3, 2, 3));
        assert_eq!(view.changed_since(0, 0), [0, 1]);
        assert_eq!(view.changed_since(1, 0), [1]);
        assert_eq!(view.changed_since(2, 0), [1], "the result changed the call's entry");
        assert!(view.changed_since(3, 0).is_empty());
        assert_eq!(view.changed_since(0, 1), [1], "what is before the window is left out");
    }

    #[test]
    fn another_folder_changes_how_every_path_reads() {
        let mut view = view(&LINES);
        let moved = r#"{"type":"user","uuid":"v","sessionId":"s","cwd":"/elsewhere","message":{"role":"user","content":"Go"}}"#;
        view.push(line(3, moved));
        assert_eq!(view.changed_since(3, 0), [0, 1, 2]);
        view.push(line(4, moved));
        assert!(!view.changed_since(4, 0).contains(&0), "the same folder is no news");
    }

    #[test]
    fn what_changes_again_and_again_is_told_once_however_long_it_goes_on() {
        let mut view = view(&LINES);
        for seq in 3..1_000 {
            view.push(line(seq, LINES[2]));
        }
        assert_eq!(view.changed_since(2, 0), [1]);
        assert_eq!(view.changed_since(0, 0), [0, 1]);
        assert!(view.changes.len() <= 70, "changes that were overtaken are forgotten");
        assert_eq!(view.bytes(), view.records().iter().map(|record| record.body.len() as u64).sum::<u64>());
    }

    #[test]
    fn versions_are_those_of_the_records_so_that_they_survive_a_restart() {
        let (one, two) = (view(&LINES), view(&LINES));
        let versions = |view: &View| (0..2).map(|place| view.changed(place)).collect::<Vec<_>>();
        assert_eq!(versions(&one), versions(&two));
        assert_eq!(one.place_of("t"), Some(1));
    }
}
