//! `codex app-server`: JSON-RPC in both directions, bare or as a recorder wrapped it. Requests and answers carry the
//! protocol, notifications the conversation. It does not speak the protocol, it only listens.

mod item;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet, VecDeque};

use parlor_model::Key;
use parlor_model::block::{Author, Block, NoticeKind, Prompt};
use parlor_model::event::{End, Event, Fate, Meta, Reading, TitleRank, Turn};
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::time::Time;

use crate::codex::fields::{Field, Fields};
use crate::codex::mirror::{Mirror, Source, Voice};
use crate::codex::{notice, prompt, unreadable, usage};
use crate::decoder::unknown;
use crate::{Claim, Dialect};

/// Reads what an app server and its client say.
#[derive(Debug, Default)]
pub(crate) struct CodexApp {
    keys: u32,
    mirror: Mirror,
    /// Items whose block is there.
    open: HashSet<Key>,
    /// Requests that wait for an answer, and the calls they are about.
    asks: BTreeMap<Key, Key>,
    threads: Threads,
    /// Replies and thoughts that are being written, each with its thread.
    streaming: Vec<(Option<Key>, Key)>,
    /// The error shown last: the failed turn repeats it.
    error: Option<Text>,
    compacted: bool,
    window: Option<u64>,
}

/// Whose work is whose: one server runs the threads of subagents too.
#[derive(Debug, Default)]
struct Threads {
    /// Threads that were started for a person.
    own: HashSet<Key>,
    /// Threads of subagents, and the calls that started them.
    calls: BTreeMap<Key, Key>,
    /// Calls that start a subagent of which no thread is known yet.
    starting: VecDeque<Key>,
    /// Threads in a turn, and whether the turn has its prompt: the next one steers it.
    running: BTreeMap<Key, bool>,
}

/// A frame, out of whatever wraps it.
#[derive(Debug)]
struct Envelope {
    method: Option<Span>,
    id: Option<Span>,
    params: Fields,
    result: Option<Fields>,
    error: Option<Span>,
    at: Option<Time>,
    /// True when it is known to come from the client.
    client: bool,
    /// True when the wrapped thing is no frame at all.
    noise: bool,
}

impl Dialect for CodexApp {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut envelope = Envelope::new(line);
        let is_object = reader.object(|reader, key| match key {
            b"direction" => envelope.client = reader.text().is_some_and(|word| line.word(word) == b"out"),
            b"ms" => envelope.client = true,
            b"frame" | b"line" if reader.kind() == Kind::Object => {
                reader.object(|reader, key| envelope.take(reader, key, line));
            }
            b"frame" | b"line" => envelope.noise = true,
            key => envelope.take(reader, key, line),
        });
        if !is_object || reader.finish().is_some() {
            return unreadable(line);
        }
        let at = envelope.at.or_else(|| Time::from_number(envelope.params.number(Field::AtMillis)?));
        let method = envelope.method.map(|span| line.word(span));
        let id = envelope.id.map(|id| request_key(&line.json(id)));
        let fate = match method {
            Some(method) => self.call(method, id, &envelope, out),
            None => self.answer(id, &envelope, line, out),
        };
        match fate {
            Some(fate) => Reading { fate, at },
            None => Reading { at, ..unknown(line, &String::from_utf8_lossy(method.unwrap_or_default())) },
        }
    }
}

impl Envelope {
    fn new(line: &Line) -> Envelope {
        let params = Fields::new(line);
        Envelope {
            method: None,
            id: None,
            params,
            result: None,
            error: None,
            at: None,
            client: false,
            noise: false,
        }
    }

    fn take(&mut self, reader: &mut Reader<'_>, key: &[u8], line: &Line) {
        match key {
            b"method" => self.method = reader.text(),
            b"id" => self.id = Some(reader.raw()),
            b"params" => {
                self.params.read(reader);
            }
            b"result" => {
                let mut result = Fields::new(line);
                result.read(reader);
                self.result = Some(result);
            }
            b"error" => self.error = Some(reader.raw()),
            b"emittedAtMs" => self.at = reader.number().and_then(Time::from_number),
            _ => {}
        }
    }
}

