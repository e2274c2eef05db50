//! What a tool call does, read from its name and input. The one place that knows the tools of every agent.

use serde::Serialize;

use crate::json::{Fields, Json, Kind};
use crate::text::Text;
use crate::tool::{FileChange, FilePatch, Hunk};

/// What a tool call does. Reading it is total: an input that does not fit its tool is `Other`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Runs a command.
    Run {
        /// The command line.
        command: Text,
        /// What it is for.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<Text>,
    },
    /// Reads a file.
    Read {
        /// Which.
        path: Text,
        /// First line.
        #[serde(skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        /// Number of lines.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// Writes a whole file.
    Write {
        /// Which.
        path: Text,
        /// What.
        content: Text,
    },
    /// Replaces strings in a file.
    Edit {
        /// Which.
        path: Text,
        /// Old and new, in order.
        edits: Vec<(Text, Text)>,
    },
    /// Applies a patch to files.
    Patch {
        /// The change to each file.
        files: Vec<FilePatch>,
    },
    /// Searches text in files.
    Search {
        /// What for.
        pattern: Text,
        /// Where.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<Text>,
    },
    /// Finds files by name, or lists a folder.
    Find {
        /// The pattern.
        pattern: Text,
        /// Where.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<Text>,
    },
    /// Fetches a URL.
    Fetch {
        /// Which.
        url: Text,
    },
    /// Searches the web.
    Query {
        /// What for.
        query: Text,
    },
    /// Gives a task to a subagent.
    Delegate {
        /// The task in short.
        description: Text,
        /// The task in full.
        prompt: Text,
        /// The kind of subagent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<Text>,
    },
    /// Writes the to-do list.
    Plan {
        /// Its items.
        todos: Vec<Todo>,
    },
    /// Sends a message to another agent.
    Message {
        /// Whom to.
        to: Text,
        /// What about.
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<Text>,
        /// The message.
        content: Text,
    },
    /// Asks the person.
    Question {
        /// The questions.
        questions: Vec<Text>,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// The server.
        server: Text,
        /// The tool.
        tool: Text,
    },
    /// Something else.
    Other,
}

/// One item of a to-do list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Todo {
    /// What to do.
    pub text: Text,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a to-do item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    Active,
    /// Done.
    Done,
}

impl Action {
    /// Reads the action of a tool call.
    pub fn of(name: &str, input: &Json) -> Action {
        read(name, input).unwrap_or(Action::Other)
    }

    /// True for calls that only look at files: runs of them are shown as one.
    pub fn explores(&self) -> bool {
        matches!(self, Action::Read { .. } | Action::Search { .. } | Action::Find { .. })
    }
}

/// Whether a tool of this name only looks at files, without reading its input.
pub fn explores(name: &str) -> bool {
    matches!(
        name,
        "Read"
            | "read"
            | "read_file"
            | "view"
            | "NotebookRead"
            | "Grep"
            | "grep"
            | "search_files"
            | "Glob"
            | "glob"
            | "find"
            | "LS"
            | "ls"
            | "list_directory"
            | "list_dir"
    )
}

/// Whether a tool of this name gives a task to a subagent.
pub fn delegates(name: &str) -> bool {
    matches!(name, "Task" | "Agent" | "task" | "spawn_agent" | "collabAgentToolCall" | "dispatch_agent")
}

/// Whether a tool of this name carries a message to another agent.
pub fn messages_agent(name: &str) -> bool {
    let short = name.rsplit("__").next().unwrap_or(name);
    matches!(short, "agents_message" | "send_comm" | "SendMessage" | "send_input" | "send_message")
}

/// Splits `mcp__server__tool` at its first two double underscores; the tool may hold more of them.
pub fn mcp_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?
        .split_once("__")
        .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

