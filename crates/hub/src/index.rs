//! What can be searched of a session, and what the list keeps of it. Both can be made again from the records at any time.

use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::tool::Tool;
use parlor_store::{IndexRow, Piece, Store};

use crate::actor;
use crate::log;
use crate::open::Shared;
use crate::row::Row;
use crate::view::View;

/// How much of a tool's input and output can be found.
const INPUT_BYTES: usize = 4 << 10;
const OUTPUT_BYTES: usize = 64 << 10;

/// Keeps the row and the text of a session of the log.
pub(crate) fn live(store: &Store, shared: &Shared, row: &Row) {
    let (stamp, pieces) = {
        let view = actor::read(shared);
        (log::stamp(view.end()), pieces(&view))
    };
    if let Ok(body) = serde_json::to_string(row) {
        store.put_rows(vec![IndexRow { key: log::row_key(&row.id), stamp: stamp.clone(), body }]);
    }
    store.put_text(&shared.id, &stamp, pieces);
}

/// The text of every entry that has some.
pub(crate) fn pieces(view: &View) -> Vec<Piece> {
    view.entries().iter().filter_map(piece).collect()
}

fn piece(entry: &Entry) -> Option<Piece> {
    let text = match &entry.block {
        Block::Prompt(prompt) => prompt.text.as_str().into_owned(),
        Block::Reply(reply) => reply.text.as_str().into_owned(),
        Block::Thought(thought) => thought.text.as_str().into_owned(),
        Block::Notice(notice) => notice.text.as_str().into_owned(),
        Block::Tool(tool) => of_tool(tool),
        Block::Unknown(_) => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| Piece { entry: entry.id.clone(), at: entry.at, text: text.to_owned() })
}

/// A call as one would look for it: its name, what it was given, what came back.
fn of_tool(tool: &Tool) -> String {
    let mut text = tool.name.to_string();
    let strings = tool.input.fields();
    let mut given = String::new();
    for (_, value) in strings {
        if let Some(value) = value.text() {
            given.push('\n');
            given.push_str(&value.as_str());
        }
    }
    text.push_str(start_of(&given, INPUT_BYTES));
    if let Some(output) = &tool.output {
        text.push('\n');
        text.push_str(start_of(&output.joined(), OUTPUT_BYTES));
    }
    text
}

fn start_of(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes.min(text.len()))]
}