impl CodexApp {
    /// A request or a notification, by its method.
    fn call(
        &mut self,
        method: &[u8],
        id: Option<Key>,
        envelope: &Envelope,
        out: &mut Vec<Event>,
    ) -> Option<Fate> {
        let params = &envelope.params;
        let hidden = |rule| Some(Fate::Hidden(rule));
        match method {
            b"turn/start" | b"turn/steer" => Some(self.client_prompt(method == b"turn/steer", params, out)),
            _ if envelope.client => hidden(Rule::Protocol),
            b"turn/started" => Some(self.turn_started(params, out)),
            b"turn/completed" => Some(self.turn_completed(params, out)),
            b"thread/started" => {
                if let Some(thread) = params.sub(Field::Thread) {
                    self.thread(&thread, out);
                }
                hidden(Rule::Init)
            }
            b"thread/tokenUsage/updated" => Some(self.token_usage(params, out)),
            b"thread/name/updated" => {
                let text = params.text(Field::ThreadName).or_else(|| params.text(Field::Name));
                out.extend(
                    text.map(|text| Event::Meta { meta: Meta::Title { text, rank: TitleRank::Agent } }),
                );
                hidden(Rule::Bookkeeping)
            }
            b"thread/compacted" if self.compacted => hidden(Rule::Repeat),
            b"thread/compacted" => {
                let kind = NoticeKind::Compaction { before: None, after: None };
                Some(self.notice(kind, Text::default(), params, out))
            }
            // The changes to files are shown with the calls that made them.
            b"turn/diff/updated" | b"rawResponseItem/completed" => hidden(Rule::Repeat),
            b"serverRequest/resolved" => {
                self.withdraw(&request_key(&params.json(Field::RequestId)), out);
                hidden(Rule::Protocol)
            }
            b"error" | b"warning" | b"guardianWarning" | b"configWarning" | b"model/rerouted" => {
                Some(self.remark(method, params, out))
            }
            b"mcpServer/startupStatus/updated" if params.word(Field::Status) == b"failed" => {
                let (name, error) = (params.text(Field::Name), params.text(Field::Error));
                let text = format!("{}: {}", name.unwrap_or_default(), error.unwrap_or_default());
                Some(self.notice(NoticeKind::Warning, text.into(), params, out))
            }
            _ => self.item_call(method, id, params, out).or_else(|| quiet(method).map(Fate::Hidden)),
        }
    }

    /// An answer: to the client, of which only facts about the thread matter, or by the client to a request.
    fn answer(
        &mut self,
        id: Option<Key>,
        envelope: &Envelope,
        line: &Line,
        out: &mut Vec<Event>,
    ) -> Option<Fate> {
        if envelope.noise {
            return Some(Fate::Hidden(Rule::Protocol));
        }
        let id = id?;
        if let Some(error) =
            envelope.error.map(|error| line.json(error)).filter(|error| error.kind() == Kind::Object)
        {
            let text = error.field_text("message").unwrap_or_default();
            return Some(self.notice(NoticeKind::Error, text, &envelope.params, out));
        }
        let result = envelope.result.as_ref()?;
        if envelope.client || result.has(Field::Decision) {
            self.withdraw(&id, out);
        } else if let Some(thread) = result.sub(Field::Thread) {
            let facts = [result.key(Field::Model).map(|name| Meta::Model { name })];
            self.thread(&thread, out);
            out.extend(facts.into_iter().flatten().map(|meta| Event::Meta { meta }));
        }
        Some(Fate::Hidden(Rule::Protocol))
    }

    /// What is said of a thread that was started for a person.
    fn thread(&mut self, thread: &Fields, out: &mut Vec<Event>) {
        let Some(id) = thread.key(Field::Id) else { return };
        if thread.has(Field::Parent) || !self.threads.own.insert(id.clone()) {
            return;
        }
        let metas = [
            Some(Meta::Id { id }),
            thread.key(Field::ForkedFrom).map(|id| Meta::Parent { id }),
            thread.key(Field::Model).map(|name| Meta::Model { name }),
            thread.text(Field::Cwd).map(|path| Meta::Cwd { path }),
            thread.key(Field::Version).map(|version| Meta::Version { version }),
            thread.json(Field::Git).field_text("branch").map(|name| Meta::Branch { name }),
            thread.text(Field::Name).map(|text| Meta::Title { text, rank: TitleRank::Agent }),
        ];
        out.extend(metas.into_iter().flatten().map(|meta| Event::Meta { meta }));
    }

    fn turn_started(&mut self, params: &Fields, out: &mut Vec<Event>) -> Fate {
        if self.under(params).is_none() {
            self.threads.running.extend(params.key(Field::ThreadId).map(|thread| (thread, false)));
            out.push(Event::Turn { turn: Turn::Start });
        }
        Fate::Hidden(Rule::Step)
    }

