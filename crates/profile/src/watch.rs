//! What a step brings that was not there before. It turns events and touched entries into news, each told once; it
//! must not know what any client makes of them.

use std::borrow::Cow;
use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};

use parlor_model::Key;
use parlor_model::block::{Block, Notice, Prompt, Reply, Thought, Unknown};
use parlor_model::entry::Entry;
use parlor_model::event::{Event, Part, Turn};
use parlor_model::text::Text;
use parlor_model::tool::{Tool, ToolState};

use crate::Step;
use crate::print::Print;

/// Something that a client has not been told.
#[derive(Clone, Debug)]
pub(crate) enum News<'a> {
    /// A turn begins.
    Started,
    /// Someone told the agent something; told again when a queued prompt is delivered.
    Prompt(&'a Entry, &'a Prompt),
    /// A reply or a thought begins.
    Opened(&'a Entry),
    /// A reply, a thought or an output grows. The deltas of a text, in order, are the text.
    Delta(&'a Entry, Part, Cow<'a, str>),
    /// A reply is complete.
    Reply(&'a Entry, &'a Reply, Fit),
    /// A thought is complete.
    Thought(&'a Entry, &'a Thought),
    /// A tool is called, its input complete.
    Call(&'a Entry, &'a Tool),
    /// A call waits for a person, runs, or no longer waits.
    Moved(&'a Entry, &'a Tool),
    /// A call ended; told again when what came back is different.
    Result(&'a Entry, &'a Tool),
    /// A remark.
    Notice(&'a Entry, &'a Notice),
    /// A record nobody understands.
    Unknown(&'a Entry, &'a Unknown),
    /// Everything from this block on was abandoned.
    Overtaken(&'a Key),
    /// A turn ends.
    Ended(&'a Turn),
}

/// Whether the deltas of a text make up its final form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They do, byte for byte.
    Exact,
    /// The agent itself wrote something else in the end; the final form wins.
    Replaced,
}

/// Remembers what has been told, without keeping any text.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    texts: HashMap<Key, TextSeen>,
    calls: HashMap<Key, CallSeen>,
    others: HashMap<Key, Print>,
    /// Calls whose input may still stream in.
    held: Vec<Entry>,
}

/// What has been told of a reply or a thought.
#[derive(Debug)]
struct TextSeen {
    part: Part,
    print: Print,
    done: bool,
}

/// What has been told of a call.
#[derive(Debug, Default)]
struct CallSeen {
    announced: bool,
    /// How often the call was put; the second form is the complete one.
    puts: u32,
    /// True while the input comes in fragments.
    growing: bool,
    /// True once it was held back.
    held: bool,
    state: ToolState,
    ask: Option<Key>,
    result: Option<Print>,
}

