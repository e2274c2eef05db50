//! What profiles promise, held against recordings of real agents where there are any beside the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::line::Line;
use parlor_model::tool::ToolState;
use parlor_profile::filter::BridgeSieve;
use parlor_profile::{Profile, Step};
use parlor_transcript::Transcript;
use serde_json::Value;

/// Larger files say the same things more often.
const LARGEST_BYTES: u64 = 600_000;

/// A conversation in every profile, and as entries.
struct Told {
    messages: BTreeMap<Profile, Vec<Value>>,
    entries: Vec<Entry>,
}

fn tell(bytes: &Bytes) -> Told {
    let mut projectors: Vec<_> =
        Profile::ALL.into_iter().map(|profile| (profile, profile.projector())).collect();
    let mut messages: BTreeMap<Profile, Vec<Value>> = BTreeMap::new();
    let head: Vec<Line> = Splitter::split(bytes).filter(|line| !line.is_blank()).take(20).collect();
    let (mut decoder, mut transcript) = (Decoder::new(Format::detect(&head)), Transcript::default());
    for (seq, line) in (0u64..).zip(Splitter::split(bytes)) {
        let mut events = Vec::new();
        let reading = decoder.read(&line, &mut events);
        let touched = transcript.fold(seq, &line, &reading, events.clone());
        let touched: Vec<&Entry> = touched.into_iter().map(|index| &transcript.entries()[index]).collect();
        let session = transcript.session();
        let step = Step {
            seq,
            origin: parlor_model::record::Origin::Agent,
            received: None,
            line: &line,
            reading: &reading,
            events: &events,
            touched: &touched,
            session,
        };
        for (profile, projector) in &mut projectors {
            projector.step(&step, messages.entry(*profile).or_default());
        }
    }
    for (profile, projector) in &mut projectors {
        projector.finish(messages.entry(*profile).or_default());
    }
    Told { messages, entries: transcript.into_parts().1 }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(children) = std::fs::read_dir(folder) else { return };
    for child in children.flatten() {
        let path = child.path();
        if path.is_dir() {
            files(&path, found);
        } else if matches!(path.extension().and_then(|name| name.to_str()), Some("jsonl" | "sse" | "txt"))
            && child.metadata().is_ok_and(|data| data.len() <= LARGEST_BYTES)
        {
            found.push(path);
        }
    }
}

fn recordings() -> Vec<(PathBuf, Told)> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let mut found = Vec::new();
    files(&shared.join("recordings"), &mut found);
    files(&shared.join("corpus"), &mut found);
    found.sort();
    let read = |path: PathBuf| {
        let told = tell(&Bytes::from(std::fs::read(&path).unwrap_or_default()));
        (path, told)
    };
    found.into_iter().map(read).collect()
}

fn text<'a>(message: &'a Value, field: &str) -> &'a str {
    message[field].as_str().unwrap_or_default()
}

#[test]
fn every_profile_keeps_its_promises_on_real_sessions() {
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, told) in recordings() {
        let name = path.display().to_string();
        deltas_make_up_the_text(&name, &told.messages[&Profile::Events], &mut totals);
        calls_start_once_and_end(&name, &told, &mut totals);
        elements_lose_no_words(&name, &told);
        idle_is_never_repeated(&name, &told.messages[&Profile::Bridge]);
        the_call_map_agrees_with_the_entries(&name, &told);
        for (profile, messages) in &told.messages {
            *totals.entry(profile.name()).or_default() += messages.len();
        }
        *totals.entry("files").or_default() += 1;
    }
    match totals.is_empty() {
        true => println!("skipped: there are no recordings beside the workspace"),
        false => println!("{totals:?}"),
    }
}

