//! The `legion` profile: messages with metadata, and the map of tool calls as it changes.
//!
//! A record gives at most one message per speaker: what the agent said, thought and called is one `assistant` message;
//! what came back is one `user` message. A `tool_call` message is the new value of one key of the call map.

use parlor_model::Key;
use parlor_model::block::{Author, Notice, Prompt};
use parlor_model::entry::Entry;
use parlor_model::time::Time;
use parlor_model::tool::{Tool, ToolState};
use serde_json::{Map, Value, json};

use crate::telling::{Now, Voice};
use crate::watch::News;
use crate::{filter, notice};

/// What an assistant message without text says in place of it.
const NO_TEXT: &str = "Assistant response";

/// The voice of the `legion` profile.
#[derive(Debug, Default)]
pub(crate) struct Legion {
    message: Option<Message>,
    results: Vec<Value>,
    /// The call under which the results came.
    results_parent: Option<Key>,
    /// Changes of the call map, which follow the messages that made them.
    changes: Vec<Value>,
}

/// An assistant message that is being put together from the blocks of one record.
#[derive(Debug, Default)]
struct Message {
    id: Option<Key>,
    parent: Option<Key>,
    text: String,
    thoughts: Vec<Value>,
    calls: Vec<Value>,
}

impl Voice for Legion {
    fn tell(&mut self, news: News<'_>, now: &Now<'_>, out: &mut Vec<Value>) {
        match news {
            News::Prompt(entry, prompt) if !prompt.queued => {
                self.flush(now, out);
                out.extend(prompt_message(entry, prompt, now));
            }
            News::Reply(entry, reply, _) => {
                let message = self.message(entry, now, out);
                if !message.text.is_empty() {
                    message.text.push('\n');
                }
                message.text.push_str(&reply.text.as_str());
            }
            News::Thought(entry, thought) => {
                let thought = json!({"content": thought.text, "timestamp": seconds(entry.at)});
                self.message(entry, now, out).thoughts.push(thought);
            }
            News::Call(entry, tool) => {
                let call = json!({"id": entry.id, "name": tool.name, "input": tool.input,
                    "timestamp": seconds(entry.at)});
                self.message(entry, now, out).calls.push(call);
                self.changes.push(call_state(entry, tool, "pending"));
            }
            News::Moved(entry, tool) => {
                let status = if tool.state == ToolState::Running { "executing" } else { "pending" };
                self.changes.push(call_state(entry, tool, status));
            }
            News::Result(entry, tool) => {
                self.flush_message(now, out);
                if self.results_parent != entry.parent {
                    self.flush_results(now, out);
                    self.results_parent = entry.parent.clone();
                }
                let content = tool.output.as_ref().map(|output| output.joined()).unwrap_or_default();
                self.results.push(json!({"tool_use_id": entry.id, "content": content,
                    "is_error": tool.state != ToolState::Done, "timestamp": seconds(entry.ended.or(now.at))}));
                self.changes.push(call_state(
                    entry,
                    tool,
                    if tool.state == ToolState::Done { "completed" } else { "error" },
                ));
            }
            News::Notice(_, notice) => {
                self.flush(now, out);
                if filter::start_up(&notice.kind).is_none() {
                    out.push(system_message(notice, now));
                }
            }
            News::Started
            | News::Prompt(..)
            | News::Opened(_)
            | News::Delta(..)
            | News::Unknown(..)
            | News::Overtaken(_)
            | News::Ended(_) => {}
        }
    }

    fn settle(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        self.flush(now, out);
    }

    fn finish(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        self.flush(now, out);
    }
}

impl Legion {
    /// The message that a block belongs to; another message or speaker ends the one before.
    fn message(&mut self, entry: &Entry, now: &Now<'_>, out: &mut Vec<Value>) -> &mut Message {
        self.flush_results(now, out);
        let same = |message: &Message| message.id == entry.message && message.parent == entry.parent;
        if self.message.as_ref().is_some_and(|message| !same(message)) {
            self.flush_message(now, out);
        }
        let (id, parent) = (entry.message.clone(), entry.parent.clone());
        self.message.get_or_insert_with(|| Message { id, parent, ..Message::default() })
    }

