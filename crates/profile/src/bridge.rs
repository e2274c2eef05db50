//! The `bridge` profile: `stream` messages with the agent's state, without deltas, for small clients.
//!
//! The busy states come before what they announce and `idle` comes last, once a turn. What the [`BridgeSieve`] hides is
//! not sent.

use parlor_model::Key;
use parlor_model::action::Action;
use parlor_model::block::{Author, NoticeKind};
use parlor_model::entry::Entry;
use parlor_model::event::Turn;
use parlor_model::session::Phase;
use parlor_model::time::Time;
use parlor_model::tool::{Tool, ToolState};
use parlor_model::usage::Usage;
use serde_json::{Value, json};

use crate::filter::{self, BridgeSieve};
use crate::notice;
use crate::telling::{Now, Voice};
use crate::watch::News;

/// A call is reported as long-running every so many seconds.
const PROGRESS_SECONDS: u64 = 5;

/// How many open calls are reported as long-running: the ones that were started last.
const PROGRESS_CALLS: usize = 16;

/// The voice of the `bridge` profile.
#[derive(Debug, Default)]
pub(crate) struct Bridge {
    sieve: BridgeSieve,
    state: Option<Value>,
    open: Vec<Open>,
    usage: (Usage, Option<f64>),
    /// The record that spoke last, and how many messages it gave: together they name a message.
    seq: u64,
    count: u64,
}

/// A call that has no result yet.
#[derive(Debug)]
struct Open {
    id: Key,
    tool: Key,
    since: Option<Time>,
    told: u64,
}

impl Voice for Bridge {
    fn tell(&mut self, news: News<'_>, now: &Now<'_>, out: &mut Vec<Value>) {
        match news {
            News::Prompt(entry, prompt) if !prompt.queued => {
                if filter::caveat(prompt).is_some() {
                    return;
                }
                let message = match &prompt.author {
                    Author::Person => json!({"type": "user", "content": prompt.text}),
                    Author::Peer { .. } | Author::Caller => {
                        json!({"type": "system", "content": prompt.text, "subtype": "agent_message"})
                    }
                    Author::Machine => {
                        json!({"type": "system", "content": prompt.text, "subtype": "injected"})
                    }
                };
                self.send(nested(message, entry), now, out);
            }
            News::Opened(_) => self.busy(now, out),
            News::Reply(entry, reply, _) => {
                let message = json!({"type": "assistant", "content": reply.text, "delta": false});
                self.send(nested(message, entry), now, out);
            }
            News::Thought(entry, thought) if !thought.text.is_empty() => {
                let message = json!({"type": "thinking", "content": thought.text});
                self.send(nested(message, entry), now, out);
            }
            News::Call(entry, tool) => {
                self.busy(now, out);
                let since = entry.at.or(now.at);
                if self.open.len() == PROGRESS_CALLS {
                    self.open.remove(0);
                }
                self.open.push(Open { id: entry.id.clone(), tool: tool.name.clone(), since, told: 0 });
                let message =
                    json!({"type": "tool_use", "id": entry.id, "name": tool.name, "input": tool.input});
                self.send(nested(message, entry), now, out);
            }
            News::Moved(entry, tool) => self.ask(entry, tool, now, out),
            News::Result(entry, tool) => self.result(entry, tool, now, out),
            News::Notice(entry, notice) => {
                let message = match &notice.kind {
                    NoticeKind::Interrupted => json!({"type": "interrupted"}),
                    NoticeKind::Result | NoticeKind::Error | NoticeKind::Compaction { .. } => {
                        json!({"type": "system", "content": notice.text, "subtype": notice::word(&notice.kind)})
                    }
                    // The rest is bookkeeping to a small client.
                    NoticeKind::Info
                    | NoticeKind::Warning
                    | NoticeKind::Retry
                    | NoticeKind::Command { .. }
                    | NoticeKind::Hook { .. }
                    | NoticeKind::Task
                    | NoticeKind::Diff
                    | NoticeKind::Status { .. } => return,
                };
                self.send(nested(message, entry), now, out);
            }
            News::Ended(turn) => {
                if !matches!(turn, Turn::Start) {
                    self.open.clear();
                    self.usage(now, out);
                }
            }
            News::Started
            | News::Prompt(..)
            | News::Thought(..)
            | News::Delta(..)
            | News::Unknown(..)
            | News::Overtaken(_) => {}
        }
    }

    fn settle(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        self.progress(now, out);
        if now.session.phase == Phase::Idle {
            self.idle(now, out);
        } else {
            self.busy(now, out);
        }
    }

    fn finish(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        self.idle(now, out);
    }
}

