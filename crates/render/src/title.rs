//! The titles of calls, in words that fit a line. It says nothing of what came back.

use std::borrow::Cow;
use std::fmt::Write;

use parlor_model::action::Action;
use parlor_model::json::{Json, Kind};
use parlor_model::text::Text;
use parlor_model::tool::Tool;

use crate::clip::one_line;

/// The title as terminals show it: `Bash(ls)`, `Update(…/file.go)`, `Grep(pattern: "x")`, `TodoWrite(...)`.
pub fn title_call(tool: &Tool, cwd: Option<&str>) -> String {
    let path = |path: &Text| relative(&path.as_str(), cwd).into_owned();
    match tool.action() {
        Action::Run { command, .. } => format!("{}({})", shell_name(tool), command.as_str()),
        Action::Read { path: file, .. } => format!("Read({})", path(&file)),
        Action::Write { path: file, .. } => format!("Write({})", path(&file)),
        Action::Edit { path: file, .. } => format!("Update({})", short(&file.as_str(), cwd)),
        Action::Patch { files } => {
            let names: Vec<String> =
                files.iter().take(3).map(|file| short(&file.path.as_str(), cwd)).collect();
            let more = if files.len() > 3 { ", …" } else { "" };
            format!("Update({}{more})", names.join(", "))
        }
        Action::Search { pattern, path: within } => pattern_call("Grep", &pattern, within.as_ref().map(path)),
        Action::Find { pattern, path: within } => pattern_call("Glob", &pattern, within.as_ref().map(path)),
        Action::Fetch { url } => format!("WebFetch({})", url.as_str()),
        Action::Query { query } => format!("WebSearch(\"{}\")", query.as_str()),
        Action::Delegate { description, .. } => format!("Task({})", one_line(&description.as_str(), 120)),
        Action::Plan { .. } => "TodoWrite(...)".to_owned(),
        Action::Message { to, .. } => format!("Message({})", to.as_str()),
        Action::Question { questions } => {
            format!(
                "Question({})",
                questions
                    .first()
                    .map(|first| one_line(&first.as_str(), 120).into_owned())
                    .unwrap_or_default()
            )
        }
        Action::Mcp { server, tool: name } => {
            format!("{} - {} (MCP)({})", server.as_str(), name.as_str(), parameters(&tool.input).0)
        }
        Action::Other if tool.orphan => tool_name(tool).to_owned(),
        Action::Other => format!("{}({})", tool_name(tool), argument_of_other(tool)),
    }
}

/// A path as seen from the working directory.
pub(crate) fn relative<'a>(path: &'a str, cwd: Option<&str>) -> Cow<'a, str> {
    let below = cwd
        .map(|cwd| cwd.trim_end_matches('/'))
        .filter(|cwd| !cwd.is_empty())
        .and_then(|cwd| path.strip_prefix(cwd));
    match below.and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) if !rest.is_empty() => Cow::Borrowed(rest),
        _ => Cow::Borrowed(path),
    }
}

/// What a tool that nobody knows is called with: its title, or the first fields of its input.
pub(crate) fn argument_of_other(tool: &Tool) -> String {
    match &tool.title {
        Some(title) => one_line(&title.as_str(), 160).into_owned(),
        None => parameters(&tool.input).0,
    }
}

/// The name of a tool that nobody knows.
pub(crate) fn tool_name(tool: &Tool) -> &str {
    match tool.name.as_str() {
        "" if tool.orphan => "Tool Result",
        "" => "Tool",
        name => name,
    }
}

/// The name of a shell.
pub(crate) fn shell_name(tool: &Tool) -> &'static str {
    if tool.name.eq_ignore_ascii_case("bash") { "Bash" } else { "Shell" }
}

/// The first fields of an input, as many as fit on a line; false when something of it is not shown.
pub(crate) fn parameters(input: &Json) -> (String, bool) {
    const ROOM: usize = 120;
    if let Some(text) = input.text() {
        let whole = text.as_str();
        let line = one_line(&whole, ROOM);
        let complete = line == whole.trim();
        return (line.into_owned(), complete);
    }
    let (mut line, mut complete) = (String::new(), true);
    for (name, value) in input.fields() {
        let shown = match value.kind() {
            Kind::String => {
                let text = value.text().unwrap_or_default();
                let whole = text.as_str();
                let short = one_line(&whole, 60);
                complete &= short == whole;
                format!("\"{short}\"")
            }
            Kind::Object | Kind::Array => {
                complete &= matches!(&value.bytes()[..], b"{}" | b"[]");
                (if value.kind() == Kind::Object { "{…}" } else { "[…]" }).to_owned()
            }
            Kind::Null => continue,
            Kind::Number | Kind::True | Kind::False | Kind::Nothing => value.lossy().into_owned(),
        };
        if line.len() + name.len() + shown.len() > ROOM && !line.is_empty() {
            line.push_str(", …");
            return (line, false);
        }
        let comma = if line.is_empty() { "" } else { ", " };
        let _ = write!(line, "{comma}{}: {shown}", one_line(&name, 40));
    }
    (line, complete)
}

