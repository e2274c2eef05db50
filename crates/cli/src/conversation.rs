//! A session file becomes a conversation: its lines, and those of its subagents, through decoder and reducer.
//! It must not know how it is shown.

use bytes::Bytes;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_found::{DETECT_LINES, Source, Subagents};
use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::event::{Event, Fate, Reading};
use parlor_model::rule::Rule;
use parlor_model::session::{Counts, Session};
use parlor_model::usage::Usage;
use parlor_transcript::Transcript;

use crate::progress;

/// How many lines are read from the end at first, for each entry that is wanted: most lines are no entry of
/// their own.
const LINES_PER_ENTRY: usize = 4;

/// The least that is read from the end.
const LEAST_LINES: usize = 64;

/// How often a window grows only to find the calls of results that lost theirs: some have none.
const ORPHAN_TRIES: u32 = 2;

/// A conversation, or its end.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// What is known of the session.
    pub(crate) session: Session,
    /// Its entries.
    pub(crate) entries: Vec<Entry>,
}

impl Conversation {
    /// All of it.
    pub(crate) fn whole(source: &Source, format: Format) -> Conversation {
        let mut transcript = Transcript::default();
        let subagents = Subagents::of(source.path.as_deref(), format, &source.bytes);
        let bar = progress::bar(source.bytes.len() as u64);
        let lines = source.lines().inspect(|line| bar.inc(line.bytes().len() as u64)).enumerate();
        fold(&mut transcript, &mut Decoder::new(Some(format)), subagents, lines);
        bar.finish_and_clear();
        let (session, entries) = transcript.into_parts();
        Conversation { session, entries }
    }

    /// Only its last entries.
    pub(crate) fn end(mut self, wanted: usize) -> Conversation {
        self.entries.drain(..start_of_entries(&self.entries, wanted));
        self
    }

    /// Its last entries, read from the end: the rest of a large file is never touched. What only the whole
    /// could tell, such as sums, is left out.
    pub(crate) fn last(source: &Source, format: Format, wanted: usize) -> Conversation {
        let mut lines = wanted.saturating_mul(LINES_PER_ENTRY).max(LEAST_LINES);
        let mut tries = 0;
        loop {
            let start = start_of_last(&source.bytes, lines);
            let Conversation { mut session, mut entries } = Conversation::from_offset(source, format, start);
            let kept = start_of_entries(&entries, wanted);
            let enough = entries.iter().filter(|entry| entry.parent.is_none()).count() >= wanted;
            let orphans = entries[kept..].iter().any(is_orphan);
            if start == 0 || (enough && (!orphans || tries == ORPHAN_TRIES)) {
                entries.drain(..kept);
                if start > 0 {
                    (session.usage, session.counts) = (Usage::default(), Counts::default());
                    session.cost_usd = None;
                }
                return Conversation { session, entries };
            }
            tries += u32::from(enough);
            lines = lines.saturating_mul(4);
        }
    }

    /// What is said from `start` on, with the facts that stand in the first lines. Lines are numbered from
    /// there: counting those before would mean to read the whole file.
    fn from_offset(source: &Source, format: Format, start: usize) -> Conversation {
        let mut transcript = Transcript::default();
        let mut decoder = Decoder::new(Some(format));
        let mut events = Vec::new();
        let before = source.bytes.slice(..start);
        for line in Splitter::split(&before).take(DETECT_LINES) {
            let at = decoder.read(&line, &mut events).at;
            events.retain(|event| matches!(event, Event::Meta { .. }));
            transcript.fold(
                0,
                &line,
                &Reading { fate: Fate::Hidden(Rule::Bookkeeping), at },
                events.drain(..),
            );
        }
        let rest = source.bytes.slice(start..);
        let subagents = Subagents::of(source.path.as_deref(), format, &rest);
        fold(&mut transcript, &mut decoder, subagents, Splitter::split(&rest).enumerate());
        let (session, entries) = transcript.into_parts();
        Conversation { session, entries }
    }
}

/// Folds lines in order. A subagent's lines follow the call that started it.
fn fold(
    transcript: &mut Transcript,
    decoder: &mut Decoder,
    mut subagents: Subagents,
    lines: impl Iterator<Item = (usize, parlor_model::line::Line)>,
) {
    let mut events = Vec::new();
    for (seq, line) in lines {
        let reading = decoder.read(&line, &mut events);
        let calls = subagents.calls_in(&events);
        transcript.fold(seq as u64, &line, &reading, events.drain(..));
        subagents.tell_under(&calls, &mut |nested| {
            transcript.fold(nested.seq, &nested.line, &nested.reading, nested.events);
        });
    }
}

/// Where the last `lines` lines start.
fn start_of_last(bytes: &Bytes, lines: usize) -> usize {
    let content = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    lines
        .checked_sub(1)
        .and_then(|skipped| memchr::memrchr_iter(b'\n', content).nth(skipped))
        .map_or(0, |end| end + 1)
}

/// The last `lines` lines as they are.
pub(crate) fn last_lines(bytes: &Bytes, lines: usize) -> Bytes {
    match lines {
        0 => Bytes::new(),
        lines => bytes.slice(start_of_last(bytes, lines)..),
    }
}

/// Where the last `wanted` entries of the conversation itself start.
fn start_of_entries(entries: &[Entry], wanted: usize) -> usize {
    let own = entries.iter().enumerate().rev().filter(|(_, entry)| entry.parent.is_none());
    match wanted {
        0 => entries.len(),
        wanted => own.map(|(index, _)| index).take(wanted).last().unwrap_or(0),
    }
}

fn is_orphan(entry: &Entry) -> bool {
    matches!(&entry.block, Block::Tool(tool) if tool.orphan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_start_after_a_line_end() {
        for (text, lines, expected) in [
            ("a\nb\nc\n", 1, "c\n"),
            ("a\nb\nc", 1, "c"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\nb\nc\n", 3, "a\nb\nc\n"),
            ("a\nb\nc\n", 9, "a\nb\nc\n"),
            ("a\n\n", 1, "\n"),
            ("", 4, ""),
            ("a", 0, ""),
        ] {
            assert_eq!(last_lines(&Bytes::from_static(text.as_bytes()), lines), expected, "{text:?} {lines}");
        }
    }
}
