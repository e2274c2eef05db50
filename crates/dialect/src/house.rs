//! Reads a session's own log: orders, what Parlor saw, and between them the agent's lines, in whichever format the log
//! says they are. A file that an agent wrote by itself is a log without orders. It must not know how records are kept.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::block::{Attachment, Author, Block, Notice, NoticeKind, Prompt, Source};
use parlor_model::event::{Ask, Decision, End, Event, Fate, Meta, Part, Reading, TitleRank, Turn};
use parlor_model::line::Line;
use parlor_model::order::{Order, Ordered};
use parlor_model::queue::Queue;
use parlor_model::record::{Origin, Record};
use parlor_model::rule::Rule;
use parlor_model::seen::{Ended, Force, Level, Seen, TurnEnd};
use parlor_model::session::Queued;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::{FileChange, FilePatch, Output, Piece, ToolState};

use crate::{Decoder, Format, Subagent};

mod exchange;
mod ties;

/// How many prompts that were handed over may still come back as the agent's echo.
const ECHOES: usize = 64;

/// Reads the records of one session, in order.
pub struct House {
    /// The readers of all formats that the log had so far, and which of them reads now. Each goes on where it was, since
    /// it names blocks by what it has read before.
    decoders: Vec<Decoder>,
    current: usize,
    /// The subagents that had files of their own, and which of them the lines are of.
    subagents: Vec<Subagent>,
    nested: Option<usize>,
    /// Prompts that were ordered and not yet handed over.
    waiting: Queue<Waiting>,
    held: bool,
    /// Prompts that were handed over and may come back as the agent's own record of them.
    echoes: Vec<String>,
    /// The tool call of each ask that is open.
    asks: HashMap<Key, Key>,
    /// True while the agent's lines are heard as it says them, not read in a file of its own.
    heard: bool,
    /// True from the start of a turn until its end.
    busy: bool,
    /// Tells the blocks of this log apart that have no name of their own.
    seq: u64,
    /// The exchanges that this session's agent began.
    exchanges: exchange::Exchanges,
    ties: ties::Ties,
    /// The calls of Parlor's own tools that have printed something and not ended.
    printed: HashSet<Key>,
}

struct Waiting {
    prompt: Prompt,
    /// What the agent is told, where it is not the prompt's own words.
    told: Option<String>,
}

impl House {
    /// A reader for a log whose agent's lines are in `format` until the log says otherwise.
    pub fn new(format: impl Into<Option<Format>>) -> Self {
        House {
            decoders: vec![Decoder::new(format)],
            current: 0,
            subagents: Vec::new(),
            nested: None,
            waiting: Queue::default(),
            held: false,
            echoes: Vec::new(),
            asks: HashMap::new(),
            heard: false,
            busy: false,
            seq: 0,
            exchanges: exchange::Exchanges::default(),
            ties: ties::Ties::default(),
            printed: HashSet::new(),
        }
    }

    /// The format of the agent's lines now.
    pub fn format(&self) -> Option<Format> {
        self.decoders[self.current].format()
    }

    /// Reads one record: what it says, and its line as the transcript wants it.
    pub fn read(&mut self, record: &Record, out: &mut Vec<Event>) -> (Line, Reading) {
        self.seq = record.seq;
        let line = Line::new(record.body.clone());
        let start = out.len();
        let reading = match record.origin {
            Origin::Agent => match self.nested {
                Some(subagent) => self.subagents[subagent].read(&line, out),
                None => self.agent(&line, record.at, out),
            },
            Origin::Stderr => self.stderr(&line, record.at, out),
            Origin::User => match serde_json::from_slice::<Ordered>(&record.body) {
                Ok(ordered) => self.order(ordered, record.at, out),
                Err(_) => Reading { at: record.at, ..crate::decoder::unknown(&line, "order") },
            },
            Origin::Host => match serde_json::from_slice::<Seen>(&record.body) {
                Ok(seen) => self.seen(seen, record.at, out),
                Err(_) => Reading { at: record.at, ..crate::decoder::unknown(&line, "host") },
            },
        };
        let was_busy = self.busy;
        for event in &out[start..] {
            self.follow(event);
        }
        if was_busy != self.busy || matches!(record.origin, Origin::User | Origin::Host) {
            self.tell_ties(out);
        }
        (line, reading)
    }

