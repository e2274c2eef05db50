//! The reducer: one line's events change the entries they name, and nothing else.

use std::collections::{BTreeSet, HashMap};

use parlor_model::Key;
use parlor_model::action::messages_agent;
use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt, Reply, Thought, Unknown};
use parlor_model::entry::Entry;
use parlor_model::event::{Ask, End, Event, Fate, Meta, Part, Reading, TitleRank};
use parlor_model::json::Json;
use parlor_model::line::Line;
use parlor_model::session::{Phase, Session};
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::ToolState;
use parlor_model::usage::Usage;

use crate::phase::PhaseMachine;
use crate::place;

mod call;
mod turn;

/// A title longer than this is cut: it stands in one line of a list.
const TITLE_CHARS: usize = 120;

/// A conversation as far as it has been folded.
#[derive(Debug, Default)]
pub struct Transcript {
    session: Session,
    entries: Vec<Entry>,
    index: HashMap<Key, usize>,
    usage: HashMap<Key, Usage>,
    phase: PhaseMachine,
    /// The last entry of the main conversation, and under each task: they tell where bubbles and groups begin.
    last: Option<usize>,
    last_under: HashMap<Key, usize>,
    /// Entries of the main conversation whose text still grows or whose call is open.
    open: BTreeSet<usize>,
    /// The same of subagents. A turn may end well before they do, but a stop cuts them off too.
    open_under: BTreeSet<usize>,
    /// How many calls lie under each call.
    calls_under: HashMap<usize, u64>,
    /// Input that streams in, and how much of it the entry already shows.
    inputs: HashMap<usize, (String, usize)>,
    /// Questions that came before their call.
    asks: HashMap<Key, Ask>,
    /// The line being folded.
    seq: u64,
    at: Option<Time>,
    touched: Vec<usize>,
}

impl Transcript {
    /// Folds what one line said. Returns the indexes of the entries it touched, each once, in order.
    pub fn fold(
        &mut self,
        seq: u64,
        line: &Line,
        reading: &Reading,
        events: impl IntoIterator<Item = Event>,
    ) -> Vec<usize> {
        self.seq = seq;
        let before = self.at;
        self.at = reading.at.or(before);
        if let Some(at) = reading.at.filter(|_| reading.fate != Fate::Nested) {
            self.session.started.get_or_insert(at);
            self.session.updated = Some(at);
        }
        for event in events {
            self.apply(event);
        }
        match &reading.fate {
            Fate::Unknown(kind) => self.unknown(kind.clone(), line),
            Fate::Damaged(_) => self.unknown(Key::new_static("damaged"), line),
            Fate::Nested => self.at = before,
            Fate::Shown | Fate::Hidden(_) | Fate::Blank => {}
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for index in &touched {
            self.entries[*index].rev += 1;
        }
        touched
    }

    /// All entries, in the order in which they were opened. Entries of subagents stand among them, with a parent.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of that id.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.index.get(id).map(|index| &self.entries[*index])
    }

    /// Where the entry of that id is among the entries.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// The calls that wait for a person, in order: the ask's id and the entry's.
    pub fn asks(&self) -> Vec<(Key, Key)> {
        let open = self.open.iter().chain(&self.open_under).map(|index| &self.entries[*index]);
        let asked = |entry: &Entry| match &entry.block {
            Block::Tool(tool) => tool.ask.as_ref().map(|ask| (ask.id.clone(), entry.id.clone())),
            _ => None,
        };
        open.filter_map(asked).collect()
    }

