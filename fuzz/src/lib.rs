//! What must hold for any bytes at all; each fuzz target is one of these functions. It must not be lenient: what is
//! asserted here is promised to readers.

use bytes::Bytes;
use parlor_dialect::{Decoder, Format, House, Splitter};
use parlor_model::block::{Block, Notice, NoticeKind, Reply, Thought};
use parlor_model::entry::Entry;
use parlor_model::line::Line;
use parlor_model::outline::Outline;
use parlor_model::record::Record;
use parlor_model::session::Session;
use parlor_model::tool::{FileChange, FilePatch, Output, Tool, ToolState};
use parlor_render::{Context, Html, Limits, Options, Paint, entry_html, export_markdown, page, plain};
use parlor_tests::{Whole, markup, screen};
use parlor_transcript::Transcript;
use pulldown_cmark::{Event, Parser};
use serde_json::json;

pub mod house;

/// Reads and folds lines of a format: every line has one fate, and the result depends on nothing but the lines.
pub fn dialect(format: Format, data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let lines: Vec<Line> = Splitter::split(&bytes).collect();
    let cut = choice(data, lines.len() + 1);
    let mut whole = Whole::default();
    let mut decoder = Decoder::new(format);
    let mut at_cut = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if index == cut {
            at_cut = whole.entries().to_vec();
        }
        whole.step(&mut decoder, line);
    }
    assert_eq!(whole.steps.len(), lines.len(), "one fate per line");
    for step in &whole.steps {
        assert!(step.touched.iter().all(|touched| *touched < whole.entries().len()));
    }
    check_ids(whole.entries());

    let again = Whole::read_in_pieces(Some(format), data, &[choice(data, data.len() + 1)]);
    assert_eq!(again.steps, whole.steps, "reading again, in pieces");
    assert_eq!(again.entries(), whole.entries());
    assert_eq!(again.transcript.session(), whole.transcript.session());
    if cut < lines.len() {
        let prefix = Whole::of(Some(format), lines[..cut].iter().cloned());
        assert_eq!(prefix.entries(), at_cut, "a prefix gives what the whole gave so far");
    }
}

/// Reads and folds the log of a session: two who read it agree after every record, what a record is said to touch is all
/// that it changes, and what comes of it can be shown.
pub fn house(data: &[u8]) {
    let records = house::records(data);
    let format = Format::ALL.get(choice(data, 2 * Format::ALL.len())).copied();
    let (mut one, mut other) = (Fold::new(format), Fold::new(format));
    let mut follower: Vec<Entry> = Vec::new();
    for record in &records {
        let touched = one.step(record);
        assert_eq!(other.step(record), touched, "record {}", record.seq);
        assert_eq!(one.transcript.session(), other.transcript.session(), "record {}", record.seq);
        let (entries, others) = (one.transcript.entries(), other.transcript.entries());
        for index in touched {
            assert_eq!(entries[index], others[index], "record {}", record.seq);
            follower.resize(follower.len().max(index + 1), entries[index].clone());
            follower[index] = entries[index].clone();
        }
    }
    let (session, entries) = (one.transcript.session(), one.transcript.entries());
    assert_eq!(follower, entries, "more changed than was touched");
    assert_eq!(other.transcript.entries(), entries);
    check_ids(entries);
    // One reader is enough here: showing takes far longer than reading, and other targets try both.
    let options = &options(data)[choice(data, 2)];
    markup::check_page(page::page(session, entries, options).as_str(), "");
    texts(session, entries, options, 20 + choice(data, 120));
}

/// One who reads a log.
struct Fold {
    house: House,
    transcript: Transcript,
}

impl Fold {
    fn new(format: Option<Format>) -> Fold {
        Fold { house: House::new(format), transcript: Transcript::default() }
    }

    /// Reads one more record; gives the entries that it touched.
    fn step(&mut self, record: &Record) -> Vec<usize> {
        let mut events = Vec::new();
        let (line, reading) = self.house.read(record, &mut events);
        self.transcript.fold(record.seq, &line, &reading, events)
    }
}

fn check_ids(entries: &[Entry]) {
    let mut ids: Vec<_> = entries.iter().map(|entry| &entry.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), entries.len(), "two entries have one id");
}

/// The page of a conversation is well-formed and holds only our own markup.
pub fn render_html(data: &[u8]) {
    let whole = recognised(data);
    for options in options(data) {
        let page = page::page(whole.transcript.session(), whole.entries(), &options);
        markup::check_page(page.as_str(), "");
    }
}

/// The conversation for terminals and files brings no control characters of its own.
pub fn terminal(data: &[u8]) {
    let whole = recognised(data);
    for options in options(data) {
        texts(whole.transcript.session(), whole.entries(), &options, 20 + choice(data, 120));
    }
}

