//! The `elements` profile: one element per block, in block order, without deltas.
//!
//! An element has an id, a type, a time and a content. An id that comes again replaces the element. Of what is nobody's
//! words only a compaction, a diff of the working tree and an interruption are elements.

use parlor_model::action::Action;
use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt};
use parlor_model::entry::Entry;
use parlor_model::time::Time;
use parlor_model::tool::{Tool, ToolState};
use serde_json::{Map, Value, json};

use crate::diff::{self, DiffLine};
use crate::watch::News;
use crate::{Now, Voice, filter};

/// The longest display line of a call; the input has the whole.
const DISPLAY: usize = 300;

/// The voice of the `elements` profile.
#[derive(Debug, Default)]
pub(crate) struct Elements;

impl Voice for Elements {
    fn tell(&mut self, news: News<'_>, _now: &Now<'_>, out: &mut Vec<Value>) {
        match news {
            News::Prompt(entry, prompt) => out.extend(user_input(entry, prompt)),
            News::Reply(entry, reply, _) => {
                let mut content = json!({"text": reply.text});
                flag(&mut content, "interrupted", reply.interrupted);
                out.push(element(entry, "assistantText", content));
            }
            News::Thought(entry, thought) => {
                let mut content = json!({"text": thought.text});
                flag(&mut content, "interrupted", thought.interrupted);
                flag(&mut content, "redacted", thought.redacted);
                out.push(element(entry, "thinking", content));
            }
            News::Call(entry, tool) => out.push(call(entry, tool)),
            News::Result(entry, tool) => out.push(result(entry, tool)),
            News::Notice(entry, notice) => out.extend(notice_element(entry, notice)),
            News::Started
            | News::Opened(_)
            | News::Delta(..)
            | News::Moved(..)
            | News::Unknown(..)
            | News::Overtaken(_)
            | News::Ended(_) => {}
        }
    }
}

fn user_input(entry: &Entry, prompt: &Prompt) -> Option<Value> {
    if filter::caveat(prompt).is_some() {
        return None;
    }
    let mut content = json!({"text": prompt.text});
    match &prompt.author {
        Author::Person => {}
        Author::Peer { name } => content["from"] = name.as_str().into(),
        Author::Caller => content["from"] = "caller".into(),
        // What the agent's own machinery says to it is no input of a user.
        Author::Machine => return None,
    }
    if !prompt.attachments.is_empty() {
        content["attachments"] = prompt.attachments.len().into();
    }
    flag(&mut content, "queued", prompt.queued);
    Some(element(entry, "userInput", content))
}

fn call(entry: &Entry, tool: &Tool) -> Value {
    match edit(tool) {
        Some(content) => element(entry, "editDiff", with_call(content, entry, tool)),
        None => {
            let content = json!({"display": display(tool), "input": tool.input});
            element(entry, "toolCall", with_call(content, entry, tool))
        }
    }
}

/// The result as an element of its own; but an edit that went well is told by its diff, now with true line numbers.
fn result(entry: &Entry, tool: &Tool) -> Value {
    if tool.state == ToolState::Done && !tool.orphan && edit(tool).is_some() {
        return call(entry, tool);
    }
    let output = tool.output.as_ref();
    let text = output.map(|output| output.joined()).unwrap_or_default();
    let mut content = json!({"output": text, "isError": tool.state != ToolState::Done});
    flag(&mut content, "interrupted", tool.state == ToolState::Interrupted);
    flag(&mut content, "truncated", output.is_some_and(|output| output.truncated));
    let content = with_call(content, entry, tool);
    build(&format!("{}/result", entry.id), entry, entry.ended.or(entry.at), "toolResult", content)
}

fn notice_element(entry: &Entry, notice: &Notice) -> Option<Value> {
    match &notice.kind {
        NoticeKind::Compaction { before, after } => {
            let content = json!({"summary": notice.text, "tokensBefore": before, "tokensAfter": after});
            Some(element(entry, "contextCompaction", content))
        }
        NoticeKind::Diff => Some(element(entry, "diff", json!({"diff": notice.text}))),
        NoticeKind::Interrupted => Some(element(entry, "interrupted", json!({"text": notice.text}))),
        NoticeKind::Info
        | NoticeKind::Warning
        | NoticeKind::Error
        | NoticeKind::Retry
        | NoticeKind::Command { .. }
        | NoticeKind::Hook { .. }
        | NoticeKind::Task
        | NoticeKind::Result
        | NoticeKind::Status { .. } => None,
    }
}