    /// What is known of the session as a whole.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Gives up the entries and the session, for a caller that has folded everything.
    pub fn into_parts(self) -> (Session, Vec<Entry>) {
        (self.session, self.entries)
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Meta { meta } => self.meta(meta),
            Event::Turn { turn } => self.turn(turn),
            Event::Put { key, under, message, block } => self.put(key, under, message, block),
            Event::Grow { key, part, text } => self.grow(key, part, &text.as_str()),
            Event::End { key, end } => self.end(&key, end),
            Event::Ask { key, ask } => self.ask(key, ask),
            Event::Decide { key, decision } => self.decide(&key, decision),
            Event::Usage { message, usage } => self.count(message, &usage),
            Event::Overtake { from } => self.overtake(&from),
        }
    }

    fn meta(&mut self, meta: Meta) {
        let session = &mut self.session;
        match meta {
            Meta::Id { id } => session.id = Some(id),
            Meta::Parent { id } => session.parent = Some(id),
            Meta::Title { text, rank } => self.title(&text, rank),
            Meta::Model { name } => session.model = Some(name),
            Meta::Cwd { path } => session.cwd = Some(path),
            Meta::Branch { name } => session.branch = Some(name),
            Meta::Version { version } => session.version = Some(version),
            Meta::Context { tokens } => session.context = tokens,
            Meta::ContextWindow { tokens } => session.context_window = Some(tokens),
            Meta::Cost { usd } => session.cost_usd = Some(usd),
            Meta::Queue { prompts, held } => (session.queue, session.held) = (prompts, held),
            Meta::Ties { ties } => session.ties = ties,
            Meta::Agent { name } => session.agent = Some(name),
            Meta::Mode { mode } => session.mode = Some(mode),
        }
    }

    fn title(&mut self, text: &Text, rank: TitleRank) {
        let better = self
            .session
            .title_rank
            .is_none_or(|known| rank > known || (rank == known && rank > TitleRank::Prompt));
        if !better {
            return;
        }
        let text = text.as_str();
        let Some(line) = text.lines().map(str::trim).find(|line| !line.is_empty()) else { return };
        let mut title: String = line.chars().take(TITLE_CHARS).collect();
        if title.len() < line.len() {
            title.push('…');
        }
        self.session.title = Some(title.into());
        self.session.title_rank = Some(rank);
    }

    fn put(&mut self, key: Key, under: Option<Key>, message: Option<Key>, block: Block) {
        let next = self.entries.len();
        let index = *self.index.entry(key.clone()).or_insert(next);
        if index == next {
            self.open(key, under, message, block);
        } else {
            self.replace(index, block);
        }
        self.touched.push(index);
        self.moved(index);
    }

    /// Gives a known entry its newer form. What only the older form knows stays.
    fn replace(&mut self, index: usize, block: Block) {
        self.inputs.remove(&index);
        let entry = &mut self.entries[index];
        match (&mut entry.block, block) {
            (Block::Tool(old), Block::Tool(mut tool)) => {
                if old.state.is_final() || tool.state == ToolState::Pending {
                    tool.state = old.state;
                }
                if tool.input.is_missing() {
                    tool.input = std::mem::take(&mut old.input);
                }
                tool.output = tool.output.or_else(|| old.output.take());
                tool.ask = tool.ask.or_else(|| old.ask.take());
                tool.decision = tool.decision.or_else(|| old.decision.take());
                tool.title = tool.title.or_else(|| old.title.take());
                tool.subagent = tool.subagent.or_else(|| old.subagent.take());
                tool.exchange = tool.exchange.or_else(|| old.exchange.take());
                **old = *tool;
            }
            (Block::Reply(old), Block::Reply(new)) => {
                *old = Reply { interrupted: old.interrupted || new.interrupted, ..new };
            }
            (Block::Thought(old), Block::Thought(new)) => {
                *old = Thought { interrupted: old.interrupted || new.interrupted, ..new };
            }
            (old, new) => *old = new,
        }
        self.mark(index);
    }

    /// Opens an entry that the index knows already.
    fn open(&mut self, key: Key, under: Option<Key>, message: Option<Key>, block: Block) {
        let parent = under.filter(|under| *under != key);
        let last = parent.as_ref().map_or(self.last, |parent| self.last_under.get(parent).copied());
        let before = last.map(|index| &self.entries[index]);
        let group = place::group(before, &key, &block);
        let entry = Entry {
            id: key,
            message,
            seq: self.seq,
            at: self.at,
            ended: None,
            rev: 0,
            group,
            opens: place::opens(before, &block),
            overtaken: false,
            block,
            parent,
        };
        let index = self.entries.len();
        self.tally(&entry);
        match &entry.parent {
            Some(parent) => {
                self.last_under.insert(parent.clone(), index);
            }
            None => self.last = Some(index),
        }
        self.entries.push(entry);
        self.mark(index);
    }

    /// The entry of that key, opened in the main conversation when it is new.
    fn find_or_open(&mut self, key: &Key, block: impl FnOnce() -> Block) -> usize {
        let next = self.entries.len();
        let index = *self.index.entry(key.clone()).or_insert(next);
        if index == next {
            self.open(key.clone(), None, None, block());
        }
        index
    }

    /// Derives a tool's flags, applies a question that was early, and remembers what is open.
    fn mark(&mut self, index: usize) {
        let entry = &mut self.entries[index];
        let open = match &mut entry.block {
            Block::Tool(tool) => {
                tool.agent_callback = messages_agent(&tool.name);
                if let Some(ask) = self.asks.remove(&entry.id).filter(|_| !tool.state.is_final()) {
                    tool.ask = Some(Box::new(ask));
                    tool.state = ToolState::Waiting;
                }
                !tool.state.is_final()
            }
            Block::Reply(reply) => reply.streaming,
            Block::Thought(thought) => thought.streaming,
            Block::Prompt(_) | Block::Notice(_) | Block::Unknown(_) => false,
        };
        if open {
            if entry.parent.is_none() { &mut self.open } else { &mut self.open_under }.insert(index);
        }
    }

    /// Counts a new entry, for the session and for the task it was done under.
    fn tally(&mut self, entry: &Entry) {
        if let Block::Tool(_) = entry.block {
            let parent = entry.parent.as_ref().and_then(|parent| self.index.get(parent)).copied();
            if let Some(parent) = parent {
                *self.calls_under.entry(parent).or_default() += 1;
                self.total(parent);
                self.touched.push(parent);
            }
        }
        let counts = &mut self.session.counts;
        match &entry.block {
            Block::Prompt(prompt) if entry.parent.is_none() => {
                if prompt.author == Author::Person {
                    counts.prompts += 1;
                }
                let opens = prompt.author == Author::Person || prompt.author == Author::Caller;
                if opens || prompt.exchange.is_some() {
                    let text = prompt.text.clone();
                    self.title(&text, TitleRank::Prompt);
                }
            }
            Block::Notice(Notice { kind: NoticeKind::Compaction { after: Some(after), .. }, .. })
                if entry.parent.is_none() =>
            {
                // Until the next answer nothing else says how full it is.
                self.session.context = *after;
            }
            Block::Reply(_) => counts.replies += 1,
            Block::Tool(_) => counts.tools += 1,
            Block::Unknown(_) => counts.unknown += 1,
            Block::Prompt(_) | Block::Thought(_) | Block::Notice(_) => {}
        }
    }

    /// Moves the phase by what was just put or grown.
    fn moved(&mut self, index: usize) {
        let entry = &self.entries[index];
        if entry.parent.is_some() || entry.overtaken {
            return;
        }
        let phase = &mut self.session.phase;
        match &entry.block {
            Block::Prompt(Prompt {
                author: Author::Person | Author::Peer { .. } | Author::Caller,
                queued: false,
                ..
            }) => {
                if *phase == Phase::Idle {
                    *phase = Phase::Preparing;
                }
            }
            Block::Thought(_) => *phase = Phase::Thinking,
            Block::Reply(_) => *phase = Phase::Replying,
            Block::Tool(tool) if tool.state == ToolState::Waiting => {
                self.phase.wait(index, &tool.name, phase)
            }
            Block::Tool(tool) if !tool.state.is_final() => self.phase.call(index, &tool.name, phase),
            Block::Prompt(_) | Block::Tool(_) | Block::Notice(_) | Block::Unknown(_) => {}
        }
    }

    fn grow(&mut self, key: Key, part: Part, more: &str) {
        let index = self.find_or_open(&key, || opened_by(part));
        self.touched.push(index);
        let entry = &mut self.entries[index];
        match (&mut entry.block, part) {
            (Block::Reply(reply), _) => reply.text.push(more),
            (Block::Thought(thought), _) => thought.text.push(more),
            (Block::Tool(tool), Part::Output) => {
                tool.output.get_or_insert_with(Box::default).push(more);
                if tool.state == ToolState::Pending {
                    tool.state = ToolState::Running;
                }
            }
            (Block::Tool(_), _) => self.grow_input(index, more),
            (Block::Prompt(prompt), _) => prompt.text.push(more),
            (Block::Notice(_) | Block::Unknown(_), _) => {}
        }
        self.moved(index);
    }

    fn end(&mut self, key: &Key, end: End) {
        let interrupted = end == End::Interrupted;
        if let End::Result { name, state, output } = end {
            self.result(key, name, state, output);
            return;
        }
        let Some(index) = self.index.get(key).copied() else { return };
        self.show_input(index);
        match &mut self.entries[index].block {
            Block::Reply(reply) => {
                reply.streaming = false;
                reply.interrupted |= interrupted;
            }
            Block::Thought(thought) => {
                thought.streaming = false;
                thought.interrupted |= interrupted;
            }
            Block::Tool(tool) if interrupted && !tool.state.is_final() => tool.state = ToolState::Interrupted,
            Block::Prompt(prompt) => prompt.queued = false,
            Block::Tool(_) | Block::Notice(_) | Block::Unknown(_) => {}
        }
        self.touched.push(index);
    }

    /// Counts a message once, whatever number of records repeat its usage.
    fn count(&mut self, message: Key, usage: &Usage) {
        let known = self.usage.entry(message).or_default();
        self.session.usage.subtract(known);
        *known = known.max(usage);
        self.session.usage.add(known);
    }

    fn overtake(&mut self, from: &Key) {
        let Some(start) = self.index.get(from).copied() else { return };
        for index in start..self.entries.len() {
            if !self.entries[index].overtaken {
                self.entries[index].overtaken = true;
                self.touched.push(index);
            }
        }
        // What was rewound will never be completed.
        let mut open = self.open.split_off(&start);
        open.append(&mut self.open_under.split_off(&start));
        self.close(open, true);
    }

    fn notice(&mut self, name: &str, kind: NoticeKind, text: Text) {
        let key = Key::from(format!("{name}/{}", self.seq));
        let index = self.find_or_open(&key, || Block::Notice(Notice { kind, text }));
        self.touched.push(index);
    }

    fn unknown(&mut self, kind: Key, line: &Line) {
        let key = Key::from(format!("unknown/{}", self.seq));
        let raw = Json::new(line.bytes().clone());
        let index = self.find_or_open(&key, || Block::Unknown(Unknown { kind, raw }));
        self.touched.push(index);
    }
}

/// The block that a delta opens when nothing announced it.
fn opened_by(part: Part) -> Block {
    match part {
        Part::Reply => Block::Reply(Reply { streaming: true, ..Reply::default() }),
        Part::Thought => Block::Thought(Thought { streaming: true, ..Thought::default() }),
        Part::Input | Part::Output => Block::Tool(Box::default()),
    }
}

#[cfg(test)]
mod tests;
