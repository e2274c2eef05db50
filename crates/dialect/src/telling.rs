//! What a dialect says, one short line per event, so that tests read like a conversation.

use bytes::Bytes;
use parlor_model::block::Block;
use parlor_model::event::{End, Event, Fate, Meta, Turn};
use parlor_model::line::Line;

use crate::{Decoder, Format};

/// Reads all lines as `format` and tells what was said. Facts about the session are told only when asked for.
pub(crate) fn tell(format: Format, lines: &[&str]) -> Vec<String> {
    let mut decoder = Decoder::new(format);
    let mut events = Vec::new();
    for line in lines {
        decoder.read(&line_of(line), &mut events);
    }
    events.iter().filter(|event| !matches!(event, Event::Meta { .. })).map(word).collect()
}

/// The facts about the session that were said.
pub(crate) fn facts(format: Format, lines: &[&str]) -> Vec<Meta> {
    let mut decoder = Decoder::new(format);
    let mut events = Vec::new();
    for line in lines {
        decoder.read(&line_of(line), &mut events);
    }
    events
        .into_iter()
        .filter_map(|event| if let Event::Meta { meta } = event { Some(meta) } else { None })
        .collect()
}

/// The fate of each line.
pub(crate) fn fates(format: Format, lines: &[&str]) -> Vec<Fate> {
    let mut decoder = Decoder::new(format);
    lines.iter().map(|line| decoder.read(&line_of(line), &mut Vec::new()).fate).collect()
}

/// The line of that text.
pub(crate) fn line_of(text: &str) -> Line {
    Line::new(Bytes::copy_from_slice(text.as_bytes()))
}

fn word(event: &Event) -> String {
    match event {
        Event::Put { key, block, .. } => match block {
            Block::Prompt(prompt) => format!("{key} prompt {}", prompt.text),
            Block::Reply(reply) => {
                format!(
                    "{key} reply{}{} {}",
                    mark(reply.streaming, "…"),
                    mark(reply.interrupted, "!"),
                    reply.text
                )
            }
            Block::Thought(thought) => {
                let hidden = mark(thought.redacted, "#");
                format!("{key} thought{}{hidden} {}", mark(thought.streaming, "…"), thought.text)
            }
            Block::Tool(tool) => format!("{key} tool {} {} {:?}", tool.name, tool.input.lossy(), tool.state),
            Block::Notice(notice) => {
                let kind = serde_json::to_value(&notice.kind).unwrap();
                format!("{key} notice {} {}", kind["notice"].as_str().unwrap(), notice.text)
            }
            Block::Unknown(unknown) => format!("{key} unknown {}", unknown.kind),
        },
        Event::Grow { key, text, .. } => format!("{key} + {text}"),
        Event::End { key, end } => match end {
            End::Complete => format!("{key} complete"),
            End::Interrupted => format!("{key} interrupted"),
            End::Result { state, output, .. } => format!("{key} = {state:?} {}", output.joined()),
        },
        Event::Turn { turn } => match turn {
            Turn::Start => "start".into(),
            Turn::Done => "done".into(),
            Turn::Failed { error } => format!("failed {}", error.clone().unwrap_or_default()),
            Turn::Interrupted { reason } => format!("stopped {reason}"),
        },
        Event::Ask { key, ask } => format!("{key} ask {:?}", ask.as_ref().map(|ask| &ask.options)),
        Event::Usage { message, usage } => {
            format!("{message} usage {}+{}+{}", usage.input, usage.cache_read, usage.output)
        }
        Event::Overtake { from } => format!("overtake {from}"),
        Event::Meta { meta } => format!("{meta:?}"),
        Event::Decide { key, decision } => format!("{key} {:?}", decision.choice),
    }
}

fn mark(set: bool, mark: &'static str) -> &'static str {
    if set { mark } else { "" }
}
