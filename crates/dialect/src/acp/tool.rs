//! A tool call of ACP: each update replaces the fields it has. It names no blocks.

use parlor_model::Key;
use parlor_model::json::{Json, Kind};
use parlor_model::text::Text;
use parlor_model::tool::{FileChange, FilePatch, Hunk, Output, Piece, Tool, ToolState};

use super::message::attachment;

/// Applies an update. Returns false when it has nothing that the call shows.
pub(crate) fn apply(tool: &mut Tool, update: &Json) -> bool {
    let shown = ["title", "kind", "status", "rawInput", "rawOutput", "content", "locations"];
    let changed = shown.iter().any(|key| update.get(key).is_some());
    let word = |key: &str| update.field_text(key).filter(|word| !word.is_empty());
    if let Some(name) = name(update) {
        tool.name = name;
    } else if let Some(kind) = word("kind").filter(|_| tool.name.is_empty() || tool.name == "tool") {
        tool.name = kind.as_str().into();
    } else if tool.name.is_empty() {
        tool.name = "tool".into();
    }
    tool.title = word("title").or(tool.title.take());
    let input = update.get("rawInput").filter(|input| !matches!(input.kind(), Kind::Null | Kind::Nothing));
    if let Some(input) = input.or_else(|| place(update).filter(|_| tool.input.is_missing())) {
        tool.input = input;
    }
    if let Some(output) = output(update, tool) {
        tool.output = Some(Box::new(output));
    }
    tool.state = match word("status").unwrap_or_default().as_str().as_ref() {
        "pending" => ToolState::Pending,
        "in_progress" => ToolState::Running,
        "completed" => ToolState::Done,
        "failed" => ToolState::Failed,
        _ => tool.state,
    };
    changed
}

/// The subagent's task under which a call was made.
pub(crate) fn parent(update: &Json) -> Option<Key> {
    let own = update.get("_meta")?.get("claudeCode")?;
    own.field_text("parentToolUseId").map(|id| id.as_str().into()).filter(|id: &Key| !id.is_empty())
}

/// What a terminal printed since the last update, which Codex's adapter sends apart.
pub(crate) fn terminal_output(update: &Json) -> Option<Text> {
    update.get("_meta")?.get("terminal_output_delta")?.field_text("data").filter(|text| !text.is_empty())
}

/// The tool's own name: ACP itself has only a title and a kind.
fn name(update: &Json) -> Option<Key> {
    let meta = update.get("_meta").unwrap_or_default();
    let own = || meta.field_text("toolName").or_else(|| meta.get("claudeCode")?.field_text("toolName"));
    let name = update.field_text("name").or_else(own)?;
    Some(Key::from(name.as_str())).filter(|name| !name.is_empty())
}

/// Without an input, the first location says at least which file it is about.
fn place(update: &Json) -> Option<Json> {
    let path = update.get("locations")?.items().first()?.get("path")?;
    (path.kind() == Kind::String).then(|| Json::new(format!("{{\"path\":{}}}", path.lossy()).into()))
}

fn output(update: &Json, tool: &Tool) -> Option<Output> {
    let content = update.get("content").filter(|content| content.kind() == Kind::Array);
    let raw = update.get("rawOutput").unwrap_or_default();
    let exit = update.get("_meta").and_then(|meta| meta.get("terminal_exit")?.get("exit_code"));
    if content.is_none() && raw.is_missing() && exit.is_none() {
        return None;
    }
    let mut output = match &content {
        Some(content) => read_content(content),
        None => tool.output.as_deref().cloned().unwrap_or_default(),
    };
    let said = raw.text().or_else(|| {
        let keys = ["formatted_output", "aggregated_output", "output", "stdout", "text", "content", "error"];
        keys.iter().find_map(|key| raw.field_text(key))
    });
    // What a command printed is plainer in the raw output: adapters put Markdown around it in the content.
    let runs = update.field_text("kind").is_some_and(|kind| kind == "execute")
        || matches!(tool.action(), parlor_model::action::Action::Run { .. });
    let silent = output.parts.is_empty() && output.patches.is_empty();
    if let Some(text) = said.filter(|text| !text.is_empty() && (runs || silent)) {
        output.parts.retain(|piece| !matches!(piece, Piece::Text { .. }));
        output.parts.push(Piece::Text { text });
    }
    let code = ["exit_code", "exitCode"].iter().find_map(|key| raw.get(key)).or(exit);
    let code = code.or_else(|| raw.get("metadata")?.get("exit")).and_then(|code| code.number());
    output.exit_code = code.map(|code| code as i64).or(output.exit_code);
    output.truncated |= raw.get("truncated").and_then(|cut| cut.bool()) == Some(true);
    Some(output)
}

fn read_content(content: &Json) -> Output {
    let mut output = Output::default();
    for item in content.items() {
        match item.field_text("type").unwrap_or_default().as_str().as_ref() {
            "diff" => output.patches.extend(diff(&item)),
            // The client shows the terminal it lent; what it printed comes with the raw output.
            "terminal" => {}
            _ => {
                let block = item.get("content").unwrap_or_else(|| item.clone());
                output.parts.push(match (block.field_text("text"), attachment(&block)) {
                    (Some(text), _) => Piece::Text { text },
                    (None, Some(attachment)) => Piece::attachment(attachment),
                    (None, None) => Piece::Other { raw: block },
                });
            }
        }
    }
    output
}

/// A change of one file: old and new text without line numbers, as whole files or as a passage.
fn diff(item: &Json) -> Option<FilePatch> {
    let path = item.field_text("path").unwrap_or_default();
    let new = item.field_text("newText")?;
    let Some(old) = item.field_text("oldText") else {
        return Some(FilePatch::whole(path, FileChange::Add, &new.as_str()));
    };
    let (old, new) = (old.as_str(), new.as_str());
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let shared =
        |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(old, new)| old == new).count();
    let head = shared(&mut old.iter().zip(&new));
    let room = old.len().min(new.len()) - head;
    let tail = shared(&mut old.iter().rev().zip(new.iter().rev())).min(room);
    let context =
        |lines: &[&str]| -> Vec<Text> { lines.iter().map(|line| format!(" {line}").into()).collect() };
    let mut lines = context(&old[head.saturating_sub(3)..head]);
    lines.extend(old[head..old.len() - tail].iter().map(|line| format!("-{line}").into()));
    lines.extend(new[head..new.len() - tail].iter().map(|line| format!("+{line}").into()));
    lines.extend(context(&old[old.len() - tail..(old.len() - tail + 3).min(old.len())]));
    Some(FilePatch {
        path,
        change: FileChange::Update,
        hunks: vec![Hunk { old_start: 0, new_start: 0, lines }],
    })
}
