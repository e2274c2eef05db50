//! Codex: `codex app-server`, JSON-RPC without its version on lines both ways. One server, one thread of ours; threads
//! of subagents speak on the same line, and all this file has to do with them is that a stop stops them too.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use parlor_dialect::Format;
use parlor_model::Key;
use parlor_model::order::{File, Mode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::codex_ask::{self, Asked};
use crate::driver::{Acts, Driver, Spec, Wish};
use crate::files::{Content, content, unfit};
use crate::{AgentError, Kind, Launch, Mcp};

/// How the app server is started.
pub(crate) fn spec(launch: &Launch, program: PathBuf) -> Spec {
    let token = launch.mcp.as_ref().map(|mcp| (Mcp::TOKEN, OsString::from(&mcp.token)));
    Spec {
        program,
        arguments: vec!["app-server".into()],
        environment: token.into_iter().collect(),
        format: Format::CodexApp,
        driver: Box::new(Codex::new(launch.clone())),
    }
}

struct Codex {
    launch: Launch,
    requests: u64,
    /// What was asked of the server and is not answered.
    open: BTreeMap<u64, Request>,
    thread: Option<String>,
    /// Why there is no thread and will be none.
    failed: Option<String>,
    /// A prompt that waits for the thread.
    waiting: Option<Value>,
    busy: bool,
    turn: Option<String>,
    /// Turns of subagents that run, by their threads: Codex lets them go on when their parent is stopped.
    others: BTreeMap<String, String>,
    /// Every turn is to be stopped as soon as its name is known.
    stopping: bool,
    /// The turns that were told to stop: said twice, Codex calls it an error.
    stopped: BTreeSet<String>,
    /// What the server waits for, by the id that the dialect reads.
    asks: BTreeMap<String, Asked>,
    /// The model and mode from the next turn on.
    changed: Option<(Option<String>, Option<Mode>)>,
}

/// What was asked of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Initialize,
    Thread,
    Turn,
    Other,
}

/// The part of a line that matters here.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<ErrorBody>,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    message: String,
}

/// A thread or a turn by its name; in notifications also whose turn it is.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Named {
    thread: Option<Id>,
    turn: Option<Id>,
    thread_id: Option<String>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

impl Driver for Codex {
    fn begin(&mut self, acts: &mut Acts) {
        let client = json!({ "name": "parlor", "title": "Parlor", "version": env!("CARGO_PKG_VERSION") });
        // Without the experimental API there is no way to end the commands of a stopped turn.
        let capabilities = json!({ "experimentalApi": true, "requestAttestation": false });
        let params = json!({ "clientInfo": client, "capabilities": capabilities });
        self.request(Request::Initialize, "initialize", &params, acts);
    }

    fn ask(&mut self, wish: Wish<'_>, acts: &mut Acts) -> Result<(), AgentError> {
        if let Some(failed) = &self.failed {
            return Err(AgentError(failed.clone()));
        }
        match wish {
            Wish::Prompt { text, files } => {
                let input = input(text, files)?;
                self.busy = true;
                self.stopping = false;
                self.stopped.clear();
                match self.thread.is_some() {
                    true => self.start_turn(input, acts),
                    false => self.waiting = Some(input),
                }
            }
            Wish::Steer { text, files } => {
                let input = input(text, files)?;
                let (Some(thread), Some(turn)) = (self.thread.clone(), self.turn.clone()) else {
                    return Err(AgentError("no turn of Codex runs: send it as a prompt".to_owned()));
                };
                self.steer(&thread, &turn, &input, acts);
            }
            Wish::Answer { ask, answer } => {
                let asked = self.asks.remove(ask).ok_or_else(|| AgentError::no_such_ask(ask))?;
                // A no of Codex's has no words. They go into the turn before it, so that the model hears both at once.
                if let Some((thread, reason)) = asked.reason(answer)
                    && let Some(turn) = self.turn_of(thread)
                {
                    self.steer(thread, &turn, &input(reason, &[])?, acts);
                }
                acts.say(&codex_ask::reply(asked, answer));
            }
            Wish::Set { model, mode, done } => {
                let (old_model, old_mode) = self.changed.take().unwrap_or_default();
                self.changed = Some((model.map(str::to_owned).or(old_model), mode.or(old_mode)));
                let _ = done.send(Ok(true));
            }
            Wish::Interrupt => self.interrupt(acts),
            Wish::End => acts.close = true,
        }
        Ok(())
    }