impl Watch {
    /// Tells the news of a step, in the order of its events.
    pub(crate) fn read(&mut self, step: &Step<'_>, tell: &mut dyn FnMut(News<'_>)) {
        for entry in self.release(step) {
            self.announce(&entry, tell);
        }
        let touched = Touched::of(step);
        let mut flushed = false;
        for (index, event) in step.events.iter().enumerate() {
            match event {
                Event::Turn { turn: Turn::Start } => tell(News::Started),
                Event::Turn { turn } => {
                    if !std::mem::replace(&mut flushed, true) {
                        self.flush(step, index, tell);
                    }
                    tell(News::Ended(turn));
                }
                Event::Overtake { from } => tell(News::Overtaken(from)),
                Event::Meta { .. } | Event::Usage { .. } => {}
                Event::Put { .. }
                | Event::Grow { .. }
                | Event::End { .. }
                | Event::Ask { .. }
                | Event::Decide { .. } => {
                    if let Some(entry) = key(event).and_then(|key| touched.get(key)) {
                        self.follow(entry, event, tell);
                    }
                }
            }
        }
        for entry in step.touched {
            self.settle(entry, tell);
        }
    }

    /// Tells what was held back, when nothing more will come.
    pub(crate) fn finish(&mut self, tell: &mut dyn FnMut(News<'_>)) {
        for entry in std::mem::take(&mut self.held) {
            self.announce(&entry, tell);
        }
    }

    /// Tells what the end of a turn itself changed, which comes before the end; what the record says after the end
    /// belongs to the next turn.
    fn flush(&mut self, step: &Step<'_>, index: usize, tell: &mut dyn FnMut(News<'_>)) {
        let later: HashSet<&str> = step.events.iter().skip(index).filter_map(key).collect();
        for entry in step.touched.iter().filter(|entry| !later.contains(entry.id.as_str())) {
            self.settle(entry, tell);
        }
    }

    /// Tells what one event did to its entry.
    fn follow(&mut self, entry: &Entry, event: &Event, tell: &mut dyn FnMut(News<'_>)) {
        match event {
            Event::Put { block, .. } => self.put(entry, block, tell),
            Event::Grow { part, text, .. } => self.grow(entry, *part, text, tell),
            Event::End { .. } | Event::Ask { .. } | Event::Decide { .. } => {
                self.announce(entry, tell);
                self.settle(entry, tell);
            }
            Event::Meta { .. } | Event::Turn { .. } | Event::Usage { .. } | Event::Overtake { .. } => {}
        }
    }

    /// Takes out the held calls whose input is complete, because the same speaker has gone on to another block.
    fn release(&mut self, step: &Step<'_>) -> Vec<Entry> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let about: HashSet<&str> = step.events.iter().filter_map(key).collect();
        let ends = step.events.iter().any(|event| matches!(event, Event::Turn { .. }));
        let went_on: HashSet<Option<&Key>> = step.events.iter().filter_map(goes_on).collect();
        let goes = |entry: &Entry| {
            !about.contains(entry.id.as_str()) && (ends || went_on.contains(&entry.parent.as_ref()))
        };
        let (released, held) = std::mem::take(&mut self.held).into_iter().partition(goes);
        self.held = held;
        released
    }

    /// A complete or an opening form. Its text is compared in the event's own form, because the entry may already hold
    /// what a later event of the step adds.
    fn put(&mut self, entry: &Entry, block: &Block, tell: &mut dyn FnMut(News<'_>)) {
        match block {
            Block::Reply(reply) if reply.streaming => {
                self.extend(entry, Part::Reply, &reply.text.as_str(), tell);
            }
            Block::Thought(thought) if thought.streaming => {
                self.extend(entry, Part::Thought, &thought.text.as_str(), tell);
            }
            Block::Tool(_) => {
                let seen = self.calls.entry(entry.id.clone()).or_default();
                seen.puts = seen.puts.saturating_add(1 + u32::from(std::mem::take(&mut seen.growing)));
                self.settle(entry, tell);
            }
            Block::Reply(_) | Block::Thought(_) | Block::Prompt(_) | Block::Notice(_) | Block::Unknown(_) => {
                self.settle(entry, tell);
            }
        }
    }

    fn grow(&mut self, entry: &Entry, part: Part, text: &Text, tell: &mut dyn FnMut(News<'_>)) {
        match part {
            Part::Reply | Part::Thought => {
                let text = text.as_str();
                self.open(entry, part, tell).print.push(&text);
                if !text.is_empty() {
                    tell(News::Delta(entry, part, text));
                }
            }
            Part::Output => {
                self.announce(entry, tell);
                if !text.is_empty() {
                    tell(News::Delta(entry, part, text.as_str()));
                }
            }
            // No client is shown half an input.
            Part::Input => self.calls.entry(entry.id.clone()).or_default().growing = true,
        }
    }

    /// Tells what is new about an entry as it stands.
    fn settle(&mut self, entry: &Entry, tell: &mut dyn FnMut(News<'_>)) {
        match &entry.block {
            Block::Reply(reply) if !reply.streaming => {
                if let Some(fit) = self.complete(entry, Part::Reply, &reply.text, tell) {
                    tell(News::Reply(entry, reply, fit));
                }
            }
            Block::Thought(thought) if !thought.streaming => {
                if self.complete(entry, Part::Thought, &thought.text, tell).is_some() {
                    tell(News::Thought(entry, thought));
                }
            }
            Block::Reply(_) | Block::Thought(_) => {}
            Block::Tool(tool) => self.settle_call(entry, tool, tell),
            Block::Prompt(prompt) => {
                let flags = if prompt.queued { "queued" } else { "" };
                if self.differs(entry, &[flags, &prompt.text.as_str()]) {
                    tell(News::Prompt(entry, prompt));
                }
            }
            Block::Notice(notice) => {
                if self.differs(entry, &[&format!("{:?}", notice.kind), &notice.text.as_str()]) {
                    tell(News::Notice(entry, notice));
                }
            }
            Block::Unknown(unknown) => {
                if self.differs(entry, &[&unknown.kind]) {
                    tell(News::Unknown(entry, unknown));
                }
            }
        }
    }

    fn settle_call(&mut self, entry: &Entry, tool: &Tool, tell: &mut dyn FnMut(News<'_>)) {
        let seen = self.calls.entry(entry.id.clone()).or_default();
        if !seen.announced && !tool.orphan {
            // A call that streams opens without any input.
            let complete = seen.puts > 1 || !(tool.input.is_missing() || seen.growing);
            if complete || tool.state != ToolState::Pending || tool.ask.is_some() {
                self.announce(entry, tell);
            } else if !std::mem::replace(&mut seen.held, true) {
                self.held.push(entry.clone());
            }
        }
        let seen = self.calls.entry(entry.id.clone()).or_default();
        let ask = tool.ask.as_ref().map(|ask| ask.id.clone());
        let moved = !tool.state.is_final() && (tool.state != seen.state || ask != seen.ask);
        seen.state = tool.state;
        seen.ask = ask;
        if moved {
            tell(News::Moved(entry, tool));
        }
        if tool.state.is_final() {
            let output = tool.output.as_ref().map(|output| output.joined()).unwrap_or_default();
            let patches = tool.output.as_ref().map_or(0, |output| output.patches.len());
            let print = Print::of(&[&format!("{:?} {patches} ", tool.state), &output]);
            if seen.result.replace(print) != Some(print) {
                tell(News::Result(entry, tool));
            }
        }
    }

    /// Tells of a call, once. A result without a call announces none.
    fn announce(&mut self, entry: &Entry, tell: &mut dyn FnMut(News<'_>)) {
        let Block::Tool(tool) = &entry.block else { return };
        let seen = self.calls.entry(entry.id.clone()).or_default();
        if !tool.orphan && !std::mem::replace(&mut seen.announced, true) {
            // A result that came before its call is told again, or the call would look open.
            seen.result = None;
            tell(News::Call(entry, tool));
        }
    }

    /// The memory of a text, telling that it opens if it is new.
    fn open(&mut self, entry: &Entry, part: Part, tell: &mut dyn FnMut(News<'_>)) -> &mut TextSeen {
        let fresh = TextSeen { part, print: Print::default(), done: false };
        match self.texts.entry(entry.id.clone()) {
            Slot::Vacant(slot) => {
                tell(News::Opened(entry));
                slot.insert(fresh)
            }
            Slot::Occupied(slot) => {
                let seen = slot.into_mut();
                if seen.part != part {
                    tell(News::Opened(entry));
                    *seen = fresh;
                }
                seen
            }
        }
    }

    /// Tells what a form of a text has beyond what was told; `Replaced` when it is not a continuation.
    fn extend(&mut self, entry: &Entry, part: Part, text: &str, tell: &mut dyn FnMut(News<'_>)) -> Fit {
        let seen = self.open(entry, part, tell);
        let Some(rest) = seen.print.rest_of(text) else {
            seen.print = Print::of(&[text]);
            return Fit::Replaced;
        };
        seen.print.push(rest);
        if !rest.is_empty() {
            tell(News::Delta(entry, part, Cow::Borrowed(rest)));
        }
        Fit::Exact
    }

    /// Completes a text; `None` when that has been told of the very same text.
    fn complete(
        &mut self,
        entry: &Entry,
        part: Part,
        text: &Text,
        tell: &mut dyn FnMut(News<'_>),
    ) -> Option<Fit> {
        let text = text.as_str();
        let seen = self.open(entry, part, tell);
        if std::mem::replace(&mut seen.done, true) && seen.print == Print::of(&[&text]) {
            return None;
        }
        Some(self.extend(entry, part, &text, tell))
    }

    /// Whether an entry differs from what was told of it.
    fn differs(&mut self, entry: &Entry, parts: &[&str]) -> bool {
        let print = Print::of(parts);
        self.others.insert(entry.id.clone(), print) != Some(print)
    }
}

/// The block that an event is about.
fn key(event: &Event) -> Option<&str> {
    match event {
        Event::Put { key, .. }
        | Event::Grow { key, .. }
        | Event::End { key, .. }
        | Event::Ask { key, .. }
        | Event::Decide { key, .. } => Some(key),
        Event::Meta { .. } | Event::Turn { .. } | Event::Usage { .. } | Event::Overtake { .. } => None,
    }
}

/// The speaker of an event that opens or completes a block of a conversation.
fn goes_on(event: &Event) -> Option<Option<&Key>> {
    match event {
        Event::Put { under, block, .. } if !matches!(block, Block::Notice(_) | Block::Unknown(_)) => {
            Some(under.as_ref())
        }
        _ => None,
    }
}

/// The entries of a step by id, with an index when there are many.
struct Touched<'a> {
    entries: &'a [&'a Entry],
    index: HashMap<&'a str, &'a Entry>,
}

impl<'a> Touched<'a> {
    fn of(step: &Step<'a>) -> Touched<'a> {
        let index = match step.touched.len() {
            0..=16 => HashMap::new(),
            _ => step.touched.iter().map(|entry| (entry.id.as_str(), *entry)).collect(),
        };
        Touched { entries: step.touched, index }
    }

    fn get(&self, key: &str) -> Option<&'a Entry> {
        if self.index.is_empty() {
            return self.entries.iter().copied().find(|entry| entry.id == key);
        }
        self.index.get(key).copied()
    }
}
