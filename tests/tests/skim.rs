//! A list says the same of a session as the session itself: skimming leaves out work, not facts.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a suite fails by panicking and says what it saw"
)]

use bytes::Bytes;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_model::block::{Author, Block};
use parlor_model::event::{Event, Fate, Reading};
use parlor_model::rule::Rule;
use parlor_model::session::Session;
use parlor_tests::{sessions, shared_files};
use parlor_transcript::Transcript;

#[test]
fn skimming_tells_a_list_the_same_as_reading() {
    for format in Format::ALL {
        compare(format.name(), format, &Bytes::from(sessions::file(format)));
    }
    let mut compared = 0;
    for path in shared_files(&["recordings/claude", "corpus/claude_session"]) {
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        let lines: Vec<_> = Splitter::split(&bytes).filter(|line| !line.is_blank()).take(20).collect();
        if let Some(format) = Format::detect(&lines) {
            compare(&path.display().to_string(), format, &bytes);
            compared += 1;
        }
    }
    println!("{compared} files compared; without `../shared` there are none");
}

fn compare(name: &str, format: Format, bytes: &Bytes) {
    let whole = list(bytes, format, Decoder::read);
    let skimmed = list(bytes, format, Decoder::skim);
    assert_eq!(skimmed, whole, "{name}");
}

type Read = fn(&mut Decoder, &parlor_model::line::Line, &mut Vec<Event>) -> Reading;

/// What a list shows of a session, without the times that only results carry.
fn list(bytes: &Bytes, format: Format, read: Read) -> Session {
    let mut decoder = Decoder::new(format);
    let mut transcript = Transcript::default();
    let mut events = Vec::new();
    for (seq, line) in (0..).zip(Splitter::split(bytes)) {
        read(&mut decoder, &line, &mut events);
        events.retain(|event| match event {
            Event::Meta { .. } | Event::Usage { .. } => true,
            Event::Put { under: None, block: Block::Prompt(prompt), .. } => prompt.author == Author::Person,
            _ => false,
        });
        let reading = Reading { fate: Fate::Hidden(Rule::Bookkeeping), at: None };
        transcript.fold(seq, &line, &reading, events.drain(..));
    }
    transcript.session().clone()
}