    fn saw(&mut self, line: &[u8], acts: &mut Acts) {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else { return };
        match (&head.method, head.id) {
            (Some(method), Some(id)) => self.asked(method, id, &head, acts),
            (Some(method), None) => self.notified(method, &head, acts),
            (None, Some(id)) => self.answered(id, head, acts),
            (None, None) => {}
        }
    }

    fn is_busy(&self) -> bool {
        self.busy
    }

    fn works_on(&self) -> bool {
        !self.others.is_empty()
    }

    fn can_steer(&self) -> bool {
        self.turn.is_some()
    }
}

impl Codex {
    fn new(launch: Launch) -> Codex {
        Codex {
            launch,
            requests: 0,
            open: BTreeMap::new(),
            thread: None,
            failed: None,
            waiting: None,
            busy: false,
            turn: None,
            others: BTreeMap::new(),
            stopping: false,
            stopped: BTreeSet::new(),
            asks: BTreeMap::new(),
            changed: None,
        }
    }

    fn request(&mut self, request: Request, method: &str, params: &Value, acts: &mut Acts) {
        self.requests += 1;
        self.open.insert(self.requests, request);
        acts.say(&json!({ "id": self.requests, "method": method, "params": params }));
    }

    fn start_thread(&mut self, acts: &mut Acts) {
        let Launch { cwd, model, mode, resume, mcp, .. } = &self.launch;
        let (approval, sandbox, _) = policy(*mode);
        let mut params =
            json!({ "cwd": cwd.to_string_lossy(), "approvalPolicy": approval, "sandbox": sandbox });
        if let Some(model) = model {
            params["model"] = json!(model);
        }
        if let Some(Mcp { url, .. }) = mcp {
            let (token, seconds) = (Mcp::TOKEN, Mcp::CALL.as_secs());
            let server = json!({ "url": url, "bearer_token_env_var": token, "tool_timeout_sec": seconds });
            params["config"] = json!({ "mcp_servers": { "parlor": server } });
        }
        let method = match resume {
            Some(thread) => {
                params["threadId"] = json!(thread.as_str());
                "thread/resume"
            }
            None => "thread/start",
        };
        self.request(Request::Thread, method, &params, acts);
    }

    fn start_turn(&mut self, input: Value, acts: &mut Acts) {
        let mut params = json!({ "threadId": self.thread, "input": input });
        if let Some((model, mode)) = self.changed.take() {
            if let Some(model) = model {
                params["model"] = json!(model);
            }
            if let Some(mode) = mode {
                let (approval, _, sandbox) = policy(mode);
                params["approvalPolicy"] = json!(approval);
                params["sandboxPolicy"] = sandbox;
            }
        }
        self.request(Request::Turn, "turn/start", &params, acts);
    }

    fn steer(&mut self, thread: &str, turn: &str, input: &Value, acts: &mut Acts) {
        let params = json!({ "threadId": thread, "expectedTurnId": turn, "input": input });
        self.request(Request::Other, "turn/steer", &params, acts);
    }

    /// The turn that runs in a thread.
    fn turn_of(&self, thread: &str) -> Option<String> {
        let own = self.turn.as_ref().filter(|_| self.thread.as_deref() == Some(thread));
        own.or_else(|| self.others.get(thread)).cloned()
    }

    fn interrupt(&mut self, acts: &mut Acts) {
        self.stopping = true;
        if self.waiting.take().is_some() {
            // It never reached the server.
            self.busy = false;
        }
        let own = self.thread.clone().zip(self.turn.clone());
        let running: Vec<(String, String)> = own.into_iter().chain(self.others.clone()).collect();
        for (thread, turn) in running {
            if self.stopped.insert(turn.clone()) {
                let params = json!({ "threadId": thread, "turnId": turn });
                self.request(Request::Other, "turn/interrupt", &params, acts);
            }
        }
    }

    fn answered(&mut self, id: &RawValue, head: Head<'_>, acts: &mut Acts) {
        let request = id.get().parse().ok().and_then(|id: u64| self.open.remove(&id));
        if let Some(error) = head.error {
            self.refused(request, error.message, acts);
            return;
        }
        let named = named(head.result);
        match request {
            Some(Request::Initialize) => {
                acts.say(&json!({ "method": "initialized" }));
                self.start_thread(acts);
            }
            Some(Request::Thread) => {
                self.thread = named.thread.map(|thread| thread.id);
                acts.session = self.thread.as_deref().map(Key::from);
                if let Some(input) = self.waiting.take() {
                    self.start_turn(input, acts);
                }
            }
            Some(Request::Turn) => self.turn_named(named.turn, acts),
            Some(Request::Other) | None => {}
        }
    }