    /// What a block may be called here which an agent calls `name`: each of its formats has a reader of its own.
    pub fn names_of(&self, name: &str) -> impl Iterator<Item = Key> {
        (0..self.decoders.len()).map(move |reader| apart(name, reader))
    }

    /// What an agent wrote.
    fn agent(&mut self, line: &Line, at: Option<Time>, out: &mut Vec<Event>) -> Reading {
        let start = out.len();
        let mut reading = self.decoders[self.current].read(line, out);
        // A house that heard the line knows when; of lines that were read in a file, only their writer does.
        reading.at = if self.heard { at.or(reading.at) } else { reading.at.or(at) };
        if self.heard && self.format() == Some(Format::OpenaiChat) {
            // The model's answer is whole, or has failed, but the turn is the built-in agent's: it tries again, works on, and says
            // itself when it is over. A prompt that was handed over in between would seem to be over with it.
            let is_end =
                |event: &Event| matches!(event, Event::Turn { turn: Turn::Done | Turn::Failed { .. } });
            let events = out.split_off(start);
            out.extend(events.into_iter().filter(|event| !is_end(event)));
        }
        if self.current > 0 {
            for event in &mut out[start..] {
                tell_apart(event, self.current);
            }
        }
        if !self.echoes.is_empty() {
            let said = out.len();
            let events = out.split_off(start);
            out.extend(events.into_iter().filter(|event| !self.is_echo(event)));
            if out.len() == start && said > start {
                reading.fate = Fate::Hidden(Rule::Repeat);
            }
        }
        reading
    }

    /// True for the agent's own record of a prompt that was handed to it.
    fn is_echo(&mut self, event: &Event) -> bool {
        let Event::Put { under: None, block: Block::Prompt(prompt), .. } = event else { return false };
        let text = prompt.text.as_str();
        let same = |echo: &String| match prompt.author {
            Author::Person => echo.trim() == text.trim(),
            // An agent that knows such messages has taken the words out of what it was told.
            Author::Peer { .. } => exchange::is_message(echo) && echo.contains(text.trim()),
            Author::Caller | Author::Machine => false,
        };
        let found = self.echoes.iter().position(same);
        found.map(|index| self.echoes.remove(index)).is_some()
    }

    /// Warnings and banners: worth knowing, nobody's words.
    fn stderr(&mut self, line: &Line, at: Option<Time>, out: &mut Vec<Event>) -> Reading {
        if line.is_blank() {
            return Reading { fate: Fate::Blank, at };
        }
        let text = Text::plain(line.bytes().clone());
        self.notice(NoticeKind::Status { name: Key::new_static("stderr") }, text, out);
        Reading::shown(at)
    }

