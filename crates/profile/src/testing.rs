//! A small fold for tests of this crate: enough of a transcript to make honest steps.

use std::collections::BTreeSet;

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Block, Notice, NoticeKind, Prompt, Reply, Thought};
use parlor_model::entry::Entry;
use parlor_model::event::{Ask, End, Event, Fate, Part, Reading, Turn};
use parlor_model::json::Json;
use parlor_model::line::Line;
use parlor_model::session::{Phase, Session};
use parlor_model::time::Time;
use parlor_model::tool::{Output, Tool, ToolState};
use serde_json::Value;

use crate::{Profile, Projector, Step};

/// A conversation on its way through one profile.
pub(crate) struct Bench {
    projector: Box<dyn Projector>,
    entries: Vec<Entry>,
    pub(crate) session: Session,
    seq: u64,
    pub(crate) at: Option<Time>,
}

impl Bench {
    pub(crate) fn new(profile: Profile) -> Bench {
        let at = Time::parse("2026-03-04T05:06:07.089Z");
        Bench { projector: profile.projector(), entries: Vec::new(), session: Session::default(), seq: 0, at }
    }

    /// One record that says these events.
    pub(crate) fn say(&mut self, events: &[Event]) -> Vec<Value> {
        self.record("{}", events)
    }

    /// One record of these bytes that says these events.
    pub(crate) fn record(&mut self, line: &str, events: &[Event]) -> Vec<Value> {
        let line = Line::new(Bytes::copy_from_slice(line.as_bytes()));
        let reading = Reading { fate: Fate::Shown, at: self.at };
        let mut touched = BTreeSet::new();
        for event in events {
            self.fold(event, &mut touched);
        }
        let touched: Vec<&Entry> = touched.into_iter().map(|index| &self.entries[index]).collect();
        let step = Step {
            seq: self.seq,
            origin: parlor_model::record::Origin::Agent,
            received: None,
            line: &line,
            reading: &reading,
            events,
            touched: &touched,
            session: &self.session,
        };
        let mut out = Vec::new();
        self.projector.step(&step, &mut out);
        self.seq += 1;
        out
    }

    pub(crate) fn finish(&mut self) -> Vec<Value> {
        let mut out = Vec::new();
        self.projector.finish(&mut out);
        out
    }

    /// Lets time pass.
    pub(crate) fn wait_seconds(&mut self, seconds: i64) {
        self.at = self.at.map(|at| Time(at.0 + seconds * 1_000_000));
    }

    fn place(&mut self, key: &Key, block: impl FnOnce() -> Block) -> usize {
        if let Some(index) = self.entries.iter().position(|entry| entry.id == *key) {
            return index;
        }
        self.entries.push(Entry {
            id: key.clone(),
            parent: None,
            message: None,
            seq: self.seq,
            at: self.at,
            ended: None,
            rev: 0,
            group: None,
            opens: false,
            overtaken: false,
            block: block(),
        });
        self.entries.len() - 1
    }

    fn fold(&mut self, event: &Event, touched: &mut BTreeSet<usize>) {
        match event {
            Event::Put { key, under, message, block } => {
                let index = self.place(key, || block.clone());
                let entry = &mut self.entries[index];
                match (&mut entry.block, block) {
                    (Block::Tool(known), Block::Tool(tool)) => {
                        known.name = tool.name.clone();
                        known.input = tool.input.clone();
                        known.orphan = false;
                    }
                    (known, block) => *known = block.clone(),
                }
                entry.parent = under.clone();
                entry.message = message.clone();
                self.session.phase = match block {
                    Block::Tool(tool) => Phase::Executing { tool: tool.name.clone() },
                    Block::Thought(_) => Phase::Thinking,
                    Block::Reply(_) => Phase::Replying,
                    Block::Prompt(_) => Phase::Preparing,
                    _ => self.session.phase.clone(),
                };
                touched.insert(index);
            }
            Event::Grow { key, part, text } => {
                let index = self.place(key, || match part {
                    Part::Reply => Block::Reply(Reply { streaming: true, ..Reply::default() }),
                    Part::Thought => Block::Thought(Thought { streaming: true, ..Thought::default() }),
                    Part::Input | Part::Output => Block::Tool(Box::default()),
                });
                self.session.phase = match part {
                    Part::Reply => Phase::Replying,
                    Part::Thought => Phase::Thinking,
                    Part::Input | Part::Output => self.session.phase.clone(),
                };
                match &mut self.entries[index].block {
                    Block::Reply(reply) => reply.text.push(&text.as_str()),
                    Block::Thought(thought) => thought.text.push(&text.as_str()),
                    Block::Tool(tool) if *part == Part::Output => {
                        tool.state = ToolState::Running;
                        tool.output.get_or_insert_default().push(&text.as_str());
                    }
                    Block::Tool(tool) => {
                        let whole = format!("{}{text}", tool.input.lossy().trim_start_matches("{}"));
                        tool.input = Json::new(Bytes::from(whole));
                    }
                    _ => {}
                }
                touched.insert(index);
            }
            Event::End { key, end } => {
                let index =
                    self.place(key, || Block::Tool(Box::new(Tool { orphan: true, ..Tool::default() })));
                close(&mut self.entries[index], end, self.at);
                if let End::Result { .. } = end {
                    self.session.phase = Phase::Thinking;
                }
                touched.insert(index);
            }
            Event::Ask { key, ask } => {
                let index = self.place(key, || Block::Tool(Box::default()));
                if let Block::Tool(tool) = &mut self.entries[index].block {
                    tool.ask = ask.clone().map(Box::new);
                    tool.state = if ask.is_some() { ToolState::Waiting } else { ToolState::Running };
                    self.session.phase = Phase::Waiting { tool: tool.name.clone() };
                }
                touched.insert(index);
            }
            Event::Turn { turn: Turn::Start } => self.session.phase = Phase::Preparing,
            Event::Turn { turn } => {
                self.session.phase = Phase::Idle;
                if let Turn::Interrupted { .. } = turn {
                    for (index, entry) in self.entries.iter_mut().enumerate() {
                        if close(entry, &End::Interrupted, self.at) {
                            touched.insert(index);
                        }
                    }
                    let key = Key::from(format!("interrupted-{}", self.seq));
                    touched.insert(self.place(&key, || {
                        Block::Notice(Notice { kind: NoticeKind::Interrupted, text: "Interrupted".into() })
                    }));
                }
            }
            Event::Usage { usage, .. } => self.session.usage.add(usage),
            Event::Meta { .. } | Event::Overtake { .. } | Event::Decide { .. } => {}
        }
    }
}

