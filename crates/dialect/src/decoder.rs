//! One reader for a whole stream: it stays right when another agent's lines are mixed in.

use parlor_model::Key;
use parlor_model::event::{Event, Fate, Reading};
use parlor_model::json::{Kind, Reader};
use parlor_model::line::Line;

use crate::{Claim, Dialect, Format};

/// Reads lines of a format, and lines of other formats that got in between.
pub struct Decoder {
    format: Option<Format>,
    readers: Vec<(Format, Box<dyn Dialect>)>,
}

impl Decoder {
    /// A reader for `format`; without one, each line goes to the dialect that claims it.
    pub fn new(format: impl Into<Option<Format>>) -> Self {
        let format = format.into();
        let readers = format.map(|format| (format, format.dialect())).into_iter().collect();
        Decoder { format, readers }
    }

    /// The format of the stream.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// Reads one line. A line that the stream's own dialect does not know goes to the one that claims it.
    pub fn read(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        if line.is_blank() {
            return Reading { fate: Fate::Blank, at: None };
        }
        self.route(line, out)
    }

    /// Reads only what a list of sessions needs of a line: see [`Dialect::skim`].
    pub fn skim(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        match self.readers.first_mut() {
            Some((_, dialect)) if !line.is_blank() => dialect.skim(line, out),
            _ => self.read(line, out),
        }
    }

    /// Gives up what is being said: see [`Dialect::give_up`].
    pub fn give_up(&mut self) -> Option<Key> {
        self.readers.first_mut().and_then(|(_, dialect)| dialect.give_up())
    }

    fn route(&mut self, line: &Line, out: &mut Vec<Event>) -> Reading {
        let reading = match self.format {
            Some(_) => self.readers[0].1.read(line, out),
            None => unknown(line, ""),
        };
        let Fate::Unknown(_) = reading.fate else { return reading };
        let claims = |format: &Format| Some(*format) != self.format && format.claim(line) == Claim::Yes;
        let Some(other) = Format::ALL.into_iter().find(claims) else { return reading };
        let known = self.readers.iter().position(|(format, _)| *format == other);
        let index = known.unwrap_or_else(|| {
            self.readers.push((other, other.dialect()));
            self.readers.len() - 1
        });
        let events = out.len();
        let second = self.readers[index].1.read(line, out);
        if let Fate::Unknown(_) = second.fate {
            out.truncate(events);
            return reading;
        }
        second
    }
}

/// The fate of a line that no rule of a dialect covers: damaged, plain text, or unknown by its kind.
pub(crate) fn unknown(line: &Line, kind: &str) -> Reading {
    match damage(line) {
        Some(why) => Reading::damaged(why),
        None if kind.is_empty() => Reading::unknown(if starts_json(line) { "untyped" } else { "text" }, None),
        None => Reading::unknown(kind, None),
    }
}

/// Why a line is damaged, or `None` when it is sound JSON. Plain text is not damaged: streams carry warnings and
/// banners.
pub(crate) fn damage(line: &Line) -> Option<&'static str> {
    if !starts_json(line) {
        return None;
    }
    let bytes = line.bytes();
    let mut reader = Reader::new(bytes);
    reader.skip();
    reader.finish().map(|at| if at >= bytes.len() { "the line is cut" } else { "not valid JSON" })
}

fn starts_json(line: &Line) -> bool {
    matches!(Reader::new(line.bytes()).kind(), Kind::Object | Kind::Array)
}
