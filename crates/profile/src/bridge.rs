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
use crate::watch::News;
use crate::{Now, Voice};

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
                    Author::Machine => json!({"type": "system", "content": prompt.text, "subtype": "injected"}),
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
                self.open.push(Open { id: entry.id.clone(), tool: tool.name.clone(), since, told: 0 });
                let message = json!({"type": "tool_use", "id": entry.id, "name": tool.name, "input": tool.input});
                self.send(nested(message, entry), now, out);
            }
            News::Moved(entry, tool) => self.ask(entry, tool, now, out),
            News::Result(entry, tool) => self.result(entry, tool, now, out),
            News::Notice(entry, notice) => {
                let message = match &notice.kind {
                    NoticeKind::Interrupted => json!({"type": "interrupted"}),
                    NoticeKind::Result | NoticeKind::Error | NoticeKind::Compaction { .. } => {
                        json!({"type": "system", "content": notice.text, "subtype": filter::subtype(&notice.kind)})
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
                let asks = matches!(tool.as_str(), "AskUserQuestion" | "request_user_input" | "requestUserInput");
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
            Action::Question { questions } => json!({"type": "question", "id": ask.id, "questions": questions}),
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
        let first = self.open.len().saturating_sub(PROGRESS_CALLS);
        for open in &mut self.open[first..] {
            let elapsed_us = open.since.map_or(0, |since| at.0.saturating_sub(since.0)).max(0);
            let elapsed = elapsed_us as u64 / 1_000_000;
            if elapsed >= open.told.saturating_add(PROGRESS_SECONDS) {
                open.told = elapsed;
                messages.push(json!({"type": "progress", "id": open.id, "tool": open.tool, "elapsed": elapsed}));
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
