//! Claude Code: `claude -p` with JSON lines both ways. Also the demo agent, which speaks the same language.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use parlor_dialect::Format;
use parlor_model::Key;
use parlor_model::order::{Answer, Choice, File, Mode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::driver::{Acts, Driver, Settled, Spec, Wish};
use crate::files::{Content, content};
use crate::{AgentError, Kind, Launch, Mcp};

/// A task in the background that is no agent.
const COMMAND: &str = "local_bash";

/// How Claude Code is started.
pub(crate) fn spec(launch: &Launch, program: PathBuf) -> Spec {
    let mut arguments: Vec<OsString> = [
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
        "--include-partial-messages",
        "--permission-prompt-tool",
        "stdio",
        "--permission-mode",
        mode_name(launch.mode),
    ]
    .map(OsString::from)
    .to_vec();
    let mut environment = Vec::new();
    // As root, Claude Code wants to hear that it is in a sandbox before it does everything without asking.
    if launch.mode == Mode::AllowAll && rustix::process::geteuid().is_root() {
        environment.push(("IS_SANDBOX", OsString::from("1")));
    }
    let mut option = |name: &str, value: &str| arguments.push(format!("--{name}={value}").into());
    if let Some(model) = &launch.model {
        option("model", model);
    }
    if let Some(session) = &launch.resume {
        option("resume", session);
    }
    if let Some(Mcp { url, token }) = &launch.mcp {
        let headers = json!({ "Authorization": format!("Bearer ${{{}}}", Mcp::TOKEN) });
        let timeout_ms = Mcp::CALL.as_millis() as u64;
        let server = json!({ "type": "http", "url": url, "headers": headers, "timeout": timeout_ms });
        option("mcp-config", &json!({ "mcpServers": { "parlor": server } }).to_string());
        option("allowedTools", "mcp__parlor");
        environment.push((Mcp::TOKEN, OsString::from(token)));
    }
    Spec { program, arguments, environment, format: Format::ClaudeStream, driver: Box::<Claude>::default() }
}

/// How the demo agent is started: this very program, under a name of its own.
pub(crate) fn demo(program: PathBuf, speed: Option<OsString>) -> Spec {
    let arguments = vec![OsString::from("demo-agent")];
    let environment = speed.into_iter().map(|speed| (crate::demo::SPEED, speed)).collect();
    Spec { program, arguments, environment, format: Format::ClaudeStream, driver: Box::<Claude>::default() }
}

#[derive(Default)]
struct Claude {
    busy: bool,
    /// What runs in the background; true for a subagent.
    tasks: BTreeMap<String, bool>,
    /// What ran there already before the turn began: a server that was started on purpose stays.
    before: BTreeSet<String>,
    /// It was told to end.
    ending: bool,
    session: Key,
    /// Requests of ours, numbered.
    requests: u64,
    /// What tool calls wait for.
    asks: BTreeMap<String, Asked>,
    /// A change that waits for Claude's word, and the requests that it took.
    setting: Option<(Settled, Vec<String>)>,
}

/// What Claude wants to do. The answer has to repeat it.
struct Asked {
    input: Value,
    suggestions: Vec<Value>,
}

/// The part of a line that matters here.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    subtype: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    request_id: Option<String>,
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tasks: Option<&'a RawValue>,
}

/// Something in the background.
#[derive(Deserialize)]
struct Task {
    #[serde(default)]
    task_id: String,
    #[serde(default)]
    task_type: String,
}

impl Driver for Claude {
    fn begin(&mut self, _: &mut Acts) {}

