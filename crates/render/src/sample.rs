//! Entries for tests.

use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt, Reply, Thought};
use parlor_model::entry::Entry;
use parlor_model::time::Time;
use parlor_model::tool::{Output, Tool, ToolState};

pub(crate) fn entry(id: &str, block: Block) -> Entry {
    let at = Some(Time(1_794_751_320_000_000));
    let (parent, message, group, ended) = (None, None, None, None);
    Entry {
        id: id.into(),
        parent,
        message,
        seq: 0,
        at,
        ended,
        rev: 0,
        group,
        opens: true,
        overtaken: false,
        block,
    }
}

pub(crate) fn prompt(id: &str, text: &str, author: Author) -> Entry {
    entry(id, Block::Prompt(Prompt { text: text.into(), author, ..Prompt::default() }))
}

pub(crate) fn reply(id: &str, text: &str) -> Entry {
    entry(id, Block::Reply(Reply { text: text.into(), ..Reply::default() }))
}

pub(crate) fn thought(id: &str, text: &str) -> Entry {
    entry(id, Block::Thought(Thought { text: text.into(), ..Thought::default() }))
}

pub(crate) fn notice(id: &str, kind: NoticeKind, text: &str) -> Entry {
    entry(id, Block::Notice(Notice { kind, text: text.into() }))
}

pub(crate) fn tool(id: &str, name: &str, input: serde_json::Value) -> Entry {
    entry(id, Block::Tool(Box::new(Tool::call(name, input.into()))))
}

/// A call that has ended with this output.
pub(crate) fn done(id: &str, name: &str, input: serde_json::Value, output: &str) -> Entry {
    ended(id, name, input, ToolState::Done, Output::text(output))
}

pub(crate) fn ended(
    id: &str,
    name: &str,
    input: serde_json::Value,
    state: ToolState,
    output: Output,
) -> Entry {
    let output = Some(Box::new(output));
    entry(id, Block::Tool(Box::new(Tool { state, output, ..Tool::call(name, input.into()) })))
}

pub(crate) fn tool_of(entry: &Entry) -> &Tool {
    match &entry.block {
        Block::Tool(tool) => tool,
        other => panic!("no tool: {other:?}"),
    }
}