fn deltas_make_up_the_text(name: &str, events: &[Value], totals: &mut BTreeMap<&'static str, usize>) {
    let mut deltas: BTreeMap<&str, String> = BTreeMap::new();
    let mut done = BTreeSet::new();
    for event in events {
        let id = text(event, "responseId");
        match text(event, "type") {
            "text_delta" => {
                assert!(!done.contains(id), "{name}: {id} grows after its end");
                deltas.entry(id).or_default().push_str(text(event, "delta"));
            }
            "text_done" => {
                assert!(done.insert(id), "{name}: {id} ends twice");
                if event.get("replaced").is_some() {
                    *totals.entry("responses replaced").or_default() += 1;
                    continue;
                }
                let streamed = deltas.remove(id).unwrap_or_default();
                assert_eq!(streamed, text(event, "text"), "{name}: {id}");
                *totals.entry("responses exact").or_default() += 1;
            }
            _ => {}
        }
    }
}

fn calls_start_once_and_end(name: &str, told: &Told, totals: &mut BTreeMap<&'static str, usize>) {
    let events = &told.messages[&Profile::Events];
    let mut started = BTreeSet::new();
    let mut ended = BTreeSet::new();
    for event in events {
        let id = text(event, "callId").to_owned();
        match text(event, "type") {
            "tool_call_start" => {
                // A result may stand before its call; then it is told again after it.
                ended.remove(&id);
                assert!(started.insert(id), "{name}: a call starts twice");
            }
            "tool_result" => {
                assert!(event.get("result").is_some() != event.get("error").is_some(), "{name}: {event}");
                ended.insert(id);
            }
            _ => {}
        }
    }
    for entry in &told.entries {
        let Block::Tool(tool) = &entry.block else { continue };
        let id = entry.id.as_str();
        assert_eq!(started.contains(id), !tool.orphan, "{name}: {id} {tool:?}");
        assert_eq!(ended.contains(id), tool.state.is_final(), "{name}: {id}");
        *totals.entry("calls").or_default() += 1;
    }
}

/// Elements are a map from id to the last value; what it says is what the entries say.
fn elements_lose_no_words(name: &str, told: &Told) {
    let elements = &told.messages[&Profile::Elements];
    let map: BTreeMap<&str, &Value> = elements.iter().map(|element| (text(element, "id"), element)).collect();
    for entry in &told.entries {
        let id = entry.id.as_str();
        let (kind, words) = match &entry.block {
            Block::Reply(reply) if !reply.streaming => ("assistantText", &reply.text),
            Block::Thought(thought) if !thought.streaming => ("thinking", &thought.text),
            _ => continue,
        };
        let element = map.get(id).unwrap_or_else(|| panic!("{name}: {id} is missing"));
        assert_eq!(
            (text(element, "type"), text(&element["content"], "text")),
            (kind, &*words.as_str()),
            "{name}"
        );
    }
}

fn idle_is_never_repeated(name: &str, messages: &[Value]) {
    let mut sieve = BridgeSieve::default();
    for envelope in messages {
        assert_eq!(sieve.hides(&envelope["message"]), None, "{name}: {envelope}");
    }
    let ids: BTreeSet<&str> = messages.iter().map(|envelope| text(envelope, "id")).collect();
    assert_eq!(ids.len(), messages.len(), "{name}: every message has an id of its own");
}

fn the_call_map_agrees_with_the_entries(name: &str, told: &Told) {
    let mut calls: BTreeMap<&str, &Value> = BTreeMap::new();
    for message in told.messages[&Profile::Legion].iter().filter(|message| message["type"] == "tool_call") {
        calls.insert(text(&message["call"], "id"), &message["call"]);
    }
    for entry in &told.entries {
        let Block::Tool(tool) = &entry.block else { continue };
        let call = calls.get(entry.id.as_str()).unwrap_or_else(|| panic!("{name}: {} is missing", entry.id));
        let expected = match tool.state {
            ToolState::Pending | ToolState::Waiting => "pending",
            ToolState::Running => "executing",
            ToolState::Done => "completed",
            ToolState::Failed | ToolState::Denied | ToolState::Interrupted => "error",
        };
        assert_eq!(text(call, "status"), expected, "{name}: {}", entry.id);
    }
}
