//! cdev: pages of a session's messages, single messages, and the agent's live events as JSON-RPC notifications.
//! One line may hold many messages. It does not read cdev's own screens: files, git, pairing.

use parlor_model::Key;
use parlor_model::block::{Block, Notice, NoticeKind, Unknown};
use parlor_model::event::{Ask, Event, Fate, Meta, Reading, Turn};
use parlor_model::json::{Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::{Output, Tool};

use crate::blocks::{Content, Outcome, Place, is_continuation, is_stop, only_caveat, only_text};
use crate::decoder::unknown;
use crate::{Claim, Dialect};

mod record;
#[cfg(test)]
mod tests;

use record::{Envelope, Record};

/// Reads cdev's lines.
#[derive(Debug, Default)]
pub(crate) struct Cdev {
    /// Names what has no name of its own.
    count: u64,
    idle: bool,
    session: Option<Key>,
    model: Option<Key>,
    branch: Option<Key>,
    /// A compaction that still waits for its summary.
    boundary: Option<Key>,
}

impl Dialect for Cdev {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let mut reader = Reader::new(line.bytes());
        let mut envelope = Envelope::default();
        let object = reader.object(|reader, key| envelope.take(reader, line, key));
        if !object || reader.finish().is_some() {
            return unknown(line, "");
        }
        let at = envelope.record.at;
        match (envelope.name.map(|span| line.key(span)), envelope.page) {
            (Some(name), _) => self.live(line, &name, envelope.record, out),
            (None, Some(page)) => self.page(page, out),
            (None, None) if envelope.answer => Reading::hidden(Rule::Protocol, at),
            // Claude Code's own lines look the same, but for the row.
            (None, None) if !envelope.record.has_row() => {
                unknown(line, envelope.record.kind.as_deref().unwrap_or_default())
            }
            (None, None) => self.record(line, envelope.record, out),
        }
    }
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let mut reader = Reader::new(line.bytes());
    let (mut method, mut event, mut payload, mut page, mut row) = (None, None, false, 0, 0);
    reader.object(|reader, key| match key {
        b"method" => method = reader.text(),
        b"event" => event = reader.text(),
        b"payload" => payload = true,
        b"result" => {
            reader.object(|reader, key| {
                page += u32::from(is_page(reader, key));
            });
        }
        b"id" => row += u32::from(reader.kind() == Kind::Number),
        b"session_id" | b"message" => row += 1,
        b"git_branch" | b"is_context_compaction" => row += 2,
        _ => page += u32::from(is_page(reader, key)),
    });
    let known = |span: Option<Span>| span.is_some_and(|span| rule(event_name(line.word(span))).is_some());
    let live = method.is_some_and(|span| line.word(span).starts_with(b"event/")) && known(method);
    if live || (payload && known(event)) || page >= 2 || row >= 3 { Claim::Yes } else { Claim::No }
}

/// True for the keys of a page of messages: `hasMore` is another app's.
fn is_page(reader: &mut Reader<'_>, key: &[u8]) -> bool {
    match key {
        b"messages" | b"elements" => reader.kind() == Kind::Array,
        b"has_more" | b"query_time_ms" | b"pagination" => true,
        _ => false,
    }
}

/// What happens with a live event.
#[derive(Clone, Copy)]
enum Live {
    Message,
    Status,
    Question,
    Log,
    Diff,
    Interrupt,
    Info,
    Failure,
    Quiet(Rule),
}

fn rule(name: &[u8]) -> Option<Live> {
    Some(match name {
        b"claude_message" => Live::Message,
        b"claude_status" => Live::Status,
        b"claude_permission" | b"claude_waiting" => Live::Question,
        b"claude_log" => Live::Log,
        b"claude_session_info" => Live::Info,
        b"git_diff" => Live::Diff,
        b"interrupt" | b"interrupted" => Live::Interrupt,
        b"error" => Live::Failure,
        b"heartbeat" => Live::Quiet(Rule::Protocol),
        b"file_changed" | b"git_status_changed" | b"git_operation_completed" => {
            Live::Quiet(Rule::Bookkeeping)
        }
        b"session_start" | b"session_end" | b"status_response" | b"file_content" => {
            Live::Quiet(Rule::Bookkeeping)
        }
        // The terminal's own picture of what the messages say.
        b"pty_output" | b"pty_state" | b"pty_spinner" | b"pty_permission" => Live::Quiet(Rule::Repeat),
        _ => return None,
    })
}

/// A notification's method is the event's name after `event/`.
fn event_name(method: &[u8]) -> &[u8] {
    method.strip_prefix(b"event/").unwrap_or(method)
}