    fn turn_completed(&mut self, params: &Fields, out: &mut Vec<Event>) -> Fate {
        let turn = params.sub(Field::Turn);
        let status = turn.as_ref().map_or(&b""[..], |turn| turn.word(Field::Status));
        let error = turn.as_ref().and_then(|turn| turn.json(Field::Error).field_text("message"));
        let repeated = error.is_some() && error == self.error.take();
        let thread = params.key(Field::ThreadId);
        if status != b"interrupted" {
            self.abandon(&thread, out);
        }
        if self.under(params).is_some() {
            let error = error.filter(|_| status == b"failed" && !repeated);
            let fate = error.map(|error| self.notice(NoticeKind::Error, error, params, out));
            return fate.unwrap_or(Fate::Hidden(Rule::Step));
        }
        self.streaming.retain(|(writer, _)| *writer != thread);
        thread.map(|thread| self.threads.running.remove(&thread));
        let (turn, fate) = match status {
            b"failed" => (Turn::Failed { error: error.filter(|_| !repeated) }, Fate::Shown),
            b"interrupted" => (Turn::Interrupted { reason: "interrupted".into() }, Fate::Shown),
            _ => (Turn::Done, Fate::Hidden(Rule::Step)),
        };
        out.push(Event::Turn { turn });
        fate
    }

    /// The tokens of the thread; a subagent counts its own.
    fn token_usage(&mut self, params: &Fields, out: &mut Vec<Event>) -> Fate {
        if self.under(params).is_none() {
            let usage = params.json(Field::Usage);
            usage::window(usage.get("modelContextWindow").and_then(|n| n.number()), &mut self.window, out);
            if let Some(total) = usage.get("total") {
                usage::totals(&total, &usage.get("last").unwrap_or_default(), out);
            }
        }
        Fate::Hidden(Rule::Usage)
    }

    fn remark(&mut self, method: &[u8], params: &Fields, out: &mut Vec<Event>) -> Fate {
        let error = params.json(Field::Error);
        let message = error.field_text("message").or_else(|| params.text(Field::Message));
        let message = message.or_else(|| params.text(Field::Summary)).unwrap_or_default();
        let kind = match method {
            b"error" if params.bool(Field::WillRetry) == Some(true) => NoticeKind::Retry,
            b"error" => NoticeKind::Error,
            b"model/rerouted" => NoticeKind::Info,
            _ => NoticeKind::Warning,
        };
        if kind == NoticeKind::Retry {
            self.abandon(&params.key(Field::ThreadId), out);
        }
        let details = error.field_text("additionalDetails").or_else(|| params.text(Field::Details));
        self.error = Some(message.clone());
        // `codex exec` prints the two as one, in this form.
        let text = match details.filter(|details| !details.is_blank()) {
            Some(details) => format!("{message} ({details})").into(),
            None => message,
        };
        self.notice(kind, text, params, out)
    }

    /// What the client sends as a person's words. The server repeats it as an item.
    fn client_prompt(&mut self, steer: bool, params: &Fields, out: &mut Vec<Event>) -> Fate {
        let said = prompt::read(&params.json(Field::Input), Author::Person);
        let Some(said) = said else { return Fate::Hidden(Rule::Protocol) };
        self.prompt(Prompt { steered: steer, ..said }, Source::Client, None, params, out)
    }

    fn prompt(
        &mut self,
        mut prompt: Prompt,
        source: Source,
        id: Option<Key>,
        params: &Fields,
        out: &mut Vec<Event>,
    ) -> Fate {
        let key = self.key(id);
        if self.mirror.repeats(Voice::Prompt, source, &prompt.text.as_str(), &key).is_some() {
            return Fate::Hidden(Rule::Repeat);
        }
        let thread = params.key(Field::ThreadId);
        if let Some(prompted) = thread.and_then(|thread| self.threads.running.get_mut(&thread)) {
            prompt.steered |= std::mem::replace(prompted, true);
        }
        let under = self.under(params);
        out.push(Event::Put { key, under, message: None, block: Block::Prompt(prompt) });
        Fate::Shown
    }

    /// What a thread was writing will not be completed: a retry writes it anew.
    fn abandon(&mut self, thread: &Option<Key>, out: &mut Vec<Event>) {
        let cut = self.streaming.extract_if(.., |(writer, _)| writer == thread);
        out.extend(cut.map(|(_, key)| Event::End { key, end: End::Interrupted }));
    }

