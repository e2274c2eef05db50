//! The built-in agent's task: it takes prompts one after the other, ends each turn in one place, and gives every call its
//! result in one place. What happens within a turn is in `turn`.

use std::sync::Arc;

use parlor_dialect::Decoder;
use parlor_model::Key;
use parlor_model::seen::{Ended, Force, Level, Seen, TurnEnd};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::answer::{Answer, decoder};
use super::approval::Rules;
use super::desk::{ALL_TURNS, Desk, Finished, Handle, Work, desk};
use super::history::{self, INTERRUPTED};
use super::mcp::Servers;
use super::message::{Call, Message};
use super::reap;
use super::request::Wire;
use super::tool::{Bench, Outcome, definitions};
use super::{Endpoint, system};
use crate::{Launch, Said};

/// The agent's own state: all of it survives when a turn is cut off at any point.
pub(crate) struct Worker {
    pub(crate) desk: Arc<Desk>,
    pub(crate) bench: Arc<Bench>,
    pub(crate) wire: Wire,
    said: mpsc::Sender<Said>,
    pub(crate) context: u64,
    pub(crate) system: String,
    pub(crate) tools: Value,
    pub(crate) servers: Servers,
    /// The reader of the model's lines: it must stand where the log's reader stands.
    pub(crate) decoder: Decoder,
    pub(crate) messages: Vec<Message>,
    /// The answer that streams in.
    pub(crate) answer: Answer,
    /// Calls that have no result yet.
    pub(crate) open: Vec<Call>,
    /// The ask that is open.
    pub(crate) ask: Option<Key>,
    pub(crate) rules: Rules,
    /// Tokens by the server's last count, and how many messages were in it.
    pub(crate) counted: (u64, usize),
    /// Whether the server can be asked for its count.
    pub(crate) asks_usage: bool,
}

/// Starts the agent.
pub(crate) fn spawn(launch: Launch, endpoint: Endpoint, said: mpsc::Sender<Said>) -> Handle {
    let model =
        launch.model.clone().filter(|model| !model.is_empty()).unwrap_or_else(|| endpoint.model.clone());
    let (handle, work) = desk(model.clone(), launch.mode);
    let wire = Wire::new(&endpoint);
    let program = format!("{model}@{}", wire.address());
    let run = launch.run.clone();
    let worker = Worker {
        desk: work.desk.clone(),
        bench: Arc::new(Bench::new(
            launch.cwd.clone(),
            launch.run,
            said.clone(),
            endpoint.allow_private,
            launch.mcp.clone(),
        )),
        wire,
        said,
        context: endpoint.context.max(1_000),
        system: system::prompt(&launch.cwd, launch.mcp.is_some()),
        tools: definitions(launch.mcp.is_some()),
        servers: Servers::new(launch.servers, launch.permits.clone()),
        decoder: decoder(&launch.history),
        messages: history::messages(&launch.history),
        answer: Answer::default(),
        open: Vec::new(),
        ask: None,
        rules: Rules::of(launch.permits),
        counted: (0, 0),
        asks_usage: true,
    };
    tokio::spawn(worker.run(run, program, work));
    handle
}

impl Worker {
    async fn run(mut self, run: Key, program: String, mut work: Work) {
        let format = Key::new_static("openai-chat");
        self.say(Seen::Started { run: run.clone(), format, program, pid: None }).await;
        let mut last = Finished { number: 0, needed: Force::Nothing, left: 0 };
        loop {
            let said = self.said.clone();
            let (number, prompt) = tokio::select! {
                biased;
                () = rung(&mut work.bell, ALL_TURNS) => break,
                () = said.closed() => break,
                prompt = work.prompts.recv() => match prompt {
                    Some(prompt) => prompt,
                    None => break,
                },
            };
            last = self.turn(number, prompt, &mut work.bell).await;
            work.finished.send_replace(last);
        }
        let (needed, left) = reap::end(self.bench.target()).await;
        self.say(Seen::Exited { run, code: Some(0), signal: None }).await;
        let _ = self.said.send(Said::Ended).await;
        work.finished.send_replace(Finished { number: ALL_TURNS, needed: needed.max(last.needed), left });
    }