/// Closes an entry if it is open; tells whether it was.
fn close(entry: &mut Entry, end: &End, at: Option<Time>) -> bool {
    let cut = *end == End::Interrupted;
    match &mut entry.block {
        Block::Reply(reply) if reply.streaming => (reply.streaming, reply.interrupted) = (false, cut),
        Block::Thought(thought) if thought.streaming => {
            (thought.streaming, thought.interrupted) = (false, cut)
        }
        Block::Tool(tool) => match end {
            End::Result { name, state, output } => {
                tool.state = *state;
                tool.output = Some(output.clone());
                if let Some(name) = name {
                    tool.name = name.clone();
                }
                entry.ended = at;
            }
            End::Interrupted if !tool.state.is_final() => {
                tool.state = ToolState::Interrupted;
                entry.ended = at;
            }
            End::Interrupted | End::Complete => return false,
        },
        _ => return false,
    }
    true
}

pub(crate) fn prompt(key: &str, text: &str) -> Event {
    Event::put(key, Block::Prompt(Prompt { text: text.into(), ..Prompt::default() }))
}

pub(crate) fn reply(key: &str, text: &str) -> Event {
    Event::put(key, Block::Reply(Reply { text: text.into(), ..Reply::default() }))
}

pub(crate) fn thought(key: &str, text: &str) -> Event {
    Event::put(key, Block::Thought(Thought { text: text.into(), ..Thought::default() }))
}

pub(crate) fn call(key: &str, name: &str, input: Value) -> Event {
    Event::put(key, Block::Tool(Box::new(Tool::call(name, input.into()))))
}

pub(crate) fn grow(key: &str, part: Part, text: &str) -> Event {
    Event::Grow { key: key.into(), part, text: text.into() }
}

pub(crate) fn result(key: &str, state: ToolState, text: &str) -> Event {
    let output = Box::new(Output::text(text));
    Event::End { key: key.into(), end: End::Result { name: None, state, output } }
}

pub(crate) fn ask(key: &str, id: &str) -> Event {
    Event::Ask {
        key: key.into(),
        ask: Some(Ask { id: id.into(), reason: None, options: vec!["yes".into()] }),
    }
}

pub(crate) fn notice(key: &str, kind: NoticeKind, text: &str) -> Event {
    Event::notice(key, Notice { kind, text: text.into() })
}

pub(crate) fn turn(turn: Turn) -> Event {
    Event::Turn { turn }
}

pub(crate) fn interrupt(reason: &str) -> Event {
    turn(Turn::Interrupted { reason: reason.into() })
}

/// The same block, in a subagent's work.
pub(crate) fn under(parent: &str, event: Event) -> Event {
    match event {
        Event::Put { key, message, block, .. } => {
            Event::Put { key, under: Some(parent.into()), message, block }
        }
        other => other,
    }
}

/// The same block, as part of an API message.
pub(crate) fn of_message(id: &str, event: Event) -> Event {
    match event {
        Event::Put { key, under, block, .. } => Event::Put { key, under, message: Some(id.into()), block },
        other => other,
    }
}

/// The types of messages, for flows.
pub(crate) fn types(messages: &[Value]) -> Vec<&str> {
    messages.iter().filter_map(|message| message["type"].as_str()).collect()
}