fn pattern_call(name: &str, pattern: &Text, within: Option<String>) -> String {
    let within = within.map_or_else(String::new, |within| format!(", path: \"{within}\""));
    format!("{name}(pattern: \"{}\"{within})", pattern.as_str())
}

/// A path short enough for a title: `src/file.go`, or `…/file.go` where it is far from the working directory.
fn short(path: &str, cwd: Option<&str>) -> String {
    const SHORT: usize = 40;
    let seen = relative(path, cwd);
    let far = seen.starts_with('/') && seen.matches('/').count() > 2;
    match seen.rsplit_once('/') {
        Some((_, name)) if far || seen.chars().count() > SHORT => format!("…/{name}"),
        _ => seen.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn title(name: &str, input: serde_json::Value) -> String {
        title_call(&Tool::call(name, input.into()), Some("/home/kim/ferry/"))
    }

    #[test]
    fn every_tool_has_a_title_for_terminals() {
        for (name, input, expected) in [
            ("Bash", json!({"command": "ls -la", "description": "List"}), "Bash(ls -la)"),
            ("shell", json!({"command": ["bash", "-lc", "ls"]}), "Shell(ls)"),
            ("Read", json!({"file_path": "/home/kim/ferry/src/a.rs", "offset": 3}), "Read(src/a.rs)"),
            ("Write", json!({"file_path": "/etc/hosts", "content": "x"}), "Write(/etc/hosts)"),
            (
                "Edit",
                json!({"file_path": "/srv/www/site/file.go", "old_string": "a", "new_string": "b"}),
                "Update(…/file.go)",
            ),
            (
                "Edit",
                json!({"file_path": "/home/kim/ferry/file.go", "old_string": "a", "new_string": "b"}),
                "Update(file.go)",
            ),
            (
                "Edit",
                json!({"file_path": "file.go", "old_string": "a"}),
                "Edit(file_path: \"file.go\", old_string: \"a\")",
            ),
            ("Glob", json!({"pattern": "**/*.rs"}), "Glob(pattern: \"**/*.rs\")"),
            (
                "Grep",
                json!({"pattern": "x", "path": "/home/kim/ferry/src"}),
                "Grep(pattern: \"x\", path: \"src\")",
            ),
            ("TodoWrite", json!({"todos": [{"content": "a", "status": "pending"}]}), "TodoWrite(...)"),
            ("WebFetch", json!({"url": "https://example.org"}), "WebFetch(https://example.org)"),
            ("WebSearch", json!({"query": "rust"}), "WebSearch(\"rust\")"),
            ("Task", json!({"description": "Review", "prompt": "p"}), "Task(Review)"),
            ("mcp__github__get_issue", json!({"id": 7}), "github - get_issue (MCP)(id: 7)"),
            ("mcp__legion__send_comm", json!({"to_minion_name": "fred", "content": "x"}), "Message(fred)"),
            ("Frobnicate", json!({"level": 3, "none": null}), "Frobnicate(level: 3)"),
            ("Frobnicate", json!([1]), "Frobnicate()"),
        ] {
            assert_eq!(title(name, input), expected);
        }
    }

    #[test]
    fn the_fields_of_an_input_fit_on_a_line() {
        let (line, complete) = parameters(&json!({"a": "x", "b": true, "c": 1.5}).into());
        assert_eq!((line.as_str(), complete), ("a: \"x\", b: true, c: 1.5", true));
        let (line, complete) = parameters(&json!({"long": "y".repeat(500), "deep": {"a": 1}}).into());
        assert!(line.len() < 200 && !complete, "{line}");
        let (line, complete) = parameters(
            &json!((0..200).map(|n| (format!("k{n}"), n.into())).collect::<serde_json::Map<_, _>>()).into(),
        );
        assert!(line.ends_with(", …") && line.len() < 140 && !complete, "{line}");
        let fragment = Json::new(bytes::Bytes::from_static(b"{\"a\":\"x"));
        assert_eq!(parameters(&fragment).0, "a: \"x\"");
    }

    #[test]
    fn a_path_is_relative_only_below_the_working_directory() {
        for (path, cwd, expected) in [
            ("/a/b/c", Some("/a/b"), "c"),
            ("/a/b/c", Some("/a/b/"), "c"),
            ("/a/bc", Some("/a/b"), "/a/bc"),
            ("/a/b", Some("/a/b"), "/a/b"),
            ("c", Some("/a/b"), "c"),
            ("/c", Some("/"), "/c"),
            ("/c", None, "/c"),
        ] {
            assert_eq!(relative(path, cwd), expected);
        }
    }
}