    /// One turn, which ends in exactly one way. A stop drops the work wherever it is: nothing of it is needed afterwards.
    async fn turn(&mut self, number: u64, prompt: Message, bell: &mut watch::Receiver<u64>) -> Finished {
        self.forget_thoughts();
        self.messages.push(prompt);
        self.desk.open_turn();
        let said = self.said.clone();
        let end = tokio::select! {
            biased;
            () = rung(bell, number) => None,
            () = said.closed() => None,
            end = self.work() => Some(end),
        };
        let (needed, left) = match end {
            Some(_) => (Force::Nothing, 0),
            None => {
                let (needed, left) = reap::end(self.bench.target()).await;
                (needed.max(Force::Protocol), left)
            }
        };
        self.close().await;
        let (end, error) = match end {
            Some(Ok(())) => (TurnEnd::Done, None),
            Some(Err(problem)) => (TurnEnd::Failed, Some(problem)),
            None => (TurnEnd::Interrupted, None),
        };
        self.say(Seen::TurnEnded { end, error }).await;
        Finished { number, needed, left }
    }

    /// Leaves the conversation such that the next request is valid: what was said is kept, and every call has a result.
    async fn close(&mut self) {
        self.settle();
        if let Some(ask) = self.ask.take() {
            self.say(Seen::Settled { ask }).await;
        }
        self.interrupt_calls().await;
        self.messages.extend(self.desk.abandon_turn());
    }

    /// The answer as far as it came becomes a message, and its calls are open. False when it says nothing.
    pub(crate) fn settle(&mut self) -> bool {
        let answer = std::mem::take(&mut self.answer);
        let (text, thought, calls) = (answer.text(), answer.thought(), answer.calls());
        let says_something = !text.trim().is_empty() || !calls.is_empty();
        if says_something {
            self.messages.push(Message::Assistant { text, thought, calls: calls.clone() });
        }
        self.open.extend(calls);
        if let Some(usage) = answer.usage.filter(|usage| usage.total() > 0) {
            self.counted = (usage.total(), self.messages.len());
        }
        says_something
    }

    /// Ends every call that has no result, with what it has printed so far.
    pub(crate) async fn interrupt_calls(&mut self) {
        while let Some(call) = self.open.first().cloned() {
            let (mut text, truncated) = self.bench.forget(&call.id).unwrap_or_default();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(INTERRUPTED);
            let outcome = Outcome { truncated, ..Outcome::new(Ended::Interrupted, text) };
            self.result(&call, outcome, None).await;
        }
    }

    /// The one way by which a call gets its result: in the conversation and in the channel, both or neither.
    pub(crate) async fn result(&mut self, call: &Call, outcome: Outcome, duration_ms: Option<u64>) {
        let permit = self.said.reserve().await;
        self.open.retain(|open| open.id != call.id);
        let Outcome { state, text, exit_code, truncated, diff } = outcome;
        self.messages.push(Message::Tool { call: call.id.clone(), text: text.clone() });
        let (call, name) = (call.id.clone(), call.name.clone());
        let seen = Seen::Result { call, name, state, text, exit_code, duration_ms, truncated, diff };
        // Nobody listens only when the agent is being ended.
        if let Ok(permit) = permit {
            permit.send(Said::Seen(seen));
        }
    }

    /// Says what Parlor saw. The reader gives up an answer exactly where the log's reader will.
    pub(crate) async fn say(&mut self, seen: Seen) {
        let gives_up = matches!(seen, Seen::Note { level: Level::Retry, .. } | Seen::TurnEnded { .. });
        let _ = self.said.send(Said::Seen(seen)).await;
        if gives_up {
            self.decoder.give_up();
        }
    }

    /// Passes on a line of the model's, and reads it.
    pub(crate) async fn hear(&mut self, line: bytes::Bytes) {
        let _ = self.said.send(Said::Line(line.clone())).await;
        self.answer.read(&mut self.decoder, line);
    }

    /// Servers want thoughts back only while they call tools.
    fn forget_thoughts(&mut self) {
        for message in &mut self.messages {
            if let Message::Assistant { thought, .. } = message {
                *thought = None;
            }
        }
    }
}

/// Waits until a turn is to stop: the bell is rung for it, or there is nobody left who could.
async fn rung(bell: &mut watch::Receiver<u64>, number: u64) {
    let _ = bell.wait_for(|rung| *rung >= number).await;
}