impl Bridge {
    /// Sends a message in its envelope, unless a rule hides it.
    fn send(&mut self, message: Value, now: &Now<'_>, out: &mut Vec<Value>) {
        if self.sieve.hides(&message).is_some() {
            return;
        }
        self.count = if self.seq == now.seq { self.count.saturating_add(1) } else { 1 };
        self.seq = now.seq;
        let mut envelope = json!({"type": "stream", "id": format!("{}-{}", now.seq, self.count)});
        if let Some(at) = now.at {
            envelope["timestamp"] = at.iso_millis().into();
        }
        envelope["message"] = message;
        out.push(envelope);
    }

    /// Tells the state of an agent at work, when it is another one.
    fn busy(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        let message = match &now.session.phase {
            Phase::Idle => return,
            Phase::Preparing => json!({"type": "state", "state": "executing"}),
            // These clients know no state for writing.
            Phase::Thinking | Phase::Replying => json!({"type": "state", "state": "thinking"}),
            Phase::Executing { tool } => json!({"type": "state", "state": "executing", "tool": tool}),
            Phase::Waiting { tool } => {
                let asks =
                    matches!(tool.as_str(), "AskUserQuestion" | "request_user_input" | "requestUserInput");
                let state = if asks { "waiting_input" } else { "waiting_permission" };
                json!({"type": "state", "state": state, "tool": tool})
            }
        };
        if self.state.as_ref() != Some(&message) {
            self.state = Some(message.clone());
            self.send(message, now, out);
        }
    }

    /// Tells that the agent is idle, if it was at work.
    fn idle(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        if self.state.take().is_some() {
            self.usage(now, out);
            self.send(json!({"type": "state", "state": "idle"}), now, out);
        }
    }

    fn ask(&mut self, entry: &Entry, tool: &Tool, now: &Now<'_>, out: &mut Vec<Value>) {
        let Some(ask) = &tool.ask else { return };
        self.busy(now, out);
        let message = match tool.action() {
            Action::Question { questions } => {
                json!({"type": "question", "id": ask.id, "questions": questions})
            }
            _ => json!({"type": "permission", "id": ask.id, "tool": tool.name, "input": tool.input,
                "options": ask.options}),
        };
        self.send(nested(message, entry), now, out);
    }

    fn result(&mut self, entry: &Entry, tool: &Tool, now: &Now<'_>, out: &mut Vec<Value>) {
        self.open.retain(|open| open.id != entry.id);
        let output = tool.output.as_ref().map(|output| output.joined()).unwrap_or_default();
        let success = tool.state == ToolState::Done;
        let message = json!({"type": "tool_result", "id": entry.id, "tool": tool.name, "output": output,
            "success": success, "isError": !success});
        self.send(nested(message, entry), now, out);
    }

    /// Tells the session's totals, when they have changed.
    fn usage(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        let (usage, cost) = (now.session.usage, now.session.cost_usd);
        if (usage, cost) == self.usage || (usage, cost) == Default::default() {
            return;
        }
        self.usage = (usage, cost);
        let message = json!({"type": "usage", "inputTokens": usage.input, "outputTokens": usage.output,
            "cacheReadTokens": usage.cache_read, "cacheCreateTokens": usage.cache_write, "totalCost": cost});
        self.send(message, now, out);
    }

    /// Tells how long the open calls have been running, by the records' own times.
    fn progress(&mut self, now: &Now<'_>, out: &mut Vec<Value>) {
        let Some(at) = now.at else { return };
        let mut messages = Vec::new();
        for open in &mut self.open {
            let elapsed_us = open.since.map_or(0, |since| at.0.saturating_sub(since.0)).max(0);
            let elapsed = elapsed_us as u64 / 1_000_000;
            if elapsed >= open.told.saturating_add(PROGRESS_SECONDS) {
                open.told = elapsed;
                messages
                    .push(json!({"type": "progress", "id": open.id, "tool": open.tool, "elapsed": elapsed}));
            }
        }
        for message in messages {
            self.send(message, now, out);
        }
    }
}

