//! What Pi's stream and Pi's session file share: messages, and the blocks they hold. It reads no envelopes.

mod message;
mod talk;

use parlor_model::event::{Event, Meta};
use parlor_model::json::{Reader, Span};
use parlor_model::line::Line;
use parlor_model::time::Time;

pub(crate) use message::{Item, Message, json_text};
pub(crate) use talk::{Opened, Talk, machine_prompt, summary};

/// The first line of a session file, which `--mode json` prints too.
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// The session's id.
    pub(crate) id: Option<Span>,
    /// The working directory.
    pub(crate) cwd: Option<Span>,
    /// The file this one was forked from.
    pub(crate) parent: Option<Span>,
    /// The model, which only the first version names here.
    pub(crate) model: Option<Span>,
    /// When it was written.
    pub(crate) at: Option<Time>,
}

impl Header {
    /// Takes one field of the line.
    pub(crate) fn field(&mut self, reader: &mut Reader<'_>, key: &[u8], line: &Line) {
        match key {
            b"id" => self.id = reader.text(),
            b"cwd" => self.cwd = reader.text(),
            b"parentSession" => self.parent = reader.text(),
            b"modelId" => self.model = reader.text(),
            b"timestamp" => self.at = Time::read(reader, line.bytes()),
            _ => {}
        }
    }

    /// Says what the header tells of the session.
    pub(crate) fn tell(&self, line: &Line, out: &mut Vec<Event>) {
        if let Some(id) = self.id {
            out.push(Event::Meta { meta: Meta::Id { id: line.key(id) } });
        }
        if let Some(cwd) = self.cwd {
            out.push(Event::Meta { meta: Meta::Cwd { path: line.text(cwd) } });
        }
        if let Some(parent) = self.parent {
            // The parent is named by its file, `<time>_<id>.jsonl`; forks name it by its id alone.
            let path = line.key(parent);
            let file = path.rsplit(['/', '\\']).next().unwrap_or(&path);
            let stem = file.strip_suffix(".jsonl").unwrap_or(file);
            let id = stem.split_once('_').map_or(stem, |(_, id)| id);
            out.push(Event::Meta { meta: Meta::Parent { id: id.into() } });
        }
    }
}

#[cfg(test)]
mod tests;
