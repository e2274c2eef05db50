//! Decoding and folding a session, against a bare typed parse with the fastest JSON crate.
#![allow(clippy::print_stdout, missing_docs, dead_code)]

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use parlor_bench::{claude_session, cpu_time};
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_transcript::Transcript;
use serde::Deserialize;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Reads a session, and counts what it found.
type Work = fn(&Bytes) -> usize;

fn main() {
    let bytes = Bytes::from(claude_session(100_000_000, 7));
    let lines = Splitter::split(&bytes).count();
    println!("decode: {:.1} MB, {lines} lines", bytes.len() as f64 / 1e6);
    let work: [(&str, Work); 4] = [
        ("sonic-rs, typed", typed),
        ("parlor, decode", decode),
        ("parlor, decode and fold", fold),
        ("serde_json, Value", values),
    ];
    let only = std::env::args().nth(1).filter(|word| !word.starts_with('-')).unwrap_or_default();
    let mut best = [Duration::MAX; 4];
    for _ in 0..5 {
        for (best, (name, work)) in best.iter_mut().zip(work) {
            if !name.contains(&only) {
                continue;
            }
            let start = cpu_time();
            assert!(work(&bytes) > 0);
            *best = (cpu_time() - start).min(*best);
        }
    }
    for ((name, _), time) in work.iter().zip(best) {
        let speed = bytes.len() as f64 / time.as_secs_f64() / 1e9;
        println!("{name:26} {speed:6.3} GB/s  {:5.2}x", best[0].as_secs_f64() / time.as_secs_f64());
    }
}

fn decode(bytes: &Bytes) -> usize {
    let mut decoder = Decoder::new(Some(Format::ClaudeSession));
    let mut events = Vec::new();
    let mut count = 0;
    for line in Splitter::split(bytes) {
        events.clear();
        decoder.read(&line, &mut events);
        count += events.len();
    }
    count
}

fn fold(bytes: &Bytes) -> usize {
    let mut decoder = Decoder::new(Some(Format::ClaudeSession));
    let mut transcript = Transcript::default();
    let mut events = Vec::new();
    for (seq, line) in (0..).zip(Splitter::split(bytes)) {
        let reading = decoder.read(&line, &mut events);
        transcript.fold(seq, &line, &reading, events.drain(..));
    }
    transcript.entries().len()
}

fn values(bytes: &Bytes) -> usize {
    Splitter::split(bytes)
        .filter(|line| serde_json::from_slice::<serde_json::Value>(line.bytes()).is_ok())
        .count()
}

fn typed(bytes: &Bytes) -> usize {
    let parsed = Splitter::split(bytes)
        .filter(|line| sonic_rs::from_slice::<Record<'_>>(line.bytes()).is_ok())
        .count();
    assert_eq!(parsed, Splitter::split(bytes).count(), "the typed model fits every line");
    parsed
}

/// A bare typed model of the same records, borrowing where it can.
#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    uuid: Option<&'a str>,
    timestamp: Option<&'a str>,
    cwd: Option<&'a str>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow, rename = "toolUseResult")]
    result: Option<ToolResult<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    id: Option<&'a str>,
    model: Option<&'a str>,
    #[serde(borrow)]
    content: Content<'a>,
}

/// A string or blocks, told apart by the visitor: an untagged enum would copy everything first.
enum Content<'a> {
    Text(Str<'a>),
    Blocks(Vec<Block<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or blocks")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Str(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content::Text(Str(Cow::Owned(text.to_owned()))))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'de>, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Option<Str<'a>>,
    #[serde(borrow)]
    thinking: Option<Str<'a>>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    #[serde(borrow)]
    content: Option<Str<'a>>,
    #[serde(borrow)]
    input: Option<Input<'a>>,
}

#[derive(Deserialize)]
struct Input<'a> {
    #[serde(borrow)]
    command: Option<Str<'a>>,
    #[serde(borrow)]
    old_string: Option<Str<'a>>,
    #[serde(borrow)]
    new_string: Option<Str<'a>>,
}

#[derive(Deserialize)]
struct ToolResult<'a> {
    #[serde(borrow)]
    stdout: Option<Str<'a>>,
}

/// A string that borrows when it has no escapes: serde only borrows a bare `Cow`.
struct Str<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Str<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Str<'de>, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}
