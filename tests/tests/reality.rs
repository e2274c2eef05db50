//! Every line of every real file has a fate, and a stream tells the same as the session file of the same run.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a suite fails by panicking and says what it saw"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bytes::Bytes;
use parlor_dialect::{Format, Splitter};
use parlor_model::block::{Author, Block, NoticeKind};
use parlor_model::entry::Entry;
use parlor_model::event::Fate;
use parlor_tests::{Whole, shared_files};

/// Kinds of record that are rightly unknown, with the reason.
const UNKNOWN: &[(&str, &str)] = &[
    ("text", "plain text among the records: warnings, banners, stderr"),
    ("untyped", "JSON without a type: answers of tools and wrappers that no agent writes to its session"),
    ("system", "a system record with neither subtype nor text, in another tool's fixture"),
    ("tool", "invented by another tool's fixture"),
    ("tool_result", "invented by another tool's fixture"),
    ("totally_unknown_event", "invented by another tool's fixture to test what is unknown"),
];

#[test]
fn every_line_of_claude_code_has_a_fate() {
    let mut fates: BTreeMap<String, u64> = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    let files = shared_files(&[
        "recordings/claude",
        "corpus/claude_session",
        "corpus/claude_stream",
        "corpus/anthropic_sse",
    ]);
    for path in &files {
        let name = path.display().to_string();
        if [".stderr", ".meta.json", ".stdin.jsonl"].iter().any(|end| name.ends_with(end))
            || name.contains("grok")
        {
            continue;
        }
        let bytes = Bytes::from(std::fs::read(path).unwrap());
        let Some(whole) = read(&bytes) else { continue };
        assert_eq!(whole.steps.len(), Splitter::split(&bytes).count(), "{name}");
        for step in &whole.steps {
            match &step.reading.fate {
                Fate::Unknown(kind) => {
                    unknown.insert(kind.to_string());
                }
                Fate::Damaged(_) => {
                    assert!(
                        serde_json::from_slice::<serde_json::Value>(&step.bytes).is_err(),
                        "{name}: a sound line is damaged"
                    );
                }
                Fate::Shown | Fate::Nested | Fate::Hidden(_) | Fate::Blank => {}
            }
            *fates.entry(format!("{:?}", step.reading.fate)).or_default() += 1;
        }
    }
    println!("{} files: {fates:#?}", files.len());
    let known: BTreeSet<String> = UNKNOWN.iter().map(|(kind, _)| (*kind).to_owned()).collect();
    assert_eq!(unknown.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "new kinds of record");
}

/// Runs whose stream and session file do not tell the same, each by its name, with the difference that was read.
const DIFFERENT: &[(&str, &str)] = &[
    ("output-json", "the stream was asked for its result only"),
    ("resume-2-resume", "the file holds the earlier runs too"),
    ("resume-3-continue", "the file holds the earlier runs too"),
    ("resume-5-unknown", "the file holds the earlier runs; the stream says that there is no such session"),
    ("resume-cwd-2", "the file holds the earlier run too"),
    ("resume-kill-2", "the file holds the earlier run too"),
    ("sighup-text", "the killed process had streamed text that it never wrote to the file"),
    ("sigkill-text", "the killed process had streamed text that it never wrote to the file"),
    ("sigterm-text", "the killed process had streamed text that it never wrote to the file"),
    ("sigterm-tool", "the killed process told the stream of the failed call, and not the file"),
    ("sigint-thinking", "the stopped process had streamed a thought that it never wrote to the file"),
    ("stream-bash-bg-interrupt", "only the stream tells that the background task was stopped"),
    ("stream-bash-bg-sigterm", "only the stream tells that the background task was stopped"),
    ("stream-end-session", "only the stream tells that the background task was stopped"),
    ("stream-task", "the end of a background task is told in other words"),
    ("task-forward", "the end of a background task is told in other words"),
    ("task", "the end of a background task is told in other words"),
];

#[test]
fn a_claude_stream_tells_the_same_as_its_session_file() {
    let (mut same, mut named) = (0, 0);
    let mut needless = Vec::new();
    let mut different = Vec::new();
    for path in shared_files(&["recordings/claude"]) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(scenario) = name.strip_suffix(".session.jsonl") else { continue };
        let stream = path.with_file_name(format!("{scenario}.jsonl"));
        let (Some(file), Some(stream)) = (lines(&path), lines(&stream)) else { continue };
        let excused = DIFFERENT.iter().any(|(name, _)| *name == scenario);
        if file == stream && excused {
            needless.push(scenario.to_owned());
        } else if file == stream {
            same += 1;
        } else if excused {
            named += 1;
        } else {
            different.push(format!("{scenario}\n  file   {file:#?}\n  stream {stream:#?}"));
        }
    }
    assert!(needless.is_empty(), "these tell the same and need no excuse: {needless:?}");
    println!("{same} runs tell the same, {named} differ for a named reason");
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
}

/// What a reader sees of a run, line by line. Prompts are left out: a stream does not repeat what it was asked; so are
/// retries, whose words differ.
fn lines(path: &Path) -> Option<Vec<String>> {
    let bytes = Bytes::from(std::fs::read(path).ok()?);
    let whole = read(&bytes)?;
    let seen = |entry: &Entry| match &entry.block {
        Block::Prompt(prompt) if prompt.author == Author::Person => None,
        Block::Prompt(prompt) => Some(format!("prompt {}", prompt.text)),
        Block::Reply(reply) => Some(format!("reply {} {}", reply.interrupted, reply.text)),
        Block::Thought(thought) => Some(format!("thought {}", thought.text)),
        Block::Tool(tool) => {
            let output = tool.output.as_ref().map(|output| output.joined()).unwrap_or_default();
            Some(format!("{} {:?} {} -> {output}", tool.name, tool.state, sorted(tool.input.value())))
        }
        Block::Notice(notice) if notice.kind == NoticeKind::Retry => None,
        Block::Notice(notice) => Some(format!("{:?} {}", notice.kind, notice.text)),
        Block::Unknown(unknown) => Some(format!("unknown {}", unknown.kind)),
    };
    Some(
        whole
            .entries()
            .iter()
            .filter(|entry| entry.parent.is_none() && !entry.overtaken)
            .filter_map(seen)
            .collect(),
    )
}

/// The same value with its keys in order: the two write them in different orders.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(fields) => {
            let fields: BTreeMap<_, _> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            fields.into_iter().collect()
        }
        other => other,
    }
}

fn read(bytes: &Bytes) -> Option<Whole> {
    let first: Vec<_> = Splitter::split(bytes).filter(|line| !line.is_blank()).take(20).collect();
    Format::detect(&first).map(|format| Whole::read(Some(format), bytes))
}