fn read(name: &str, input: &Json) -> Option<Action> {
    let fields = Fields::of(input);
    let field = |keys: &[&str]| fields.first_text(keys);
    let count = |key: &str| fields.get(key)?.number().map(|n| n as u64);
    if messages_agent(name) {
        return Some(Action::Message {
            to: field(&["to_minion_name", "to", "agent", "agentId", "target", "session", "recipient", "id"])?,
            summary: field(&["summary", "subject"]),
            content: field(&["content", "message", "text", "prompt", "input"]).unwrap_or_default(),
        });
    }
    if let Some((server, tool)) = mcp_name(name) {
        return Some(Action::Mcp { server: server.into(), tool: tool.into() });
    }
    Some(match name {
        "Bash" | "bash" | "PowerShell" | "shell" | "exec_command" | "local_shell" | "local_shell_call"
        | "run_shell_command" | "container.exec" | "shell_command" | "commandExecution"
        | "command_execution" | "execute" | "BashOutput" => {
            Action::Run { command: command(&fields)?, description: field(&["description", "justification"]) }
        }
        "Read" | "read" | "read_file" | "view" | "NotebookRead" | "view_image" => Action::Read {
            path: field(&["file_path", "path", "absolute_path", "notebook_path", "filePath"])?,
            offset: count("offset"),
            limit: count("limit"),
        },
        "Write" | "write" | "write_file" | "create_file" => Action::Write {
            path: field(&["file_path", "path", "absolute_path", "filePath"])?,
            content: field(&["content", "text"])?,
        },
        "Edit" | "edit" | "MultiEdit" | "NotebookEdit" | "replace" | "str_replace" => Action::Edit {
            path: field(&["file_path", "path", "notebook_path", "filePath"])?,
            edits: edits(&fields)?,
        },
        "apply_patch" | "file_change" | "fileChange" => Action::Patch { files: patch(input)? },
        "Grep" | "grep" | "search_files" => Action::Search {
            pattern: field(&["pattern", "query", "regex"])?,
            path: field(&["path", "directory"]),
        },
        "Glob" | "glob" | "find" => {
            Action::Find { pattern: field(&["pattern", "glob"])?, path: field(&["path", "directory"]) }
        }
        "LS" | "ls" | "list_directory" | "list_dir" => Action::Find {
            pattern: field(&["path", "directory", "dir_path"]).unwrap_or_else(|| ".".into()),
            path: None,
        },
        "WebFetch" | "web_fetch" | "fetch" => Action::Fetch { url: field(&["url"])? },
        "WebSearch" | "web_search" | "webSearch" | "web_search_call" => {
            Action::Query { query: field(&["query"]).or_else(|| fields.get("action")?.field_text("query"))? }
        }
        _ if delegates(name) => Action::Delegate {
            description: field(&["description", "task_name", "title", "prompt", "message"])?,
            prompt: field(&["prompt", "message", "task"]).unwrap_or_default(),
            agent: field(&["subagent_type", "agent_type", "agent"]),
        },
        "TodoWrite" | "todo_write" | "update_plan" | "todo_list" | "plan" | "write_todos" => {
            Action::Plan { todos: todos(&fields)? }
        }
        "AskUserQuestion" | "request_user_input" | "requestUserInput" => {
            Action::Question { questions: questions(&fields)? }
        }
        _ => return None,
    })
}

/// A command as one line: a string, or an array of words of which `bash -lc` is left out.
fn command(input: &Fields<'_>) -> Option<Text> {
    let value = ["command", "cmd", "script"].iter().find_map(|key| input.get(key))?;
    if let Some(text) = value.text() {
        return Some(text);
    }
    let words: Vec<String> =
        value.items().iter().filter_map(|word| Some(word.text()?.as_str().into_owned())).collect();
    match words.as_slice() {
        [] => None,
        [shell, flag, script] if flag.starts_with('-') && flag.ends_with('c') && shell.ends_with("sh") => {
            Some(script.as_str().into())
        }
        words => Some(words.join(" ").into()),
    }
}

fn edits(input: &Fields<'_>) -> Option<Vec<(Text, Text)>> {
    let pair = |value: &Fields<'_>| {
        let old = value.first_text(&["old_string", "oldText", "old_str", "old_source"])?;
        let new = value.first_text(&["new_string", "newText", "new_str", "new_source"])?;
        Some((old, new))
    };
    if let Some(list) = input.get("edits") {
        let edits: Vec<_> = list.items().iter().filter_map(|edit| pair(&Fields::of(edit))).collect();
        return (!edits.is_empty()).then_some(edits);
    }
    Some(vec![pair(input)?])
}

/// The files of a patch: `changes` with unified diffs, or the text of Codex's own patch language.
fn patch(input: &Json) -> Option<Vec<FilePatch>> {
    if let Some(text) =
        input.text().or_else(|| ["input", "patch"].iter().find_map(|key| input.field_text(key)))
    {
        let files = codex_patch(&text.as_str());
        return (!files.is_empty()).then_some(files);
    }
    let changes = input.get("changes")?;
    let one = |path: Text, change: &Json| {
        let kind = change.get("kind").unwrap_or_else(|| change.clone());
        let word = kind.text().or_else(|| kind.field_text("type")).unwrap_or_default();
        let kind = match &*word.as_str() {
            "add" => FileChange::Add,
            "delete" => FileChange::Delete,
            _ => FileChange::Update,
        };
        match ["diff", "unified_diff", "content"].iter().find_map(|key| change.field_text(key)) {
            Some(diff) if diff.as_str().contains("@@") => {
                FilePatch::parse_unified(path, kind, &diff.as_str())
            }
            Some(whole) if kind != FileChange::Update => FilePatch::whole(path, kind, &whole.as_str()),
            _ => FilePatch { path, change: kind, hunks: Vec::new() },
        }
    };
    let files: Vec<FilePatch> = match changes.kind() {
        Kind::Array => changes
            .items()
            .iter()
            .map(|item| one(item.field_text("path").unwrap_or_default(), item))
            .collect(),
        Kind::Object => changes.fields().iter().map(|(path, item)| one(path.as_str().into(), item)).collect(),
        _ => return None,
    };
    Some(files)
}

