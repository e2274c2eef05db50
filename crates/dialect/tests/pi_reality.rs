//! Pi's recorded streams and session files, and session files found in the wild.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::{Fates, detect, files, lines, read};
use parlor_dialect::Format;

/// Kinds that only forks and test suites write: they stay visible as unknown.
const UNKNOWN: [&str; 4] =
    ["unknown checkpoint", "unknown audit_marker", "unknown unknown_future_entry_type", "unknown text"];

fn check(fates: &Fates) {
    for (fate, count) in fates {
        println!("{count:6} {fate}");
        assert!(!fate.starts_with("unknown") || UNKNOWN.contains(&fate.as_str()), "{fate}");
    }
}

#[test]
fn every_session_file_is_read_to_the_last_line() {
    let mut fates = Fates::new();
    for path in [files("recordings"), files("corpus/pi_session")].concat() {
        let name = path.to_string_lossy().into_owned();
        let recorded = name.contains("/recordings/pi") && name.contains(".session");
        if !recorded && !name.contains("/pi_session/") {
            continue;
        }
        let lines = lines(&path);
        assert_eq!(detect(&lines), Some(Format::PiSession), "{name}");
        read(Format::PiSession, &lines, &mut fates);
    }
    check(&fates);
}

#[test]
fn every_stream_is_read_to_the_last_line() {
    let mut fates = Fates::new();
    for path in [files("recordings"), files("corpus/pi_events")].concat() {
        let name = path.to_string_lossy().into_owned();
        let is_stream = name.ends_with(".jsonl") && !name.contains(".session") && !name.contains(".stdin");
        let recorded = (name.contains("/recordings/pi") || name.contains("pi-against")) && is_stream;
        if !recorded && !name.contains("/pi_events/") {
            continue;
        }
        let lines = lines(&path);
        // A start that failed wrote the header only, or nothing at all: that is a session file as well.
        if lines.len() > 1 {
            assert_eq!(detect(&lines), Some(Format::PiEvents), "{name}");
        }
        let seen = read(Format::PiEvents, &lines, &mut fates);
        for ((key, part), text) in &seen.grown {
            let (_, block) = seen.blocks.iter().find(|(name, _)| name == key).unwrap();
            let whole = match block {
                parlor_model::block::Block::Reply(reply) => reply.text.as_str().into_owned(),
                parlor_model::block::Block::Thought(thought) => thought.text.as_str().into_owned(),
                _ => continue,
            };
            // Fixtures written by hand leave deltas out; what the program itself wrote does not, but for the empty
            // lines that it takes off the end of a summarised thought.
            assert!(
                whole == text.trim_end() || whole == *text || name.contains("takopi"),
                "{name} {key} {part}"
            );
        }
    }
    check(&fates);
}

#[test]
fn every_command_that_went_in_is_protocol() {
    let mut commands = 0;
    for path in files("recordings").iter().filter(|path| path.to_string_lossy().contains("/recordings/pi")) {
        if !path.to_string_lossy().ends_with(".stdin.jsonl") {
            continue;
        }
        // Recordings keep each line with the time it was sent at; one of them is no command on purpose.
        let sent = lines(path).into_iter().filter_map(|line| {
            let value: serde_json::Value = serde_json::from_slice(line.bytes()).unwrap();
            let known = value["line"].is_object() && value["line"]["type"] != "no_such_command";
            known.then(|| parlor_model::line::Line::new(value["line"].to_string().into()))
        });
        let mut fates = Fates::new();
        read(Format::PiEvents, &sent.collect::<Vec<_>>(), &mut fates);
        assert!(fates.keys().all(|fate| fate == "hidden protocol"), "{path:?} {fates:?}");
        commands += fates.values().sum::<usize>();
    }
    println!("{commands} commands");
}

#[test]
fn a_stream_and_its_session_file_tell_the_same() {
    let (mut compared, mut killed) = (0, 0);
    let mut differing = Vec::new();
    for path in files("recordings") {
        let name = path.to_string_lossy().into_owned();
        let is_stream = name.ends_with(".jsonl") && !name.contains(".session") && !name.contains(".stdin");
        let stream_lines = lines(&path);
        let Some(session) = own_session(&name, &stream_lines).filter(|_| is_stream) else { continue };
        let mut fates = Fates::new();
        let mut stream = read(Format::PiEvents, &stream_lines, &mut fates).view();
        let mut file = read(Format::PiSession, &lines(session.as_ref()), &mut fates).view();
        compared += 1;
        // A process that was killed has streamed more of its last block than it has written down.
        let last = stream_lines
            .last()
            .map(|line| String::from_utf8_lossy(line.bytes()).into_owned())
            .unwrap_or_default();
        if !["agent_end", "agent_settled", "auto_retry_end", "response"].iter().any(|end| last.contains(end))
        {
            killed += 1;
            let cut = stream.pop().unwrap_or_default();
            let key = cut.split(": ").next().unwrap_or_default();
            file.retain(|block| !block.starts_with(&format!("{key}: ")));
        }
        // A resumed stream tells only what is new.
        if !file.ends_with(&stream) {
            for (left, right) in stream.iter().zip(&file) {
                println!("{name}\n  stream  {left:.400}\n  session {right:.400}");
            }
            differing.push(name);
        }
    }
    println!("{compared} pairs compared, {killed} of them killed, {} differ", differing.len());
    assert!(differing.is_empty(), "{differing:?}");
}

/// The session file that the stream's own process wrote: the first when there is only one, else by its id.
fn own_session(name: &str, stream: &[parlor_model::line::Line]) -> Option<String> {
    if !name.contains("/recordings/pi") {
        return None;
    }
    let stem = name.strip_suffix(".jsonl")?;
    let found = ["session", "session1", "session2"].map(|kind| format!("{stem}.{kind}.jsonl"));
    let mut found = found.into_iter().filter(|file| std::path::Path::new(file).exists());
    let header =
        stream.first().map(|line| String::from_utf8_lossy(line.bytes()).into_owned()).unwrap_or_default();
    if !header.contains("\"session\"") {
        return found.next();
    }
    let id = |text: &str| {
        text.split("\"id\":\"").nth(1).map(|rest| rest.split('"').next().unwrap_or_default().to_owned())
    };
    found.find(|file| {
        let first =
            lines(file.as_ref()).first().map(|line| String::from_utf8_lossy(line.bytes()).into_owned());
        first.and_then(|first| id(&first)) == id(&header)
    })
}