    fn notice(&mut self, kind: NoticeKind, text: Text, params: &Fields, out: &mut Vec<Event>) -> Fate {
        let under = self.under(params);
        out.push(notice(self.key(None), under, kind, text));
        Fate::Shown
    }

    fn withdraw(&mut self, request: &Key, out: &mut Vec<Event>) {
        if let Some(key) = self.asks.remove(request) {
            out.push(Event::Ask { key, ask: None });
        }
    }

    /// The call under which the thread of `params` works.
    fn under(&mut self, params: &Fields) -> Option<Key> {
        self.threads.under(params.key(Field::ThreadId)?)
    }

    /// The item's own id, or a name by its number.
    fn key(&mut self, id: Option<Key>) -> Key {
        id.unwrap_or_else(|| {
            self.keys = self.keys.saturating_add(1);
            format!("n{}", self.keys).into()
        })
    }
}

impl Threads {
    /// A thread that nobody started belongs to the call that is starting one.
    fn under(&mut self, thread: Key) -> Option<Key> {
        if let Some(call) = self.calls.get(&thread) {
            return Some(call.clone());
        }
        if self.own.contains(&thread) {
            return None;
        }
        match self.starting.pop_front() {
            Some(call) => {
                self.calls.insert(thread, call.clone());
                Some(call)
            }
            None => {
                self.own.insert(thread);
                None
            }
        }
    }

    /// The call has named the threads it started.
    fn started(&mut self, call: &Key, threads: &Json) {
        for thread in threads.items().iter().filter_map(|thread| thread.text()) {
            let thread = Key::from(thread.as_str());
            self.own.remove(&thread);
            self.calls.entry(thread).or_insert_with(|| call.clone());
            self.starting.retain(|starting| starting != call);
        }
    }
}

/// Methods that carry no conversation.
fn quiet(method: &[u8]) -> Option<Rule> {
    const STATUS: [&[u8]; 17] = [
        b"account/",
        b"app/",
        b"command/",
        b"deprecationNotice",
        b"fs/",
        b"fuzzyFileSearch/",
        b"hook/",
        b"item/autoApprovalReview/",
        b"mcpServer/",
        b"model/",
        b"process/",
        b"project/",
        b"remoteControl/",
        b"skills/",
        b"thread/",
        b"threadSection/",
        b"windows",
    ];
    const PROTOCOL: [&[u8]; 5] =
        [b"initialize", b"turn/interrupt", b"review/start", b"config/", b"item/tool/call"];
    if PROTOCOL.iter().any(|start| method.starts_with(start)) {
        return Some(Rule::Protocol);
    }
    STATUS.iter().any(|start| method.starts_with(start)).then_some(Rule::Status)
}

/// A request's id, which is a number or a string: `0` is one.
fn request_key(id: &Json) -> Key {
    id.text().map_or_else(|| id.lossy().into(), |text| text.as_str().into())
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let (mut method, mut answer, mut id, mut versioned) = (None, false, false, false);
    let mut reader = Reader::new(line.bytes());
    if reader.kind() != Kind::Object {
        return Claim::No;
    }
    let mut field = |reader: &mut Reader<'_>, key: &[u8]| match key {
        b"method" => method = reader.text(),
        b"result" | b"error" => answer = true,
        b"id" => id = true,
        b"jsonrpc" => versioned = true,
        _ => {}
    };
    reader.object(|reader, key| match key {
        b"frame" | b"line" if reader.kind() == Kind::Object => {
            reader.object(&mut field);
        }
        key => field(reader, key),
    });
    let starts = [
        &b"item/"[..],
        b"turn/",
        b"thread/",
        b"serverRequest/",
        b"remoteControl/",
        b"mcpServer/",
        b"account/",
    ];
    let words = [&b"configWarning"[..], b"deprecationNotice", b"execCommandApproval", b"applyPatchApproval"];
    match method.map(|span| line.word(span)) {
        Some(method) if starts.iter().any(|start| method.starts_with(start)) || words.contains(&method) => {
            Claim::Yes
        }
        // Other protocols say the same with their version, which this one leaves out.
        Some(b"initialize" | b"initialized" | b"error" | b"warning") if !versioned => Claim::Maybe,
        None if id && answer && !versioned => Claim::Maybe,
        _ => Claim::No,
    }
}