    fn refused(&mut self, request: Option<Request>, message: String, acts: &mut Acts) {
        match request {
            Some(Request::Initialize | Request::Thread) => {
                let hint = if self.launch.resume.is_some() { "begin a new session" } else { "update Codex" };
                let error = format!("Codex cannot begin: {message}; {hint}");
                if std::mem::take(&mut self.busy) {
                    acts.turn_failed(error.clone());
                }
                self.failed = Some(error);
                acts.matters = true;
                acts.close = true;
            }
            Some(Request::Turn) => {
                self.busy = false;
                acts.matters = true;
                acts.turn_failed(message);
            }
            Some(Request::Other) | None => {}
        }
    }

    fn turn_named(&mut self, turn: Option<Id>, acts: &mut Acts) {
        // The answer may come when the turn is over already.
        if let Some(Id { id }) = turn.filter(|_| self.busy) {
            self.turn = Some(id);
            if self.stopping {
                self.interrupt(acts);
            }
        }
    }

    fn notified(&mut self, method: &str, head: &Head<'_>, acts: &mut Acts) {
        if !matches!(method, "turn/started" | "turn/completed" | "serverRequest/resolved") {
            return;
        }
        acts.matters = true;
        let Named { turn, thread_id, .. } = named(head.params);
        let is_ours = thread_id.is_some() && thread_id == self.thread;
        match (method, thread_id) {
            ("turn/started", _) if is_ours => {
                self.busy = true;
                self.turn_named(turn, acts);
            }
            ("turn/started", Some(thread)) => {
                self.others.extend(turn.map(|turn| (thread, turn.id)));
                if self.stopping {
                    self.interrupt(acts);
                }
            }
            ("turn/completed", Some(thread)) => {
                if is_ours {
                    self.busy = false;
                    self.turn = None;
                    self.asks.clear();
                } else {
                    self.others.remove(&thread);
                }
                if self.stopping {
                    // Codex leaves the commands of a stopped turn running.
                    let params = json!({ "threadId": thread });
                    self.request(Request::Other, "thread/backgroundTerminals/clean", &params, acts);
                }
            }
            ("serverRequest/resolved", _) => {
                let params = head.params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
                if let Some(id) = params.map(|params| codex_ask::name(&params["requestId"])) {
                    self.asks.remove(&id);
                }
            }
            _ => {}
        }
    }

    /// The server wants something; what nobody can give it is refused at once, so that it does not wait for ever.
    fn asked(&mut self, method: &str, id: &RawValue, head: &Head<'_>, acts: &mut Acts) {
        acts.matters = true;
        let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_default();
        let (id, params) = (value(id), head.params.map(value).unwrap_or_default());
        match Asked::new(method, &id, params) {
            Some(asked) => _ = self.asks.insert(codex_ask::name(&id), asked),
            None => {
                let error = json!({ "code": -32601, "message": "Parlor does not know this request" });
                acts.say(&json!({ "id": id, "error": error }));
            }
        }
    }
}

fn named(raw: Option<&RawValue>) -> Named {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// When Codex asks, and what its sandbox lets it do: by name for a thread, in full for a turn.
fn policy(mode: Mode) -> (&'static str, &'static str, Value) {
    match mode {
        Mode::Ask => ("untrusted", "workspace-write", json!({ "type": "workspaceWrite" })),
        Mode::AcceptEdits => ("on-request", "workspace-write", json!({ "type": "workspaceWrite" })),
        Mode::AllowAll => ("never", "danger-full-access", json!({ "type": "dangerFullAccess" })),
    }
}

fn input(text: &str, files: &[File]) -> Result<Value, AgentError> {
    let words = |text: &str| json!({ "type": "text", "text": text, "text_elements": [] });
    let mut input = vec![words(text)];
    for file in files {
        input.push(match content(file, Kind::Codex.label())? {
            Content::Image { media_type, data } => {
                json!({ "type": "image", "url": format!("data:{media_type};base64,{data}") })
            }
            Content::Text(text) => words(&text),
            Content::Pdf { .. } => return Err(unfit(file, Kind::Codex.label())),
        });
    }
    Ok(Value::Array(input))
}

#[cfg(test)]
mod tests;