    fn flush(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        self.flush_message(now, out);
        self.flush_results(now, out);
        out.append(&mut self.changes);
    }

    fn flush_message(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        let Some(message) = self.message.take() else { return };
        let mut metadata = Map::new();
        if let Some(model) = &now.session.model {
            metadata.insert("model".into(), model.as_str().into());
        }
        let (thinks, calls) = (!message.thoughts.is_empty(), !message.calls.is_empty());
        if thinks {
            let words: Vec<&str> =
                message.thoughts.iter().filter_map(|thought| thought["content"].as_str()).collect();
            metadata.insert("thinking_content".into(), words.join("\n").into());
            metadata.insert("thinking_blocks".into(), message.thoughts.into());
        }
        if calls {
            metadata.insert("tool_uses".into(), message.calls.into());
        }
        flags(&mut metadata, [calls, thinks, false]);
        if let Some(id) = message.id {
            metadata.insert("message_id".into(), id.as_str().into());
        }
        if let Some(parent) = message.parent {
            metadata.insert("parent_tool_use_id".into(), parent.as_str().into());
        }
        let text = if message.text.is_empty() { NO_TEXT.to_owned() } else { message.text };
        out.push(whole("assistant", text.into(), seconds(now.at), Some(metadata), now));
    }

    fn flush_results(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        if self.results.is_empty() {
            return;
        }
        let results = std::mem::take(&mut self.results);
        let content = format!("Tool results: {} results", results.len());
        let mut metadata = Map::new();
        metadata.insert("tool_uses".into(), Value::Array(Vec::new()));
        metadata.insert("tool_results".into(), results.into());
        flags(&mut metadata, [false, false, true]);
        if let Some(parent) = &self.results_parent {
            metadata.insert("parent_tool_use_id".into(), parent.as_str().into());
        }
        out.push(whole("user", content.into(), seconds(now.at), Some(metadata), now));
    }
}

fn prompt_message(entry: &Entry, prompt: &Prompt, now: &Now<'_>) -> Option<Value> {
    if filter::caveat(prompt).is_some() {
        return None;
    }
    let metadata = |subtype: &str| {
        let mut metadata = Map::new();
        metadata.insert("subtype".into(), subtype.into());
        if let Some(parent) = &entry.parent {
            metadata.insert("parent_tool_use_id".into(), parent.as_str().into());
        }
        flags(&mut metadata, [false, false, false]);
        metadata
    };
    let (kind, metadata) = match &prompt.author {
        Author::Person => ("user", None),
        Author::Peer { name } => {
            let mut metadata = metadata("agent_message");
            metadata.insert("from".into(), name.as_str().into());
            ("user", Some(metadata))
        }
        Author::Caller => ("user", Some(metadata("task"))),
        Author::Machine => ("system", Some(metadata("injected"))),
    };
    Some(whole(kind, prompt.text.as_str().into(), iso(entry.at), metadata, now))
}

/// A remark. The fields that describe a session's start are there, as ever, and empty.
fn system_message(notice: &Notice, now: &Now<'_>) -> Value {
    let mut metadata = Map::new();
    metadata.insert("subtype".into(), notice::word(&notice.kind).into());
    metadata.insert("session_id".into(), json!(now.session.id));
    for name in ["working_directory", "permissions"] {
        metadata.insert(name.into(), Value::Null);
    }
    metadata.insert("tools".into(), Value::Array(Vec::new()));
    for name in ["model", "system_prompt"] {
        metadata.insert(name.into(), Value::Null);
    }
    flags(&mut metadata, [false, false, false]);
    whole("system", notice.text.as_str().into(), iso(now.at), Some(metadata), now)
}

