//! What a dialect tells, in lines that a test can compare. It is no part of the program.

use bytes::Bytes;
use parlor_model::block::Block;
use parlor_model::event::{End, Event, Fate, Meta, Part, Turn};
use parlor_model::line::Line;

use crate::{Decoder, Format};

/// Reads lines of a format: each gives its fate and its events, all as text.
pub(crate) fn told(format: Format, lines: &[&str]) -> Vec<String> {
    let mut decoder = Decoder::new(Some(format));
    let mut told = Vec::new();
    for line in lines {
        let line = Line::new(Bytes::copy_from_slice(line.as_bytes()));
        let mut events = Vec::new();
        let reading = decoder.read(&line, &mut events);
        told.push(match reading.fate {
            Fate::Shown => "shown".to_owned(),
            Fate::Nested => "nested".to_owned(),
            Fate::Hidden(rule) => format!("hidden {}", rule.name()),
            Fate::Unknown(kind) => format!("unknown {kind}"),
            Fate::Damaged(why) => format!("damaged {why}"),
            Fate::Blank => "blank".to_owned(),
        });
        told.extend(events.iter().map(|event| format!("  {}", sentence(event))));
    }
    told
}

/// One line of [`told`] per line of `expected`, blanks at its ends left out.
pub(crate) fn check(format: Format, lines: &[&str], expected: &str) {
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let told = told(format, lines);
    let told: Vec<_> = told.iter().map(|line| line.trim()).collect();
    assert_eq!(told, expected, "\n{}\n", told.join("\n"));
}

fn sentence(event: &Event) -> String {
    match event {
        Event::Meta { meta } => match meta {
            Meta::Id { id } => format!("id {id}"),
            Meta::Model { name } => format!("model {name}"),
            Meta::Branch { name } => format!("branch {name}"),
            Meta::Cost { usd } => format!("cost {usd}"),
            other => format!("{other:?}"),
        },
        Event::Turn { turn } => match turn {
            Turn::Start => "start".into(),
            Turn::Done => "done".into(),
            Turn::Failed { error } => format!("failed {}", error.clone().unwrap_or_default()),
            Turn::Interrupted { reason } => format!("interrupted {reason}"),
        },
        Event::Put { key, under, block, .. } => {
            let under = under.as_ref().map(|under| format!(" under {under}")).unwrap_or_default();
            format!("put {key}{under} {}", form(block))
        }
        Event::Grow { key, part, text } => match part {
            Part::Thought => format!("grow {key} thought {text:?}"),
            _ => format!("grow {key} {text:?}"),
        },
        Event::End { key, end: End::Result { state, output, .. } } => {
            format!("end {key} {state:?} {:?} patches {}", output.joined(), output.patches.len())
        }
        Event::End { key, end } => format!("end {key} {end:?}"),
        Event::Ask { key, ask } => match ask {
            Some(ask) => {
                format!("ask {key} {} {:?} {:?}", ask.id, ask.reason.clone().unwrap_or_default(), ask.options)
            }
            None => format!("answered {key}"),
        },
        Event::Usage { message, usage } => format!("usage {message} {}+{}", usage.input, usage.output),
        Event::Overtake { from } => format!("overtake {from}"),
        Event::Decide { key, decision } => format!("{key} {:?}", decision.choice),
    }
}

fn form(block: &Block) -> String {
    match block {
        Block::Prompt(prompt) => format!("prompt {:?} attachments {}", prompt.text, prompt.attachments.len()),
        Block::Reply(reply) => format!("reply {:?}", reply.text),
        Block::Thought(thought) => format!("thought {:?}", thought.text),
        Block::Tool(tool) => format!("tool {} {} {:?}", tool.name, tool.input.lossy(), tool.state),
        Block::Notice(notice) => format!("notice {:?} {:?}", notice.kind, notice.text),
        Block::Unknown(unknown) => format!("unknown {}", unknown.kind),
    }
}