impl Cdev {
    fn live(&mut self, line: &Line, name: &str, record: Record, out: &mut Vec<Event>) -> Reading {
        let name = event_name(name.as_bytes());
        let Some(live) = rule(name) else { return unknown(line, &String::from_utf8_lossy(name)) };
        let at = record.at;
        match live {
            Live::Message => self.record(line, record, out),
            Live::Status => self.status(record, out),
            Live::Question => self.question(record, out),
            Live::Log => self.log(record, out),
            Live::Info => {
                self.facts(&record, out);
                out.extend(record.version.map(|version| Event::Meta { meta: Meta::Version { version } }));
                Reading::hidden(Rule::Init, at)
            }
            Live::Diff => {
                let text = record.diff.filter(|diff| !diff.is_empty()).or(record.file).unwrap_or_default();
                self.notice(NoticeKind::Diff, text, at, out)
            }
            Live::Interrupt => {
                let reason = record.reason.unwrap_or(Key::new_static("interrupt"));
                out.push(Event::Turn { turn: Turn::Interrupted { reason } });
                self.idle = true;
                Reading::shown(at)
            }
            Live::Failure => {
                let text = record.error.or(record.words).unwrap_or_default();
                self.notice(NoticeKind::Error, text, at, out)
            }
            Live::Quiet(rule) => Reading::hidden(rule, at),
        }
    }

    fn status(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let was_idle = self.idle;
        let turn = match record.state.as_deref() {
            Some("running") => Turn::Start,
            Some("error") => Turn::Failed { error: record.error },
            Some("idle" | "stopped") if was_idle => return Reading::hidden(Rule::SameIdle, record.at),
            Some("idle" | "stopped") => Turn::Done,
            _ => return Reading::hidden(Rule::Status, record.at),
        };
        self.idle = turn != Turn::Start;
        let failed = matches!(turn, Turn::Failed { .. });
        out.push(Event::Turn { turn });
        if failed { Reading::shown(record.at) } else { Reading::hidden(Rule::Status, record.at) }
    }

    /// A call that waits for a person; the call itself may not have been told yet.
    fn question(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let Some(call) = record.call else { return Reading::hidden(Rule::Status, record.at) };
        let name = record.tool.unwrap_or_default();
        out.push(Event::put(call.clone(), Block::Tool(Box::new(Tool::call(name, record.input)))));
        out.push(Event::Ask {
            key: call.clone(),
            ask: Some(Ask { id: call, reason: record.description, options: Vec::new() }),
        });
        Reading::shown(record.at)
    }

    /// The agent's raw output: JSON of it comes again as messages, the rest is told nowhere else.
    fn log(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let text = record.log.unwrap_or_default();
        if record.parsed || text.is_blank() || text.starts_with("{") {
            return Reading::hidden(Rule::Repeat, record.at);
        }
        let kind =
            if record.stream.as_deref() == Some("stderr") { NoticeKind::Warning } else { NoticeKind::Info };
        self.notice(kind, text, record.at, out)
    }

    /// A page lists the newest message first unless it was asked not to: the row numbers tell.
    fn page(&mut self, mut records: Vec<Record>, out: &mut Vec<Event>) -> Reading {
        let rows: Vec<Option<i64>> = records.iter().map(|record| record.row).collect();
        if rows.len() > 1 && rows.windows(2).all(|pair| matches!(pair, [Some(a), Some(b)] if a > b)) {
            records.reverse();
        }
        let mut whole = Reading::hidden(Rule::Protocol, None);
        for (index, record) in records.into_iter().enumerate() {
            let reading = match record.kind.as_deref() {
                _ if record.is_element => self.element(record, out),
                Some("user" | "assistant" | "system") => self.message(record, out),
                kind => {
                    let kind = Key::from(kind.unwrap_or("untyped"));
                    let place = Place { key: self.name(&record), ..Place::default() };
                    out.push(place.put(0, Block::Unknown(Unknown { kind, raw: record.raw })));
                    Reading::shown(record.at)
                }
            };
            let at = whole.at.or(reading.at);
            if index == 0 || reading.fate == Fate::Shown {
                whole = reading;
            }
            whole.at = at;
        }
        whole
    }

    fn record(&mut self, line: &Line, record: Record, out: &mut Vec<Event>) -> Reading {
        match record.kind.as_deref() {
            Some("user" | "assistant" | "system") if record.has_content => self.message(record, out),
            Some("result") => {
                out.push(Event::Turn { turn: Turn::Done });
                self.idle = true;
                Reading::hidden(Rule::Status, record.at)
            }
            kind => unknown(line, kind.unwrap_or_default()),
        }
    }