/// Markdown, wherever prose is shown.
pub fn markdown(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    entries(
        data,
        vec![
            Block::Reply(Reply { text: (*text).into(), ..Reply::default() }),
            Block::Thought(Thought { text: (*text).into(), ..Thought::default() }),
        ],
    );
}

/// What a program wrote.
pub fn ansi(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let command = NoticeKind::Command { command: "!x".into() };
    entries(
        data,
        vec![
            call("Bash", json!({"command": "x"}), Output::text(&*text)),
            Block::Notice(Notice { kind: command, text: (*text).into() }),
        ],
    );
}

/// Changes to files: two texts with a NUL between them, and the same bytes as a patch.
pub fn diff(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (old, new) = text.split_once('\0').unwrap_or((&text, ""));
    let edit = json!({"file_path": "/w/a.rs", "old_string": old, "new_string": new});
    let patch = FilePatch::parse_unified("a.rs".into(), FileChange::Update, &text);
    entries(
        data,
        vec![
            call("Edit", edit.clone(), Output::default()),
            call("Edit", edit, Output { patches: vec![patch], ..Output::default() }),
            call("apply_patch", json!({"input": &*text}), Output::default()),
            call("Write", json!({"file_path": "/w/a.py", "content": &*text}), Output::default()),
            Block::Notice(Notice { kind: NoticeKind::Diff, text: (*text).into() }),
        ],
    );
}

/// Bytes read as the format they look like.
fn recognised(data: &[u8]) -> Whole {
    let bytes = Bytes::copy_from_slice(data);
    let first: Vec<Line> = Splitter::split(&bytes).take(16).collect();
    Whole::read(Format::detect(&first), data)
}

/// The usual reader, and one who sees everything of little.
fn options(data: &[u8]) -> [Options; 2] {
    let most = 1 + choice(data, 200);
    let limits = Limits {
        bytes: most,
        lines: 1 + most / 8,
        prose_bytes: most,
        image_bytes: most,
        items: 1 + most / 32,
    };
    [
        Options::default(),
        Options { thinking: true, file_contents: true, unfolded: true, limits, offset_s: 3600 },
    ]
}

fn call(name: &str, input: serde_json::Value, output: Output) -> Block {
    let output = Some(Box::new(output));
    Block::Tool(Box::new(Tool { state: ToolState::Done, output, ..Tool::call(name, input.into()) }))
}

/// Renders each block in every way.
fn entries(data: &[u8], blocks: Vec<Block>) {
    let placed = |(seq, block): (usize, Block)| Entry {
        id: format!("e{seq}").into(),
        parent: None,
        message: None,
        seq: seq as u64,
        at: None,
        ended: None,
        rev: 0,
        group: None,
        opens: true,
        overtaken: false,
        block,
    };
    let entries: Vec<Entry> = blocks.into_iter().enumerate().map(placed).collect();
    let session = Session::default();
    let outline = Outline::of(&entries);
    for options in options(data) {
        let context = Context { session: &session, entries: &entries, outline: &outline, options: &options };
        for index in 0..entries.len() {
            let mut html = Html::default();
            entry_html::entry(&context, index, &mut html);
            markup::check(html.as_str(), "");
        }
        texts(&session, &entries, &options, 20 + choice(data, 120));
    }
}

fn texts(session: &Session, entries: &[Entry], options: &Options, width: usize) {
    let coloured =
        parlor_render::terminal::transcript(session, entries, options, width, Paint { colour: true });
    let colourless =
        parlor_render::terminal::transcript(session, entries, options, width, Paint { colour: false });
    // A space under a background is worth keeping, but nobody reads one at the end of a line.
    let ends = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(ends(&screen::check_coloured(&coloured, "")), ends(&colourless), "colour changes the text");
    screen::check(&colourless, "");
    let export = export_markdown::transcript(session, entries, options);
    screen::check(&export, "");
    let html = |event| matches!(event, Event::Html(_) | Event::InlineHtml(_));
    assert!(!Parser::new(&export).any(html), "HTML in the export: {export}");
    screen::check(&plain::transcript(session, entries, options), "");
}

/// A number below `count` that depends on all of the input, so that the fuzzer need not spend bytes on it.
fn choice(data: &[u8], count: usize) -> usize {
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash >> 16) as usize % count.max(1)
}

#[cfg(test)]
mod tests {
    use parlor_tests::sessions;

    use super::*;

    #[test]
    fn logs_keep_their_promises() {
        let agents = Format::ALL.map(|format| (format.name(), sessions::lines(format)));
        for seed in house::seeds(&agents) {
            house(&seed);
        }
    }
}