/// The value of a call in the map of calls.
fn call_state(entry: &Entry, tool: &Tool, status: &str) -> Value {
    let ended = tool.state.is_final() && status != "pending";
    let result = match ended {
        true => Value::from(tool.output.as_ref().map(|output| output.joined()).unwrap_or_default()),
        false => Value::Null,
    };
    json!({"type": "tool_call", "call": {
        "id": entry.id,
        "name": tool.name,
        "status": status,
        "input": if tool.input.is_missing() { json!({}) } else { tool.input.value() },
        "result": result,
        "isError": status == "error",
        "timestamp": seconds(entry.at),
        "resultTimestamp": if ended { seconds(entry.ended) } else { Value::Null },
    }})
}

fn flags(metadata: &mut Map<String, Value>, [calls, thinks, results]: [bool; 3]) {
    metadata.insert("has_tool_uses".into(), calls.into());
    metadata.insert("has_thinking".into(), thinks.into());
    metadata.insert("has_tool_results".into(), results.into());
}

fn whole(
    kind: &str,
    content: Value,
    at: Value,
    metadata: Option<Map<String, Value>>,
    now: &Now<'_>,
) -> Value {
    let mut message = Map::new();
    message.insert("type".into(), kind.into());
    message.insert("content".into(), content);
    message.insert("timestamp".into(), at);
    if let Some(metadata) = metadata {
        message.insert("metadata".into(), metadata.into());
    }
    if let Some(id) = &now.session.id {
        message.insert("session_id".into(), id.as_str().into());
    }
    Value::Object(message)
}

/// Seconds since 1970 with a fraction: how agents' messages are stamped.
fn seconds(at: Option<Time>) -> Value {
    at.map_or(Value::Null, |at| at.seconds().into())
}

