//! Chat completions of any OpenAI-compatible server: streamed chunks, whole answers, and the requests that led to
//! them. Where servers disagree about a field, every way that is known is read.

mod answer;
mod chunk;
mod request;

use std::collections::HashMap;

use parlor_model::Key;
use parlor_model::event::{Event, Fate, Meta, Reading, Turn};
use parlor_model::json::{Kind, Reader};
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::text::Text;

use self::answer::{Answer, Calls};
use self::chunk::Chunk;
pub(crate) use self::chunk::usage;
use self::request::Request;
use crate::decoder::unknown;
use crate::sse::Sse;
use crate::{Claim, Dialect};

/// Reads answers one after the other; what a call returned stands in the next request.
#[derive(Debug, Default)]
pub(crate) struct OpenaiChat {
    model: Option<Key>,
    names: HashMap<Key, u32>,
    calls: Calls,
    answer: Option<Answer>,
    request: Request,
}

impl Dialect for OpenaiChat {
    fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        match Sse::of(line) {
            Sse::Data(data) => self.data(line, &data, out),
            Sse::Error(data) => {
                let chunk = Chunk::read(&data);
                let error = chunk.and_then(|chunk| chunk.error);
                let error = error.unwrap_or_else(|| Text::plain(data.bytes().clone()));
                self.fail(error, out);
                Reading::shown(None)
            }
            Sse::Done => {
                if let Some(mut answer) = self.answer.take() {
                    answer.done(out);
                }
                Reading::hidden(Rule::Step, None)
            }
            Sse::Comment => Reading::hidden(Rule::Status, None),
            Sse::Field => Reading::hidden(Rule::Step, None),
            Sse::Other => unknown(line, ""),
        }
    }

    fn give_up(&mut self) -> Option<Key> {
        self.answer.take()?.first
    }
}

impl OpenaiChat {
    fn data(&mut self, line: &Line, data: &Line, out: &mut Vec<Event>) -> Reading {
        let Some(chunk) = Chunk::read(data) else {
            return match crate::decoder::damage(data) {
                Some(why) => Reading::damaged(why),
                None => unknown(line, ""),
            };
        };
        if let Some(messages) = chunk.messages {
            return self.request.read(&data.json(messages), &self.calls, out);
        }
        if !chunk.has_choices && chunk.error.is_none() {
            let kind = chunk.object.map(|object| data.key(object)).unwrap_or_default();
            return Reading { at: chunk.at, ..unknown(data, &kind) };
        }
        let events = out.len();
        if chunk.has_choices {
            self.choices(data, &chunk, out);
        }
        if let Some(error) = chunk.error.clone() {
            self.fail(error, out);
        }
        let said = out.get(events..).unwrap_or_default();
        let visible = |event: &Event| {
            matches!(
                event,
                Event::Put { .. } | Event::Grow { .. } | Event::Turn { turn: Turn::Failed { .. } }
            )
        };
        let fate = if said.iter().any(visible) {
            Fate::Shown
        } else if chunk.usage.is_some() {
            Fate::Hidden(Rule::Usage)
        } else {
            Fate::Hidden(Rule::Step)
        };
        Reading { fate, at: chunk.at }
    }

    fn choices(&mut self, data: &Line, chunk: &Chunk, out: &mut Vec<Event>) {
        let id = chunk.id.map(|id| data.key(id)).filter(|id| !id.is_empty());
        let is_other = |answer: &Answer| id.is_some() && answer.id.is_some() && answer.id != id;
        if self.answer.as_ref().is_some_and(is_other) {
            // Not every server writes `[DONE]`: another id is another answer.
            self.answer.take().into_iter().for_each(|mut answer| answer.done(out));
        }
        let model = chunk.model.map(|model| data.key(model)).filter(|model| !model.is_empty());
        if model.is_some() && model != self.model {
            self.model = model.clone();
            out.extend(model.map(|name| Event::Meta { meta: Meta::Model { name } }));
        }
        let names = &mut self.names;
        let request = &mut self.request;
        let answer = self.answer.get_or_insert_with(|| {
            let base = id.clone().unwrap_or_else(|| "answer".into());
            let times = names.entry(base.clone()).or_default();
            *times = times.saturating_add(1);
            let key = if *times == 1 { base } else { format!("{base}~{times}").into() };
            request.answered();
            out.push(Event::Turn { turn: Turn::Start });
            Answer::new(key)
        });
        answer.id = answer.id.take().or(id);
        for choice in &chunk.choices {
            answer.choice(data, choice, &mut self.calls, out);
        }
        if let Some(usage) = chunk.usage {
            out.push(Event::Meta { meta: Meta::Context { tokens: usage.context() } });
            out.push(Event::Usage { message: answer.key.clone(), usage });
        }
        if chunk.is_whole {
            self.answer.take().into_iter().for_each(|mut answer| answer.done(out));
        }
    }

    fn fail(&mut self, error: Text, out: &mut Vec<Event>) {
        match &mut self.answer {
            Some(answer) => answer.fail(Some(error), out),
            None => out.push(Event::Turn { turn: Turn::Failed { error: Some(error) } }),
        }
    }
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(line: &Line) -> Claim {
    let data = match Sse::of(line) {
        Sse::Data(data) => data,
        Sse::Error(_) | Sse::Done => return Claim::Maybe,
        Sse::Comment | Sse::Field | Sse::Other => return Claim::No,
    };
    let (mut choices, mut kind, mut messages, mut named, mut error) = (false, false, false, false, false);
    let mut object = None;
    Reader::new(data.bytes()).object(|reader, key| match key {
        b"object" => object = reader.text(),
        b"choices" => choices = reader.kind() == Kind::Array,
        b"messages" => messages = reader.kind() == Kind::Array,
        b"error" => error = reader.kind() == Kind::Object,
        b"model" | b"created" | b"id" => named = true,
        b"type" | b"jsonrpc" | b"sessionId" => kind = true,
        _ => {}
    });
    match object.map(|object| data.word(object)) {
        Some(word) if word.starts_with(b"chat.completion") => Claim::Yes,
        _ if choices && named && !kind => Claim::Yes,
        _ if (messages && named || choices || error) && !kind => Claim::Maybe,
        _ => Claim::No,
    }
}

#[cfg(test)]
mod tests;
