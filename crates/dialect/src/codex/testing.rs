//! Events as short lines, for the tests of the Codex formats.

use bytes::Bytes;
use parlor_model::block::Block;
use parlor_model::event::{End, Event, Fate, Meta};
use parlor_model::line::Line;

use crate::Dialect;

/// What a dialect says of these lines.
pub(crate) fn events(dialect: &mut dyn Dialect, lines: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    for line in lines {
        dialect.read(&line_of(line), &mut out);
    }
    out.iter().map(short).collect()
}

/// What becomes of each line.
pub(crate) fn fates(dialect: &mut dyn Dialect, lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| fate(&dialect.read(&line_of(line), &mut Vec::new()).fate)).collect()
}

/// Asserts what becomes of each line.
pub(crate) fn reads(dialect: &mut dyn Dialect, lines: &[&str], expected: &str) {
    assert_eq!(fates(dialect, lines).join(", "), expected);
}

/// Reads every beginning of every line, and every line with each of its values replaced: nothing may panic, and a
/// beginning must say nothing.
pub(crate) fn assert_total<D: Dialect>(fresh: impl Fn() -> D, lines: &[&str]) {
    for line in lines {
        for end in (1..line.len()).filter(|end| line.is_char_boundary(*end)) {
            let mut out = Vec::new();
            let reading = fresh().read(&line_of(&line[..end]), &mut out);
            assert!(matches!(reading.fate, Fate::Damaged(_)) && out.is_empty(), "{}", &line[..end]);
        }
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        for odd in [
            serde_json::json!(null),
            7.into(),
            "".into(),
            "0".into(),
            true.into(),
            serde_json::json!([]),
            serde_json::json!([[{}], 1]),
            serde_json::json!({"type": {}}),
        ] {
            for changed in replaced(&value, &odd) {
                fresh().read(&line_of(&changed.to_string()), &mut Vec::new());
            }
        }
    }
}

/// The value with each of its parts in turn replaced by `odd`.
fn replaced(value: &serde_json::Value, odd: &serde_json::Value) -> Vec<serde_json::Value> {
    let mut all = vec![odd.clone()];
    match value {
        serde_json::Value::Object(fields) => {
            for (key, part) in fields {
                for part in replaced(part, odd) {
                    let mut changed = value.clone();
                    changed[key] = part;
                    all.push(changed);
                }
            }
        }
        serde_json::Value::Array(items) => {
            for (index, part) in items.iter().enumerate() {
                for part in replaced(part, odd) {
                    let mut changed = value.clone();
                    changed[index] = part;
                    all.push(changed);
                }
            }
        }
        _ => {}
    }
    all
}

fn line_of(line: &str) -> Line {
    Line::new(Bytes::copy_from_slice(line.as_bytes()))
}

fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Shown => "shown".into(),
        Fate::Nested => "nested".into(),
        Fate::Hidden(rule) => format!("hidden {}", rule.name()),
        Fate::Unknown(kind) => format!("unknown {kind}"),
        Fate::Damaged(_) => "damaged".into(),
        Fate::Blank => "blank".into(),
    }
}

fn short(event: &Event) -> String {
    match event {
        Event::Meta { meta: Meta::Id { id } } => format!("id {id}"),
        Event::Meta { meta } => format!("meta {meta:?}"),
        Event::Turn { turn } => format!("turn {turn:?}"),
        Event::Put { key, under, block, .. } => {
            format!(
                "{}{}",
                under.as_ref().map_or(String::new(), |under| format!("{under}> ")),
                put(key, block)
            )
        }
        Event::Grow { key, part, text } => format!("grow {key} {part:?} {:?}", text.as_str()),
        Event::End { key, end: End::Result { state, output, .. } } => {
            let exit = output.exit_code.map_or("-".into(), |code| code.to_string());
            let patches = output.patches.iter().map(|patch| format!(" {}:{:?}", patch.path, patch.change));
            format!("end {key} {state:?} {exit} {:?}{}", output.joined(), patches.collect::<String>())
        }
        Event::End { key, end } => format!("end {key} {end:?}"),
        Event::Ask { key, ask } => match ask {
            Some(ask) => format!(
                "ask {key} {} {}",
                ask.id,
                ask.options.iter().map(|option| option.to_string()).collect::<Vec<_>>().join("|")
            ),
            None => format!("ask {key} withdrawn"),
        },
        Event::Usage { message, usage } => {
            format!("usage {message} {}+{}+{}", usage.input, usage.cache_read, usage.output)
        }
        Event::Overtake { from } => format!("overtake {from}"),
        Event::Decide { key, decision } => format!("{key} {:?}", decision.choice),
    }
}

fn put(key: &str, block: &Block) -> String {
    match block {
        Block::Prompt(prompt) => {
            let steered = if prompt.steered { " steered" } else { "" };
            format!("prompt {key} {:?}{steered} {}", prompt.author, prompt.text)
        }
        Block::Reply(reply) => format!("reply {key} {}", reply.text),
        Block::Thought(thought) => format!("thought {key} {}", thought.text),
        Block::Tool(tool) => format!("tool {key} {} {} {:?}", tool.name, tool.input.lossy(), tool.state),
        Block::Notice(notice) => format!("notice {key} {:?} {}", notice.kind, notice.text),
        Block::Unknown(unknown) => format!("unknown {key} {}", unknown.kind),
    }
}
