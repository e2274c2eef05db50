//! Small sessions of every format, the one way in which the suites read them, and the judges of what they become.
//! Reading asserts nothing itself.

use bytes::Bytes;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_model::entry::Entry;
use parlor_model::event::{Event, Fate, Reading};
use parlor_model::line::Line;
use parlor_transcript::Transcript;

pub mod markup;
pub mod screen;
pub mod sessions;
pub mod shared;
mod talk;

pub use shared::shared_files;
pub use talk::Talk;

/// What one line became.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its bytes.
    pub bytes: Bytes,
    /// Its fate and time.
    pub reading: Reading,
    /// What it said.
    pub events: Vec<Event>,
    /// The entries that it changed.
    pub touched: Vec<usize>,
}

/// A whole input, read and folded.
#[derive(Debug, Default)]
pub struct Whole {
    /// Line by line.
    pub steps: Vec<Step>,
    /// What came of it.
    pub transcript: Transcript,
}

impl Whole {
    /// Reads bytes that are all there.
    pub fn read(format: Option<Format>, bytes: &[u8]) -> Whole {
        Whole::of(format, Splitter::split(&Bytes::copy_from_slice(bytes)))
    }

    /// Reads bytes that arrive in pieces, cut at each of `cuts`.
    pub fn read_in_pieces(format: Option<Format>, bytes: &[u8], cuts: &[usize]) -> Whole {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut splitter = Splitter::default();
        let mut lines = Vec::new();
        for pair in cuts.windows(2) {
            splitter.push(&bytes[pair[0]..pair[1]], &mut lines);
        }
        lines.extend(splitter.finish());
        Whole::of(format, lines)
    }

    /// Reads lines.
    pub fn of(format: Option<Format>, lines: impl IntoIterator<Item = Line>) -> Whole {
        let mut decoder = Decoder::new(format);
        let mut whole = Whole::default();
        for line in lines {
            whole.step(&mut decoder, &line);
        }
        whole
    }

    /// Reads one more line.
    pub fn step(&mut self, decoder: &mut Decoder, line: &Line) {
        let mut events = Vec::new();
        let reading = decoder.read(line, &mut events);
        let touched = self.transcript.fold(self.steps.len() as u64, line, &reading, events.iter().cloned());
        self.steps.push(Step { bytes: line.bytes().clone(), reading, events, touched });
    }

    /// All entries.
    pub fn entries(&self) -> &[Entry] {
        self.transcript.entries()
    }

    /// The fates, line by line.
    pub fn fates(&self) -> Vec<&Fate> {
        self.steps.iter().map(|step| &step.reading.fate).collect()
    }
}