    fn message(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        self.facts(&record, out);
        let at = record.at;
        let place = Place { key: self.name(&record), ..Place::default() };
        let text = only_text(&record.contents);
        if record.is_compaction || text.is_some_and(is_continuation) {
            let text = text.cloned().unwrap_or_else(|| joined(&record.contents));
            // The boundary has no words; the summary that follows it gives it its own.
            let known = self.boundary.take().filter(|_| !text.is_empty());
            let key = known.unwrap_or_else(|| format!("{}/0", place.key).into());
            self.boundary = text.is_empty().then(|| key.clone());
            let kind = NoticeKind::Compaction { before: None, after: None };
            out.push(place.put_as(key, Block::Notice(Notice { kind, text })));
            return Reading::shown(at);
        }
        let person = record.role.as_deref().or(record.kind.as_deref()) != Some("assistant");
        if person && text.is_some_and(is_stop) {
            out.push(Event::Turn { turn: Turn::Interrupted { reason: Key::new_static("user_cancel") } });
            return Reading::shown(at);
        }
        if person && only_caveat(&record.contents) {
            return Reading::hidden(Rule::Caveat, at);
        }
        if person
            && record.is_meta
            && !record.contents.iter().any(|content| matches!(content, Content::Result(_)))
        {
            return Reading::hidden(Rule::Injected, at);
        }
        let ends = record.stop.as_deref() == Some("end_turn");
        let said = if person { place.ask(record.contents, out) } else { place.answer(record.contents, out) };
        if ends {
            out.push(Event::Turn { turn: Turn::Done });
        }
        self.idle = ends;
        if said { Reading::shown(at) } else { Reading::hidden(Rule::Step, at) }
    }

    /// One of the elements that cdev itself makes of a session.
    fn element(&mut self, record: Record, out: &mut Vec<Event>) -> Reading {
        let at = record.at;
        let place = Place { key: self.name(&record), ..Place::default() };
        let text = record.words.clone().unwrap_or_default();
        match record.kind.as_deref().unwrap_or_default() {
            "user_input" => _ = place.ask(vec![Content::Text(text)], out),
            "assistant_text" => _ = place.answer(vec![Content::Text(text)], out),
            "thinking" => _ = place.answer(vec![Content::Thinking { text, redacted: false }], out),
            "tool_call" => {
                let tool = Tool::call(record.tool.unwrap_or_default(), record.input);
                out.push(
                    place.put_as(record.tool_id.unwrap_or(place.key.clone()), Block::Tool(Box::new(tool))),
                );
            }
            "tool_result" => {
                let output = Output::text(text);
                let id = record.call.unwrap_or_else(|| place.key.clone());
                out.push(Outcome { id, name: record.tool, failed: record.failed, output }.event());
            }
            "context_compaction" => {
                let kind = NoticeKind::Compaction { before: None, after: None };
                out.push(place.put(0, Block::Notice(Notice { kind, text })));
            }
            "diff" => out.push(place.put(0, Block::Notice(Notice { kind: NoticeKind::Diff, text }))),
            "interrupted" => {
                out.push(Event::Turn { turn: Turn::Interrupted { reason: Key::new_static("interrupt") } });
            }
            kind => {
                out.push(place.put(0, Block::Unknown(Unknown { kind: kind.into(), raw: record.raw })));
            }
        }
        Reading::shown(at)
    }

    /// Says what changed about the session.
    fn facts(&mut self, record: &Record, out: &mut Vec<Event>) {
        let mut say = |known: &mut Option<Key>, now: &Option<Key>, meta: fn(Key) -> Meta| {
            if let Some(now) = now.clone().filter(|now| known.as_ref() != Some(now)) {
                out.push(Event::Meta { meta: meta(now.clone()) });
                *known = Some(now);
            }
        };
        say(&mut self.session, &record.session, |id| Meta::Id { id });
        say(&mut self.model, &record.model, |name| Meta::Model { name });
        say(&mut self.branch, &record.branch, |name| Meta::Branch { name: Text::from(name.as_str()) });
    }

    fn notice(&mut self, kind: NoticeKind, text: Text, at: Option<Time>, out: &mut Vec<Event>) -> Reading {
        self.count += 1;
        out.push(Event::notice(format!("n{}", self.count), Notice { kind, text }));
        Reading::shown(at)
    }

    /// A message's own name: its uuid, its row, or a number of ours.
    fn name(&mut self, record: &Record) -> Key {
        if let Some(uuid) = &record.uuid {
            return uuid.clone();
        }
        if let Some(row) = record.row {
            return format!("row{row}").into();
        }
        if let Some(id) = &record.id {
            return id.clone();
        }
        self.count += 1;
        format!("m{}", self.count).into()
    }
}

fn joined(contents: &[Content]) -> Text {
    let texts = contents.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n").into()
}
