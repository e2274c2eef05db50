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
use crate::filter;
use crate::telling::{Now, Voice};
use crate::watch::News;

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
            News::Call(entry, tool) => out.push(call_element(entry, tool)),
            News::Result(entry, tool) => out.push(result_element(entry, tool)),
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

fn call_element(entry: &Entry, tool: &Tool) -> Value {
    match edit(tool) {
        Some(content) => element(entry, "editDiff", with_call(content, entry, tool)),
        None => {
            let content = json!({"display": display(tool), "input": tool.input});
            element(entry, "toolCall", with_call(content, entry, tool))
        }
    }
}

/// The result as an element of its own; but an edit that went well is told by its diff, now with true line numbers.
fn result_element(entry: &Entry, tool: &Tool) -> Value {
    if tool.state == ToolState::Done && !tool.orphan && edit(tool).is_some() {
        return call_element(entry, tool);
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
        Action::Read { path, .. } | Action::Write { path, .. } | Action::Edit { path, .. } => {
            format!("{name}({path})")
        }
        Action::Search { pattern, .. } | Action::Find { pattern, .. } => {
            format!("{name}(pattern: \"{pattern}\")")
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::testing::*;
    use parlor_model::event::{End, Event, Part, Turn};
    use parlor_model::tool::{FileChange, FilePatch, Output};

    fn say(events: &[Event]) -> Vec<Value> {
        Bench::new(Profile::Elements).say(events)
    }

    #[test]
    fn text_is_an_element_by_the_role_of_its_speaker() {
        assert_eq!(
            say(&[prompt("p", "hi"), reply("m/0", "hello")]),
            [
                json!({"id": "p", "type": "userInput", "timestamp": "2026-03-04T05:06:07.089Z", "role": "user",
                    "content": {"text": "hi"}}),
                json!({"id": "m/0", "type": "assistantText", "timestamp": "2026-03-04T05:06:07.089Z",
                    "role": "assistant", "content": {"text": "hello"}}),
            ]
        );
    }

    #[test]
    fn a_thought_is_an_element_without_its_signature() {
        let all = say(&[thought("m/0", "hm")]);
        assert_eq!((&all[0]["type"], &all[0]["role"]), (&json!("thinking"), &json!("assistant")));
        assert_eq!(all[0]["content"], json!({"text": "hm"}));
    }

    #[test]
    fn the_flow_of_a_tool_run_is_five_elements_in_block_order() {
        let mut bench = Bench::new(Profile::Elements);
        let mut all = Vec::new();
        all.extend(bench.say(&[thought("m1/0", "run the tests")]));
        all.extend(bench.say(&[call("toolu_1", "Bash", json!({"command": "go test ./..."}))]));
        all.extend(bench.say(&[result("toolu_1", ToolState::Done, "PASS")]));
        all.extend(bench.say(&[thought("m2/0", "they pass")]));
        all.extend(bench.say(&[reply("m2/1", "All pass.")]));
        all.extend(bench.say(&[turn(Turn::Done)]));
        all.extend(bench.finish());
        assert_eq!(types(&all), ["thinking", "toolCall", "toolResult", "thinking", "assistantText"]);
        let roles: Vec<&str> = all.iter().filter_map(|element| element["role"].as_str()).collect();
        assert_eq!(roles, ["assistant", "assistant", "user", "assistant", "assistant"]);
    }

    #[test]
    fn one_message_of_several_blocks_is_several_elements_in_block_order() {
        let all =
            say(&[thought("m/0", "a"), reply("m/1", "b"), call("t", "Read", json!({"file_path": "/x"}))]);
        assert_eq!(types(&all), ["thinking", "assistantText", "toolCall"]);
    }

    #[test]
    fn a_result_is_an_element_of_its_own_that_shows_whether_it_failed() {
        for (state, is_error) in
            [(ToolState::Done, false), (ToolState::Failed, true), (ToolState::Denied, true)]
        {
            let all = say(&[call("t", "Bash", json!({"command": "ls"})), result("t", state, "out")]);
            assert_eq!(all[1]["id"], "t/result");
            let expected = json!({"callId": "t", "tool": "Bash", "output": "out", "isError": is_error});
            assert_eq!(all[1]["content"], expected);
        }
    }

    #[test]
    fn a_result_without_a_call_is_still_an_element() {
        assert_eq!(types(&say(&[result("lost", ToolState::Done, "out")])), ["toolResult"]);
    }

    #[test]
    fn calls_are_displayed_by_their_table() {
        for (name, input, display) in [
            ("Bash", json!({"command": "ls -l", "description": "list"}), "Bash(ls -l)"),
            ("Read", json!({"file_path": "/a/b.rs", "offset": 1, "limit": 2}), "Read(/a/b.rs)"),
            ("Write", json!({"file_path": "/a/b.rs", "content": "x"}), "Write(/a/b.rs)"),
            ("Glob", json!({"pattern": "*.rs", "path": "/a"}), "Glob(pattern: \"*.rs\")"),
            ("Grep", json!({"pattern": "fn", "path": "/a"}), "Grep(pattern: \"fn\")"),
            ("TodoWrite", json!({"todos": []}), "TodoWrite(...)"),
            ("mcp__a__b", json!({"x": 1}), "mcp__a__b(...)"),
        ] {
            let all = say(&[call("t", name, input.clone())]);
            assert_eq!(all[0]["type"], "toolCall");
            let expected = json!({"callId": "t", "tool": name, "display": display, "input": input});
            assert_eq!(all[0]["content"], expected);
        }
    }

    #[test]
    fn a_long_command_is_cut_in_the_display_and_whole_in_the_input() {
        let command = "é".repeat(5000);
        let all = say(&[call("t", "Bash", json!({ "command": command }))]);
        assert_eq!(all[0]["content"]["display"].as_str().unwrap().chars().count(), DISPLAY + 1);
        assert_eq!(all[0]["content"]["input"]["command"], command);
    }

    #[test]
    fn an_edit_with_both_strings_is_a_diff_with_header_summary_and_lines() {
        let input = json!({"file_path": "/src/go/file.go", "old_string": "a\nb", "new_string": "a\nc\nd"});
        let all = say(&[call("t", "Edit", input)]);
        assert_eq!(all[0]["type"], "editDiff");
        assert_eq!(
            all[0]["content"],
            json!({
                "callId": "t", "tool": "Edit", "path": "/src/go/file.go", "header": "● Update(.../file.go)",
                "summary": "Added 2 lines, removed 1 line", "added": 2, "removed": 1, "numbers": "snippet",
                "lines": [
                    {"number": 1, "sign": " ", "text": "a"},
                    {"number": 2, "sign": "-", "text": "b"},
                    {"number": 2, "sign": "+", "text": "c"},
                    {"number": 3, "sign": "+", "text": "d"},
                ],
            })
        );
    }

    #[test]
    fn an_edit_without_both_strings_and_any_other_tool_is_a_plain_call() {
        for (name, input) in [
            ("Edit", json!({"file_path": "/a", "new_string": "x"})),
            ("Edit", json!({"file_path": "/a", "old_string": "x"})),
            ("Edit", json!({"file_path": "/a", "old_string": 1, "new_string": 2})),
            ("MultiEdit", json!({"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}]})),
        ] {
            assert_eq!(types(&say(&[call("t", name, input)])), ["toolCall"], "{name}");
        }
    }

    #[test]
    fn the_result_of_an_edit_gives_its_diff_the_numbers_of_the_file() {
        let mut bench = Bench::new(Profile::Elements);
        let input = json!({"file_path": "f.go", "old_string": "old", "new_string": "new"});
        bench.say(&[call("t", "Edit", input)]);
        let patch = FilePatch::parse_unified(
            "f.go".into(),
            FileChange::Update,
            "@@ -237,2 +237,2 @@\n x\n-old\n+new\n",
        );
        let output = Box::new(Output { patches: vec![patch], ..Output::text("updated") });
        let end = End::Result { name: None, state: ToolState::Done, output };
        let all = bench.say(&[Event::End { key: "t".into(), end }]);
        assert_eq!(types(&all), ["editDiff"]);
        assert_eq!(all[0]["id"], "t");
        let content = &all[0]["content"];
        assert_eq!((&content["numbers"], &content["header"]), (&json!("file"), &json!("● Update(f.go)")));
        assert_eq!(content["lines"][1], json!({"number": 238, "sign": "-", "text": "old"}));
        assert_eq!(content["lines"][2], json!({"number": 238, "sign": "+", "text": "new"}));
    }

    #[test]
    fn an_edit_that_failed_shows_its_error() {
        let input = json!({"file_path": "f", "old_string": "old", "new_string": "new"});
        let all = say(&[call("t", "Edit", input), result("t", ToolState::Failed, "not found")]);
        assert_eq!(types(&all), ["editDiff", "toolResult"]);
        assert_eq!(all[1]["content"]["isError"], true);
    }

    #[test]
    fn events_without_a_role_have_elements_of_their_own() {
        let compaction = NoticeKind::Compaction { before: Some(100), after: Some(10) };
        let mut bench = Bench::new(Profile::Elements);
        let mut all = bench.say(&[notice("a", NoticeKind::Diff, "--- a\n+++ b")]);
        all.extend(bench.say(&[notice("b", compaction, "what was said")]));
        all.extend(bench.say(&[interrupt("user_cancel")]));
        assert_eq!(types(&all), ["diff", "contextCompaction", "interrupted"]);
        assert!(all.iter().all(|element| element.get("role").is_none()));
        let content = json!({"summary": "what was said", "tokensBefore": 100, "tokensAfter": 10});
        assert_eq!(all[1]["content"], content);
    }

    #[test]
    fn a_compaction_is_never_also_a_user_input() {
        let compaction = NoticeKind::Compaction { before: None, after: None };
        let mut bench = Bench::new(Profile::Elements);
        let mut all = bench.say(&[prompt("p", "go")]);
        all.extend(bench.say(&[notice("c", compaction, "This session is being continued")]));
        assert_eq!(types(&all), ["userInput", "contextCompaction"]);
    }

    #[test]
    fn caveats_machine_prompts_and_other_remarks_are_no_elements() {
        let machine = Prompt { text: "reminder".into(), author: Author::Machine, ..Prompt::default() };
        let all = say(&[
            prompt(
                "a",
                "  Caveat: The messages below were generated by the user while running local commands.",
            ),
            Event::put("b", Block::Prompt(machine)),
            notice("c", NoticeKind::Info, "info"),
            prompt("d", "What does \"Caveat: The messages below were generated by the user\" mean?"),
        ]);
        assert_eq!(types(&all), ["userInput"]);
        assert_eq!(all[0]["id"], "d");
    }

    #[test]
    fn streamed_text_is_one_element_when_it_is_complete() {
        let mut bench = Bench::new(Profile::Elements);
        assert_eq!(bench.say(&[grow("m", Part::Reply, "hel")]), [] as [Value; 0]);
        assert_eq!(bench.say(&[grow("m", Part::Reply, "lo")]), [] as [Value; 0]);
        let all = bench.say(&[reply("m", "hello")]);
        assert_eq!(types(&all), ["assistantText"]);
        assert_eq!(bench.say(&[reply("m", "hello")]), [] as [Value; 0]);
    }

    #[test]
    fn a_subagent_s_blocks_name_the_call_they_happened_under() {
        let all = say(&[under("task", reply("s", "inner"))]);
        assert_eq!(all[0]["parentCallId"], "task");
    }
}