    fn order(&mut self, ordered: Ordered, at: Option<Time>, out: &mut Vec<Event>) -> Reading {
        let Ordered { id, by, order } = ordered;
        match order {
            Order::Prompt { text, files, .. } => {
                let attachments = files.into_iter().map(attachment).collect();
                let prompt = Prompt { text: text.into(), attachments, ..Prompt::default() };
                self.waiting.push(id, Waiting { prompt, told: None });
                self.held = false;
                self.queue(out);
            }
            Order::Edit { prompt, text } => {
                let waiting = self.waiting.get_mut(&prompt);
                // Another agent's words are its own.
                if let Some(waiting) = waiting.filter(|waiting| waiting.told.is_none()) {
                    waiting.prompt.text = text.into();
                }
                self.queue(out);
            }
            Order::Cancel { prompt } => {
                self.waiting.remove(&prompt);
                self.queue(out);
            }
            Order::Move { prompt, before } => {
                self.waiting.shift(&prompt, before.as_deref());
                self.queue(out);
            }
            Order::Release => {
                self.held = false;
                self.queue(out);
            }
            Order::Interrupt | Order::Permit { .. } => {}
            Order::Answer { ask, answer } => {
                if let Some(key) = self.asks.get(&ask).cloned() {
                    let told = answer.answers.iter().map(|(_, answer)| answer.as_str()).collect::<Vec<_>>();
                    let told = (!told.is_empty()).then(|| told.join(", "));
                    let decision = Decision {
                        choice: answer.choice,
                        reason: answer.reason.or(told).map(Into::into),
                        by: by.map(Into::into),
                        at,
                    };
                    out.push(Event::Decide { key, decision });
                    return Reading::shown(at);
                }
            }
            Order::Rename { title } => {
                out.push(Event::Meta { meta: Meta::Title { text: title.into(), rank: TitleRank::Person } });
            }
            Order::Set { mode, .. } => {
                out.extend(mode.map(|mode| Event::Meta { meta: Meta::Mode { mode } }));
            }
            Order::Archive { .. } => {}
        }
        Reading::hidden(Rule::Protocol, at)
    }

    fn seen(&mut self, seen: Seen, at: Option<Time>, out: &mut Vec<Event>) -> Reading {
        let meta = |meta: Meta| Event::Meta { meta };
        match seen {
            Seen::Created { agent, cwd, model, mode } => {
                out.push(meta(Meta::Agent { name: agent }));
                out.push(meta(Meta::Cwd { path: cwd.into() }));
                out.push(meta(Meta::Mode { mode }));
                out.extend(model.map(|model| meta(Meta::Model { name: model.into() })));
            }
            Seen::Imported { format, .. } => self.switch(&format, false),
            Seen::Nested { agent, call } => self.nest(agent, call),
            Seen::Main => self.nested = None,
            Seen::Started { format, .. } => self.switch(&format, true),
            Seen::Delivered { prompt, steered } => return self.delivered(&prompt, steered, at, out),
            Seen::Held => {
                self.held = !self.waiting.is_empty();
                self.queue(out);
            }
            Seen::Asked { call, ask, reason, permit } => {
                let always = permit.map(|permit| format!("always: `{permit}` in this folder"));
                let words: Vec<String> = reason.into_iter().chain(always).collect();
                let reason = (!words.is_empty()).then(|| words.join("; ").into());
                let ask = Ask { id: ask, reason, options: Vec::new() };
                out.push(Event::Ask { key: call, ask: Some(ask) });
                return Reading::shown(at);
            }
            Seen::Settled { ask } => {
                if let Some(key) = self.asks.remove(&ask) {
                    out.push(Event::Ask { key, ask: None });
                }
            }
            Seen::Output { call, text } => {
                self.printed.insert(call.clone());
                out.push(Event::Grow { key: call, part: Part::Output, text: text.into() });
                return Reading::shown(at);
            }
            Seen::Result { .. } => return self.result(seen, at, out),
            Seen::Note { level, text } => {
                if level == Level::Retry {
                    // A retry takes back what was streamed: the answer begins again.
                    out.extend(self.decoders[self.current].give_up().map(|from| Event::Overtake { from }));
                }
                let kind = match level {
                    Level::Info => NoticeKind::Info,
                    Level::Warning => NoticeKind::Warning,
                    Level::Error => NoticeKind::Error,
                    Level::Retry => NoticeKind::Retry,
                };
                self.notice(kind, text.into(), out);
                return Reading::shown(at);
            }
            Seen::Compacted { before, after, summary } => {
                let kind = NoticeKind::Compaction { before: Some(before), after: Some(after) };
                self.notice(kind, summary.into(), out);
                return Reading::shown(at);
            }
            Seen::TurnEnded { end, error } => {
                self.decoders[self.current].give_up();
                let turn = match end {
                    TurnEnd::Done => Turn::Done,
                    TurnEnd::Failed => Turn::Failed { error: error.map(Into::into) },
                    TurnEnd::Interrupted => Turn::Interrupted { reason: Key::new_static("user_cancel") },
                };
                out.push(Event::Turn { turn });
                return Reading::shown(at);
            }
            Seen::Stopped { needed, left, .. } => {
                if self.busy || needed > Force::Protocol {
                    out.push(Event::Turn {
                        turn: Turn::Interrupted { reason: Key::new_static("user_cancel") },
                    });
                }
                if left > 0 {
                    let text = format!("{left} processes of the agent could not be ended");
                    self.notice(NoticeKind::Error, text.into(), out);
                }
                return Reading::shown(at);
            }
            Seen::Exited { code, signal, .. } => return self.exited(code, signal, at, out),
            Seen::Lost { .. } => {
                if self.busy {
                    out.push(Event::Turn { turn: Turn::Interrupted { reason: Key::new_static("lost") } });
                    let text = "Parlor was ended while the agent was at work; send a prompt to go on";
                    self.notice(NoticeKind::Warning, text.into(), out);
                    return Reading::shown(at);
                }
            }
            Seen::Failed { text } => {
                out.push(Event::Turn { turn: Turn::Failed { error: Some(text.into()) } });
                return Reading::shown(at);
            }
            Seen::Sent { .. }
            | Seen::Receipt { .. }
            | Seen::Work { .. }
            | Seen::Received { .. }
            | Seen::Withdrawn { .. } => return self.exchange(seen, at, out),
        }
        Reading::hidden(Rule::Bookkeeping, at)
    }