/// ISO 8601 with microseconds and an offset: how people's and system messages are stamped.
fn iso(at: Option<Time>) -> Value {
    let stamp = at.and_then(Time::stamp).map(|stamp| format!("{stamp:.6}").replace('Z', "+00:00"));
    stamp.map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::testing::*;
    use parlor_model::block::NoticeKind;
    use parlor_model::event::{Event, Part, Turn};
    use std::collections::BTreeMap;

    const AT: f64 = 1_772_600_767.089;

    fn bench() -> Bench {
        let mut bench = Bench::new(Profile::Legion);
        bench.session.id = Some("s-1".into());
        bench.session.model = Some("model-x".into());
        bench
    }

    /// The call map after these messages: what a client keeps.
    fn fold(calls: &mut BTreeMap<String, Value>, messages: &[Value]) {
        for message in messages.iter().filter(|message| message["type"] == "tool_call") {
            calls.insert(message["call"]["id"].as_str().unwrap().into(), message["call"].clone());
        }
    }

    #[test]
    fn a_person_s_message_is_plain_and_has_no_metadata() {
        let expected = json!({"type": "user", "content": "hi", "timestamp": "2026-03-04T05:06:07.089000+00:00",
            "session_id": "s-1"});
        assert_eq!(bench().say(&[prompt("p", "hi")]), [expected]);
    }

    #[test]
    fn a_reply_has_metadata_with_its_flags() {
        let expected = json!({"type": "assistant", "content": "hello", "timestamp": AT, "metadata": {
            "model": "model-x", "has_tool_uses": false, "has_thinking": false, "has_tool_results": false},
            "session_id": "s-1"});
        assert_eq!(bench().say(&[reply("m/0", "hello")]), [expected]);
    }

    #[test]
    fn calls_stand_in_metadata_under_a_placeholder() {
        let all = bench().say(&[
            of_message("m", call("toolu_1", "mcp__legion__send_comm", json!({"to_minion_name": "fred"}))),
            of_message("m", call("toolu_2", "Read", json!({"file_path": "/x"}))),
        ]);
        let message = json!({"type": "assistant", "content": "Assistant response", "timestamp": AT, "metadata": {
            "model": "model-x",
            "tool_uses": [
                {"id": "toolu_1", "name": "mcp__legion__send_comm", "input": {"to_minion_name": "fred"},
                    "timestamp": AT},
                {"id": "toolu_2", "name": "Read", "input": {"file_path": "/x"}, "timestamp": AT},
            ],
            "has_tool_uses": true, "has_thinking": false, "has_tool_results": false, "message_id": "m"},
            "session_id": "s-1"});
        assert_eq!(all[0], message);
        assert_eq!(types(&all), ["assistant", "tool_call", "tool_call"]);
    }

    #[test]
    fn results_stand_in_metadata_under_a_placeholder() {
        let mut bench = bench();
        bench.say(&[
            call("a", "Read", json!({"file_path": "/x"})),
            call("b", "Read", json!({"file_path": "/y"})),
        ]);
        let all = bench.say(&[result("a", ToolState::Done, "x"), result("b", ToolState::Failed, "gone")]);
        let message = json!({"type": "user", "content": "Tool results: 2 results", "timestamp": AT, "metadata": {
            "tool_uses": [],
            "tool_results": [
                {"tool_use_id": "a", "content": "x", "is_error": false, "timestamp": AT},
                {"tool_use_id": "b", "content": "gone", "is_error": true, "timestamp": AT},
            ],
            "has_tool_uses": false, "has_thinking": false, "has_tool_results": true},
            "session_id": "s-1"});
        assert_eq!(all[0], message);
        assert_eq!(types(&all), ["user", "tool_call", "tool_call"]);
    }

    #[test]
    fn thinking_is_told_whole_and_in_blocks() {
        let all = bench().say(&[thought("m/0", "one"), thought("m/1", "two"), reply("m/2", "done")]);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0]["content"], "done");
        let metadata = &all[0]["metadata"];
        assert_eq!(metadata["thinking_content"], "one\ntwo");
        let blocks = json!([{"content": "one", "timestamp": AT}, {"content": "two", "timestamp": AT}]);
        assert_eq!(metadata["thinking_blocks"], blocks);
        assert_eq!((&metadata["has_thinking"], &metadata["has_tool_uses"]), (&json!(true), &json!(false)));
    }

    #[test]
    fn system_messages_are_minimal_and_start_up_reports_are_hidden() {
        let status = |name: &str| NoticeKind::Status { name: name.into() };
        let all = bench().say(&[
            notice("a", status("init"), "x"),
            notice("b", status("client_launched"), "y"),
            notice("c", status("interrupt"), "z"),
        ]);
        let expected = json!({"type": "system", "content": "z", "timestamp": "2026-03-04T05:06:07.089000+00:00",
            "metadata": {"subtype": "interrupt", "session_id": "s-1", "working_directory": null, "permissions": null,
                "tools": [], "model": null, "system_prompt": null, "has_tool_uses": false, "has_thinking": false,
                "has_tool_results": false},
            "session_id": "s-1"});
        assert_eq!(all, [expected]);
    }

    #[test]
    fn a_call_is_pending_then_executing_then_completed() {
        let (mut bench, mut calls) = (bench(), BTreeMap::new());
        fold(&mut calls, &bench.say(&[call("t", "Bash", json!({"command": "ls"}))]));
        let pending = json!({"id": "t", "name": "Bash", "status": "pending", "input": {"command": "ls"},
            "result": null, "isError": false, "timestamp": AT, "resultTimestamp": null});
        assert_eq!(calls["t"], pending);
        fold(&mut calls, &bench.say(&[grow("t", Part::Output, "a")]));
        assert_eq!((&calls["t"]["status"], &calls["t"]["result"]), (&json!("executing"), &Value::Null));
        bench.wait_seconds(2);
        fold(&mut calls, &bench.say(&[result("t", ToolState::Done, "a\n")]));
        let completed = json!({"id": "t", "name": "Bash", "status": "completed", "input": {"command": "ls"},
            "result": "a\n", "isError": false, "timestamp": AT, "resultTimestamp": AT + 2.0});
        assert_eq!(calls["t"], completed);
        assert_eq!(calls.len(), 1);
    }

    #[test]
    fn a_call_that_waits_is_pending_and_runs_once_it_is_answered() {
        let (mut bench, mut calls) = (bench(), BTreeMap::new());
        fold(&mut calls, &bench.say(&[call("t", "Bash", json!({"command": "ls"})), ask("t", "q")]));
        assert_eq!(calls["t"]["status"], "pending");
        fold(&mut calls, &bench.say(&[Event::Ask { key: "t".into(), ask: None }]));
        assert_eq!(calls["t"]["status"], "executing");
    }

    #[test]
    fn a_call_that_did_not_end_well_is_an_error() {
        for state in [ToolState::Failed, ToolState::Denied, ToolState::Interrupted] {
            let (mut bench, mut calls) = (bench(), BTreeMap::new());
            fold(&mut calls, &bench.say(&[call("t", "Bash", json!({"command": "ls"}))]));
            fold(&mut calls, &bench.say(&[result("t", state, "no")]));
            assert_eq!((&calls["t"]["status"], &calls["t"]["isError"]), (&json!("error"), &json!(true)));
        }
    }

    #[test]
    fn a_call_or_a_result_said_twice_is_told_once() {
        let mut bench = bench();
        let call = call("t", "Bash", json!({"command": "ls"}));
        assert_eq!(bench.say(std::slice::from_ref(&call)).len(), 2);
        assert_eq!(bench.say(&[call]).len(), 0);
        assert_eq!(bench.say(&[result("t", ToolState::Done, "a")]).len(), 2);
        assert_eq!(bench.say(&[result("t", ToolState::Done, "a")]).len(), 0);
    }

    #[test]
    fn results_are_matched_to_calls_by_id_in_any_order() {
        let (mut bench, mut calls) = (bench(), BTreeMap::new());
        fold(
            &mut calls,
            &bench.say(&[
                call("a", "Read", json!({"file_path": "1"})),
                call("b", "Bash", json!({"command": "2"})),
            ]),
        );
        fold(&mut calls, &bench.say(&[result("b", ToolState::Done, "for b")]));
        assert_eq!((&calls["a"]["status"], &calls["b"]["result"]), (&json!("pending"), &json!("for b")));
        fold(&mut calls, &bench.say(&[result("a", ToolState::Done, "for a")]));
        assert_eq!(calls["a"]["result"], "for a");
    }

    #[test]
    fn a_result_without_a_call_is_in_the_map_and_in_a_message() {
        let all = bench().say(&[result("lost", ToolState::Done, "out")]);
        assert_eq!(types(&all), ["user", "tool_call"]);
        assert_eq!((&all[1]["call"]["status"], &all[1]["call"]["input"]), (&json!("completed"), &json!({})));
    }

    #[test]
    fn another_message_or_another_speaker_is_another_message() {
        let all = bench().say(&[
            of_message("m1", reply("a", "one")),
            of_message("m2", reply("b", "two")),
            under("task", reply("c", "three")),
            turn(Turn::Done),
        ]);
        let contents: Vec<&str> = all.iter().filter_map(|message| message["content"].as_str()).collect();
        assert_eq!(contents, ["one", "two", "three"]);
        assert_eq!(all[2]["metadata"]["parent_tool_use_id"], "task");
    }

    #[test]
    fn deltas_and_caveats_are_not_told() {
        let mut bench = bench();
        assert_eq!(bench.say(&[grow("m", Part::Reply, "hel")]), [] as [Value; 0]);
        assert_eq!(
            bench.say(&[prompt("p", "Caveat: The messages below were generated by the user")]),
            [] as [Value; 0]
        );
    }
}