/// Reads `*** Begin Patch … *** Update File: path … *** End Patch`. Its hunks have no line numbers.
fn codex_patch(text: &str) -> Vec<FilePatch> {
    let mut files: Vec<FilePatch> = Vec::new();
    for line in text.lines() {
        let header = [
            ("*** Add File: ", FileChange::Add),
            ("*** Update File: ", FileChange::Update),
            ("*** Delete File: ", FileChange::Delete),
        ]
        .iter()
        .find_map(|(prefix, change)| Some((line.strip_prefix(prefix)?, *change)));
        if let Some((path, change)) = header {
            files.push(FilePatch { path: path.into(), change, hunks: Vec::new() });
            continue;
        }
        let Some(file) = files.last_mut().filter(|_| !line.starts_with("*** ")) else { continue };
        if line.starts_with("@@") || file.hunks.is_empty() {
            file.hunks.push(Hunk::default());
        }
        if let Some(hunk) = file.hunks.last_mut().filter(|_| line.starts_with([' ', '+', '-'])) {
            hunk.lines.push(line.into());
        }
    }
    files
}

fn todos(input: &Fields<'_>) -> Option<Vec<Todo>> {
    let list = ["todos", "plan", "items", "entries"].iter().find_map(|key| input.get(key))?;
    if list.kind() != Kind::Array {
        return None;
    }
    let todo = |item: &Json| {
        let text = ["content", "step", "text", "title"].iter().find_map(|key| item.field_text(key))?;
        let word = item.field_text("status");
        let done = item.get("completed").and_then(|done| done.bool());
        let status = match (word.as_ref().map(|word| word.as_str()).as_deref(), done) {
            (Some("completed" | "done"), _) | (None, Some(true)) => TodoStatus::Done,
            (Some("in_progress" | "inProgress" | "active"), _) => TodoStatus::Active,
            _ => TodoStatus::Pending,
        };
        Some(Todo { text, status })
    };
    Some(list.items().iter().filter_map(todo).collect())
}

fn questions(input: &Fields<'_>) -> Option<Vec<Text>> {
    let list = input.get("questions")?;
    let questions: Vec<Text> = list.items().iter().filter_map(|item| item.field_text("question")).collect();
    (!questions.is_empty()).then_some(questions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(name: &str, input: serde_json::Value) -> Action {
        Action::of(name, &input.into())
    }

    #[test]
    fn every_agent_s_shell_is_a_run() {
        for (name, input) in [
            ("Bash", serde_json::json!({"command": "ls -la"})),
            ("PowerShell", serde_json::json!({"command": "ls -la", "description": "list"})),
            ("exec_command", serde_json::json!({"cmd": "ls -la"})),
            ("shell", serde_json::json!({"command": ["bash", "-lc", "ls -la"]})),
            ("bash", serde_json::json!({"command": "ls -la", "timeout": 3})),
        ] {
            let Action::Run { command, .. } = action(name, input) else { panic!("{name}") };
            assert_eq!(command, "ls -la");
        }
    }

    #[test]
    fn an_input_that_does_not_fit_is_other() {
        assert_eq!(action("Edit", serde_json::json!({"file_path": "x"})), Action::Other);
        assert_eq!(action("Bash", serde_json::json!("ls")), Action::Other);
        assert_eq!(action("Nobody", serde_json::json!({})), Action::Other);
    }

    #[test]
    fn mcp_names_split_at_the_first_two_double_underscores() {
        assert_eq!(mcp_name("mcp__a_b__do__it"), Some(("a_b", "do__it")));
        assert_eq!(mcp_name("mcp__x"), None);
        let Action::Message { to, .. } =
            action("mcp__legion__send_comm", serde_json::json!({"to_minion_name": "fred", "content": "hi"}))
        else {
            panic!()
        };
        assert_eq!(to, "fred");
    }

    #[test]
    fn a_codex_patch_gives_its_files() {
        let text = "*** Begin Patch\n*** Update File: a.rs\n@@ fn x\n ctx\n-old\n+new\n*** Add File: b.rs\n+line\n*** End Patch";
        let Action::Patch { files } = action("apply_patch", serde_json::json!({ "input": text })) else {
            panic!()
        };
        assert_eq!(files.len(), 2);
        assert_eq!(files[0].hunks[0].lines.len(), 3);
        assert_eq!(files[1].change, FileChange::Add);
        assert_eq!(files[1].hunks[0].lines, ["+line"]);
    }
}