fn nested(mut message: Value, entry: &Entry) -> Value {
    if let Some(parent) = &entry.parent {
        message["parentId"] = parent.as_str().into();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::testing::*;
    use parlor_model::block::{Block, Prompt};
    use parlor_model::event::{Event, Part};

    fn messages(envelopes: &[Value]) -> Vec<Value> {
        envelopes.iter().map(|envelope| envelope["message"].clone()).collect()
    }

    fn said(bench: &mut Bench, events: &[Event]) -> Vec<Value> {
        messages(&bench.say(events))
    }

    fn state(state: &str) -> Value {
        json!({"type": "state", "state": state})
    }

    #[test]
    fn every_message_is_in_a_stream_envelope_with_its_own_id() {
        let mut bench = Bench::new(Profile::Bridge);
        let all = bench.say(&[prompt("p", "hi"), turn(Turn::Start)]);
        let envelope = |id: &str, message: Value| {
            json!({"type": "stream", "id": id,
            "timestamp": "2026-03-04T05:06:07.089Z", "message": message})
        };
        let user = json!({"type": "user", "content": "hi"});
        assert_eq!(all, [envelope("0-1", user), envelope("0-2", state("executing"))]);
    }

    #[test]
    fn the_flow_of_a_question_answered_by_a_command() {
        let mut bench = Bench::new(Profile::Bridge);
        let mut all = Vec::new();
        let status = NoticeKind::Status { name: "init".into() };
        all.extend(said(&mut bench, &[turn(Turn::Start)]));
        all.extend(said(&mut bench, &[notice("i", status, "Session initialized with model x")]));
        all.extend(said(&mut bench, &[grow("m/0", Part::Thought, "hm")]));
        all.extend(said(&mut bench, &[grow("m/1", Part::Reply, "I'll ")]));
        all.extend(said(&mut bench, &[grow("m/1", Part::Reply, "check.")]));
        all.extend(said(&mut bench, &[reply("m/1", "I'll check.")]));
        all.extend(said(&mut bench, &[call("toolu_1", "Bash", json!({"command": "git log -2"}))]));
        all.extend(said(&mut bench, &[result("toolu_1", ToolState::Done, "41f4 fix")]));
        all.extend(said(&mut bench, &[turn(Turn::Done)]));
        all.extend(said(&mut bench, &[turn(Turn::Done)]));
        all.extend(messages(&bench.finish()));
        assert_eq!(
            all,
            [
                state("executing"),
                state("thinking"),
                json!({"type": "assistant", "content": "I'll check.", "delta": false}),
                json!({"type": "state", "state": "executing", "tool": "Bash"}),
                json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "git log -2"}}),
                json!({"type": "tool_result", "id": "toolu_1", "tool": "Bash", "output": "41f4 fix",
                    "success": true, "isError": false}),
                state("thinking"),
                state("idle"),
            ]
        );
    }

    #[test]
    fn a_prompt_that_waits_is_sent_when_it_is_delivered() {
        let mut bench = Bench::new(Profile::Bridge);
        let waiting = Prompt { text: "next".into(), queued: true, ..Prompt::default() };
        let all = said(&mut bench, &[Event::put("p", Block::Prompt(waiting))]);
        assert!(!types(&all).contains(&"user"));
        assert_eq!(types(&said(&mut bench, &[prompt("p", "next")])), ["user"]);
    }

    #[test]
    fn each_tool_has_its_executing_state() {
        for tool in ["Bash", "Read", "Write", "Grep", "Glob", "Edit", "Task"] {
            let mut bench = Bench::new(Profile::Bridge);
            let all = said(&mut bench, &[call("t", tool, json!({"x": 1}))]);
            assert_eq!(all[0], json!({"type": "state", "state": "executing", "tool": tool}));
            assert_eq!(all[1]["type"], "tool_use");
        }
    }

    #[test]
    fn a_tool_result_is_renamed_and_carries_its_tool() {
        for (tool_state, success) in
            [(ToolState::Done, true), (ToolState::Failed, false), (ToolState::Interrupted, false)]
        {
            let mut bench = Bench::new(Profile::Bridge);
            said(
                &mut bench,
                &[
                    call("t1", "Read", json!({"file_path": "/x"})),
                    call("t2", "Bash", json!({"command": "y"})),
                ],
            );
            let all = said(&mut bench, &[result("t1", tool_state, "out")]);
            let expected = json!({"type": "tool_result", "id": "t1", "tool": "Read", "output": "out",
                "success": success, "isError": !success});
            assert_eq!(all[0], expected, "paired by id and not by what came last");
        }
    }

    #[test]
    fn idle_comes_once_a_turn_and_after_everything_else() {
        let mut bench = Bench::new(Profile::Bridge);
        let mut all =
            said(&mut bench, &[prompt("p", "hi"), turn(Turn::Start), reply("m", "yo"), turn(Turn::Done)]);
        all.extend(said(&mut bench, &[turn(Turn::Done)]));
        assert_eq!(types(&all), ["user", "assistant"], "a turn within one record was never seen at work");
        for _ in 0..2 {
            let mut all = said(&mut bench, &[turn(Turn::Start)]);
            all.extend(said(&mut bench, &[reply("m2", "yo"), turn(Turn::Done)]));
            all.extend(said(&mut bench, &[turn(Turn::Done)]));
            assert_eq!(all.iter().filter(|message| **message == state("idle")).count(), 1);
            assert_eq!(all.last(), Some(&state("idle")));
        }
    }

    #[test]
    fn a_system_result_is_sent_only_when_it_differs_from_the_last_reply() {
        let mut bench = Bench::new(Profile::Bridge);
        said(&mut bench, &[reply("m", "the answer")]);
        let same = said(&mut bench, &[notice("r1", NoticeKind::Result, "the answer")]);
        assert_eq!(types(&same), [] as [&str; 0]);
        let other = said(&mut bench, &[notice("r2", NoticeKind::Result, "another answer")]);
        assert_eq!(other, [json!({"type": "system", "content": "another answer", "subtype": "result"})]);
    }

    #[test]
    fn a_subagent_s_reply_is_nested_and_not_compared_with_the_result() {
        let mut bench = Bench::new(Profile::Bridge);
        said(&mut bench, &[reply("m", "the answer")]);
        let inner = said(&mut bench, &[under("task", reply("s", "inner"))]);
        assert_eq!(inner[0]["parentId"], "task");
        assert_eq!(
            types(&said(&mut bench, &[notice("r", NoticeKind::Result, "the answer")])),
            [] as [&str; 0]
        );
    }

    #[test]
    fn usage_is_told_at_the_end_of_a_turn_before_idle() {
        let mut bench = Bench::new(Profile::Bridge);
        said(&mut bench, &[turn(Turn::Start)]);
        bench.session.cost_usd = Some(0.01511175);
        let usage = Usage { input: 14, output: 571, ..Usage::default() };
        let all = said(&mut bench, &[Event::Usage { message: "m".into(), usage }, turn(Turn::Done)]);
        let expected = json!({"type": "usage", "inputTokens": 14, "outputTokens": 571, "cacheReadTokens": 0,
            "cacheCreateTokens": 0, "totalCost": 0.01511175});
        assert_eq!(all, [expected, state("idle")]);
    }

    #[test]
    fn a_long_call_reports_its_progress_in_seconds() {
        let mut bench = Bench::new(Profile::Bridge);
        said(&mut bench, &[call("toolu_1", "Bash", json!({"command": "make"}))]);
        bench.wait_seconds(3);
        assert_eq!(said(&mut bench, &[grow("toolu_1", Part::Output, ".")]), [] as [Value; 0]);
        bench.wait_seconds(2);
        let all = said(&mut bench, &[grow("toolu_1", Part::Output, ".")]);
        assert_eq!(all, [json!({"type": "progress", "id": "toolu_1", "tool": "Bash", "elapsed": 5})]);
        assert_eq!(said(&mut bench, &[grow("toolu_1", Part::Output, ".")]), [] as [Value; 0]);
        bench.wait_seconds(60);
        let all = said(&mut bench, &[result("toolu_1", ToolState::Done, "ok")]);
        assert_eq!(types(&all), ["tool_result", "state"], "a call that has ended makes no progress");
    }

    #[test]
    fn a_call_that_waits_asks_with_its_own_message() {
        let mut bench = Bench::new(Profile::Bridge);
        said(&mut bench, &[call("t", "Bash", json!({"command": "rm x"}))]);
        let all = said(&mut bench, &[ask("t", "ask-1")]);
        assert_eq!(
            all,
            [
                json!({"type": "state", "state": "waiting_permission", "tool": "Bash"}),
                json!({"type": "permission", "id": "ask-1", "tool": "Bash", "input": {"command": "rm x"},
                    "options": ["yes"]}),
            ]
        );
    }

    #[test]
    fn an_interruption_ends_open_calls_and_goes_idle() {
        let mut bench = Bench::new(Profile::Bridge);
        said(&mut bench, &[turn(Turn::Start), call("t", "Bash", json!({"command": "x"}))]);
        let all = said(&mut bench, &[interrupt("user_cancel")]);
        assert_eq!(types(&all), ["tool_result", "interrupted", "state"]);
        assert_eq!(all[2], state("idle"));
    }

    #[test]
    fn the_sieve_hides_by_named_rules_and_nothing_more_the_second_time() {
        use parlor_model::rule::Rule;
        let assistant = |delta: bool| json!({"type": "assistant", "content": "same", "delta": delta});
        let system = |subtype: &str| json!({"type": "system", "content": "same", "subtype": subtype});
        let table = [
            (state("executing"), None),
            (system("init"), Some(Rule::Init)),
            (system("client_launched"), Some(Rule::ClientLaunched)),
            (assistant(true), Some(Rule::Step)),
            (assistant(false), None),
            (system("result"), Some(Rule::SameResult)),
            (state("idle"), None),
            (state("idle"), Some(Rule::SameIdle)),
            (json!({"type": "user", "content": "<local-command-caveat>x"}), Some(Rule::Caveat)),
            (state("thinking"), None),
            (state("idle"), None),
            (json!({"no": "type"}), None),
        ];
        let mut sieve = BridgeSieve::default();
        let mut passed = Vec::new();
        for (message, rule) in table {
            assert_eq!(sieve.hides(&message), rule, "{message}");
            if rule.is_none() {
                passed.push(message);
            }
        }
        let mut again = BridgeSieve::default();
        assert!(passed.iter().all(|message| again.hides(message).is_none()));
    }
}