/// The diff of an `Edit` that has both strings. Lines are numbered as the tool reports them, else from the snippet.
fn edit(tool: &Tool) -> Option<Value> {
    let Action::Edit { path, edits } = tool.action() else { return None };
    if tool.name != "Edit" {
        return None;
    }
    let hunks = || tool.output.iter().flat_map(|output| &output.patches).flat_map(|patch| &patch.hunks);
    let numbered = hunks().any(|hunk| hunk.new_start > 0);
    let lines: Vec<DiffLine> = match numbered {
        true => hunks().flat_map(diff::hunk_lines).collect(),
        false => edits.iter().flat_map(|(old, new)| diff::lines(&old.as_str(), &new.as_str(), 1)).collect(),
    };
    let count = |sign: char| lines.iter().filter(|line| line.sign == sign).count();
    let (added, removed) = (count('+'), count('-'));
    let body: Vec<Value> = lines
        .iter()
        .map(|line| json!({"number": line.number, "sign": line.sign.to_string(), "text": line.text}))
        .collect();
    Some(json!({
        "path": path,
        "header": format!("● Update({})", short(&path.as_str())),
        "summary": format!("Added {}, removed {}", plural(added), plural(removed)),
        "added": added,
        "removed": removed,
        "numbers": if numbered { "file" } else { "snippet" },
        "lines": body,
    }))
}

fn plural(count: usize) -> String {
    if count == 1 { "1 line".into() } else { format!("{count} lines") }
}

/// A path by its file name.
fn short(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, name)) if !folder.is_empty() || !name.is_empty() => format!(".../{name}"),
        Some(_) | None => path.to_owned(),
    }
}

/// A call in one line: the tool's name and what it is about.
fn display(tool: &Tool) -> String {
    let name = &tool.name;
    let mut line = match tool.action() {
        Action::Run { command, .. } => format!("{name}({command})"),
        Action::Read { path, .. } | Action::Write { path, .. } | Action::Edit { path, .. } => format!("{name}({path})"),
        Action::Search { pattern, .. } | Action::Find { pattern, .. } => format!("{name}(pattern: \"{pattern}\")"),
        Action::Fetch { url } => format!("{name}({url})"),
        Action::Query { query } => format!("{name}({query})"),
        Action::Delegate { description, .. } => format!("{name}({description})"),
        Action::Plan { .. }
        | Action::Patch { .. }
        | Action::Message { .. }
        | Action::Question { .. }
        | Action::Mcp { .. }
        | Action::Other => format!("{name}(...)"),
    };
    if let Some((end, _)) = line.char_indices().nth(DISPLAY) {
        line.truncate(end);
        line.push('…');
    }
    line
}

fn with_call(content: Value, entry: &Entry, tool: &Tool) -> Value {
    let mut whole = Map::new();
    whole.insert("callId".into(), entry.id.as_str().into());
    whole.insert("tool".into(), tool.name.as_str().into());
    if let Value::Object(content) = content {
        whole.extend(content);
    }
    Value::Object(whole)
}

fn element(entry: &Entry, kind: &str, content: Value) -> Value {
    build(&entry.id, entry, entry.at, kind, content)
}

fn build(id: &str, entry: &Entry, at: Option<Time>, kind: &str, content: Value) -> Value {
    let mut element = Map::new();
    element.insert("id".into(), id.into());
    element.insert("type".into(), kind.into());
    if let Some(at) = at {
        element.insert("timestamp".into(), at.iso_millis().into());
    }
    if let Some(role) = role(&entry.block, kind) {
        element.insert("role".into(), role.into());
    }
    if let Some(parent) = &entry.parent {
        element.insert("parentCallId".into(), parent.as_str().into());
    }
    element.insert("content".into(), content);
    Value::Object(element)
}

/// The role of the message that a block stands in: results answer in the user's messages.
fn role(block: &Block, kind: &str) -> Option<&'static str> {
    match block {
        Block::Prompt(_) => Some("user"),
        Block::Tool(_) if kind == "toolResult" => Some("user"),
        Block::Reply(_) | Block::Thought(_) | Block::Tool(_) => Some("assistant"),
        Block::Notice(_) | Block::Unknown(_) => None,
    }
}

fn flag(content: &mut Value, name: &str, value: bool) {
    if value {
        content[name] = true.into();
    }
}