    /// A prompt takes its place in the conversation when the agent gets it.
    fn delivered(&mut self, id: &Key, steered: bool, at: Option<Time>, out: &mut Vec<Event>) -> Reading {
        let Some(Waiting { prompt, told }) = self.waiting.remove(id) else {
            return Reading::hidden(Rule::Repeat, at);
        };
        self.queue(out);
        self.ties.work_on(id, &prompt);
        self.echoes.push(told.unwrap_or_else(|| prompt.text.as_str().into_owned()));
        if self.echoes.len() > ECHOES {
            self.echoes.remove(0);
        }
        out.push(Event::put(id.clone(), Block::Prompt(Prompt { steered, ..prompt })));
        out.push(Event::Turn { turn: Turn::Start });
        Reading::shown(at)
    }

    /// An agent that ends in the middle of a turn has failed, whatever its exit code says.
    fn exited(
        &mut self,
        code: Option<i32>,
        signal: Option<i32>,
        at: Option<Time>,
        out: &mut Vec<Event>,
    ) -> Reading {
        if !self.busy {
            return Reading::hidden(Rule::Status, at);
        }
        let error = match (code, signal) {
            (_, Some(signal)) => format!("The agent was ended by signal {signal}"),
            (Some(code), _) => format!("The agent exited with code {code} before its turn was over"),
            (None, None) => "The agent ended before its turn was over".to_owned(),
        };
        out.push(Event::Turn { turn: Turn::Failed { error: Some(error.into()) } });
        Reading::shown(at)
    }

    /// The result of a tool that Parlor ran.
    fn result(&mut self, seen: Seen, at: Option<Time>, out: &mut Vec<Event>) -> Reading {
        if let Seen::Result { call, name, state, text, exit_code, duration_ms, truncated, diff } = seen {
            let state = match state {
                Ended::Done => ToolState::Done,
                Ended::Failed => ToolState::Failed,
                Ended::Denied => ToolState::Denied,
                Ended::Interrupted => ToolState::Interrupted,
            };
            let patches = diff.iter().flat_map(|diff| patch(diff)).collect();
            // The model is told less than was printed; a person keeps what was printed.
            let printed = self.printed.remove(&call) && truncated;
            let parts = if printed { Vec::new() } else { vec![Piece::Text { text: text.into() }] };
            let output =
                Box::new(Output { parts, exit_code, duration_ms, truncated, patches, ..Output::default() });
            out.push(Event::End { key: call, end: End::Result { name: Some(name), state, output } });
        }
        Reading::shown(at)
    }