    fn ask(&mut self, wish: Wish<'_>, acts: &mut Acts) -> Result<(), AgentError> {
        match wish {
            // Words that come while a turn runs go into it: for Claude there is no difference.
            Wish::Prompt { text, files } | Wish::Steer { text, files } => {
                if !self.busy {
                    self.before = self.tasks.keys().cloned().collect();
                }
                let message = json!({ "role": "user", "content": blocks(text, files)? });
                acts.say(&json!({ "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "" }));
                self.busy = true;
            }
            Wish::Answer { ask, answer } => {
                let asked = self.asks.remove(ask).ok_or_else(|| AgentError::no_such_ask(ask))?;
                let response =
                    json!({ "subtype": "success", "request_id": ask, "response": reply(asked, answer) });
                acts.say(&json!({ "type": "control_response", "response": response }));
            }
            Wish::Set { model, mode, done } => {
                let model = model.map(|model| json!({ "subtype": "set_model", "model": model }));
                let mode =
                    mode.map(|mode| json!({ "subtype": "set_permission_mode", "mode": mode_name(mode) }));
                let requests: Vec<String> =
                    [model, mode].into_iter().flatten().map(|request| self.request(&request, acts)).collect();
                match requests.is_empty() {
                    true => _ = done.send(Ok(true)),
                    false => self.setting = Some((done, requests)),
                }
            }
            Wish::Interrupt if self.ending => {}
            Wish::Interrupt => {
                if self.busy {
                    self.request(&json!({ "subtype": "interrupt" }), acts);
                }
                if self.works_on() {
                    // It would begin a turn by itself to tell the model that these were stopped.
                    self.end(acts);
                }
            }
            Wish::End => self.end(acts),
        }
        Ok(())
    }

    fn saw(&mut self, line: &[u8], acts: &mut Acts) {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else { return };
        match (head.kind.as_str(), head.subtype.as_deref()) {
            // Claude begins turns by itself too, when something in the background is done.
            ("system", Some("init")) => self.busy = true,
            ("system", Some("background_tasks_changed")) => {
                let tasks = head.tasks.and_then(|tasks| serde_json::from_str::<Vec<Task>>(tasks.get()).ok());
                let tasks = tasks.unwrap_or_default().into_iter();
                self.tasks = tasks.map(|task| (task.task_id, task.task_type != COMMAND)).collect();
                acts.matters = true;
            }
            ("result", _) => {
                self.busy = false;
                acts.matters = true;
            }
            ("control_request", _) => {
                self.asked(&head);
                acts.matters = true;
            }
            ("control_cancel_request", _) => {
                self.asks.remove(head.request_id.as_deref().unwrap_or_default());
                acts.matters = true;
            }
            ("control_response", _) => self.settle(&head),
            _ => {}
        }
        if let Some(session) =
            head.session_id.filter(|session| !session.is_empty() && *session != self.session)
        {
            self.session = Key::from(session);
            acts.session = Some(self.session.clone());
        }
    }

    fn is_busy(&self) -> bool {
        self.busy
    }

    fn can_steer(&self) -> bool {
        true
    }

    fn works_on(&self) -> bool {
        self.tasks.iter().any(|(task, is_agent)| *is_agent || !self.before.contains(task))
    }
}

impl Claude {
    /// Closing stdin alone would let a turn, and what runs in the background, go on.
    fn end(&mut self, acts: &mut Acts) {
        self.ending = true;
        self.request(&json!({ "subtype": "end_session" }), acts);
        acts.close = true;
    }

    fn request(&mut self, request: &Value, acts: &mut Acts) -> String {
        self.requests += 1;
        let id = format!("parlor-{}", self.requests);
        acts.say(&json!({ "type": "control_request", "request_id": &id, "request": request }));
        id
    }

    fn asked(&mut self, head: &Head<'_>) {
        let request = head.request.and_then(|request| serde_json::from_str::<Value>(request.get()).ok());
        let (Some(id), Some(mut request)) = (head.request_id.clone(), request) else { return };
        if request["subtype"] != "can_use_tool" {
            return;
        }
        let suggestions = match request["permission_suggestions"].take() {
            Value::Array(suggestions) => suggestions,
            _ => Vec::new(),
        };
        self.asks.insert(id, Asked { input: request["input"].take(), suggestions });
    }

    /// Claude's word on a change: one refusal, and a new start is needed.
    fn settle(&mut self, head: &Head<'_>) {
        let response = head.response.and_then(|response| serde_json::from_str::<Value>(response.get()).ok());
        let Some(response) = response else { return };
        let Some((done, mut requests)) = self.setting.take() else { return };
        requests.retain(|id| response["request_id"] != id.as_str());
        if response["subtype"] != "success" {
            let _ = done.send(Ok(false));
        } else if requests.is_empty() {
            let _ = done.send(Ok(true));
        } else {
            self.setting = Some((done, requests));
        }
    }
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Ask => "default",
        Mode::AcceptEdits => "acceptEdits",
        Mode::AllowAll => "bypassPermissions",
    }
}

fn blocks(text: &str, files: &[File]) -> Result<Vec<Value>, AgentError> {
    let mut blocks = Vec::new();
    for file in files {
        let source = |media_type: &str, data: &str| json!({ "type": "base64", "media_type": media_type, "data": data });
        blocks.push(match content(file, Kind::Claude.label())? {
            Content::Image { media_type, data } => {
                json!({ "type": "image", "source": source(media_type, data) })
            }
            Content::Pdf { name, data } => {
                json!({ "type": "document", "source": source("application/pdf", data), "title": name })
            }
            Content::Text(text) => json!({ "type": "text", "text": text }),
        });
    }
    // The API refuses a block of text without text.
    if !text.is_empty() || blocks.is_empty() {
        blocks.push(json!({ "type": "text", "text": text }));
    }
    Ok(blocks)
}

fn reply(Asked { mut input, suggestions }: Asked, answer: &Answer) -> Value {
    let reason = answer.reason.as_deref().filter(|reason| !reason.is_empty());
    let questions: Vec<String> = match &input["questions"] {
        Value::Array(questions) => {
            questions.iter().filter_map(|q| Some(q["question"].as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    match answer.choice {
        Choice::Deny => deny(reason),
        // Words for something that asked no question are a no with its reason.
        Choice::Reply if questions.is_empty() => deny(reason),
        Choice::Reply | Choice::Allow | Choice::AllowSession | Choice::AllowAlways => {
            let mut answers: Map<String, Value> =
                answer.answers.iter().map(|(question, answer)| (question.clone(), json!(answer))).collect();
            if let (true, Some(question), Some(reason)) = (answers.is_empty(), questions.first(), reason) {
                answers.insert(question.clone(), json!(reason));
            }
            if !answers.is_empty() {
                input["answers"] = Value::Object(answers);
            }
            let mut reply = json!({ "behavior": "allow", "updatedInput": input });
            let rules = rules(suggestions, answer.choice);
            if !rules.is_empty() {
                reply["updatedPermissions"] = Value::Array(rules);
            }
            reply
        }
    }
}

fn deny(reason: Option<&str>) -> Value {
    json!({ "behavior": "deny", "message": reason.unwrap_or("The user does not want this to be done.") })
}

/// What Claude itself offers so that it does not have to ask again. Rules are narrower than a change of mode.
fn rules(suggestions: Vec<Value>, choice: Choice) -> Vec<Value> {
    let is_rule = |suggestion: &Value| suggestion["type"] != "setMode";
    let has_rules = suggestions.iter().any(is_rule);
    let fitting = suggestions.into_iter().filter(|suggestion| is_rule(suggestion) || !has_rules);
    match choice {
        Choice::AllowAlways => fitting.collect(),
        Choice::AllowSession => fitting
            .map(|mut suggestion| {
                suggestion["destination"] = json!("session");
                suggestion
            })
            .collect(),
        Choice::Allow | Choice::Deny | Choice::Reply => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