    /// The agent's lines are in this format from here on.
    fn switch(&mut self, format: &str, heard: bool) {
        self.decoders[self.current].give_up();
        self.nested = None;
        self.heard = heard;
        let Some(format) = Format::named(format) else { return };
        if self.decoders.len() == 1 && self.decoders[0].format().is_none() {
            self.decoders.clear();
        }
        let known = self.decoders.iter().position(|decoder| decoder.format() == Some(format));
        self.current = known.unwrap_or_else(|| {
            self.decoders.push(Decoder::new(format));
            self.decoders.len() - 1
        });
    }

    /// The lines that follow are this subagent's. Its reader goes on where it was.
    fn nest(&mut self, agent: Key, call: Key) {
        let known = self.subagents.iter().position(|one| *one.agent() == agent && *one.call() == call);
        self.nested = known.or_else(|| {
            self.subagents.push(Subagent::new(agent, call));
            Some(self.subagents.len() - 1)
        });
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::Turn { turn: Turn::Start } => self.busy = true,
            Event::Turn { turn: Turn::Done | Turn::Failed { .. } | Turn::Interrupted { .. } } => {
                self.busy = false;
                self.asks.clear();
            }
            Event::Ask { key, ask: Some(ask) } => {
                self.asks.insert(ask.id.clone(), key.clone());
            }
            _ => {}
        }
    }

    fn queue(&self, out: &mut Vec<Event>) {
        let prompts = self.waiting.iter().map(|(id, waiting)| Queued {
            id: id.clone(),
            text: waiting.prompt.text.clone(),
            files: waiting.prompt.attachments.len() as u32,
            from: match &waiting.prompt.author {
                Author::Peer { name } => Some(name.clone()),
                Author::Person | Author::Caller | Author::Machine => None,
            },
        });
        out.push(Event::Meta { meta: Meta::Queue { prompts: prompts.collect(), held: self.held } });
    }

    fn notice(&self, kind: NoticeKind, text: Text, out: &mut Vec<Event>) {
        out.push(Event::notice(format!("house/{}", self.seq), Notice { kind, text }));
    }
}

/// The name that a block has which `reader` calls `name`. Two readers may give two blocks the same: a number, where a record has
/// none of its own.
fn apart(name: &str, reader: usize) -> Key {
    if reader == 0 { name.into() } else { format!("{reader}:{name}").into() }
}

fn tell_apart(event: &mut Event, reader: usize) {
    let rename = |key: &mut Key| *key = apart(key, reader);
    match event {
        Event::Put { key, under, .. } => {
            rename(key);
            under.iter_mut().for_each(rename);
        }
        Event::Grow { key, .. }
        | Event::End { key, .. }
        | Event::Ask { key, .. }
        | Event::Decide { key, .. }
        | Event::Overtake { from: key } => rename(key),
        Event::Meta { .. } | Event::Turn { .. } | Event::Usage { .. } => {}
    }
}

fn attachment(file: parlor_model::order::File) -> Attachment {
    Attachment {
        media_type: file.media_type.into(),
        name: (!file.name.is_empty()).then(|| file.name.into()),
        source: Source::Base64(Text::plain(Bytes::from(file.data))),
    }
}

/// The one file of a unified diff.
fn patch(diff: &str) -> Option<FilePatch> {
    let name = |prefix: &str| diff.lines().find_map(|line| line.strip_prefix(prefix));
    let (old, new) = (name("--- ")?, name("+++ ")?);
    let change = if old == "/dev/null" { FileChange::Add } else { FileChange::Update };
    let path = new.split('\t').next().unwrap_or(new);
    Some(FilePatch::parse_unified(path.strip_prefix("b/").unwrap_or(path).into(), change, diff))
}

#[cfg(test)]
mod tests;
