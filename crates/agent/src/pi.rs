//! Pi: `pi --mode rpc`, commands in and events out, one a line. Pi has no permission system: every tool just runs, so
//! the mode means nothing to it, and it never asks.

pub(crate) mod extension;

use std::ffi::OsString;
use std::path::PathBuf;

use parlor_dialect::Format;
use parlor_model::Key;
use parlor_model::order::File;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::driver::{Acts, Driver, Settled, Spec, Wish};
use crate::files::{Content, content, unfit};
use crate::{AgentError, Kind, Launch, Mcp, Settings};

/// How Pi is started.
pub(crate) async fn spec(launch: &Launch, program: PathBuf, settings: &Settings) -> Spec {
    let mut arguments: Vec<OsString> = vec!["--mode".into(), "rpc".into()];
    if let Some(model) = &launch.model {
        arguments.extend(["--model".into(), OsString::from(model)]);
    }
    if let Some(session) = &launch.resume {
        arguments.extend(["--session".into(), OsString::from(session.as_str())]);
    }
    let mut environment = Vec::new();
    if let (Some(Mcp { url, token }), Some(extension)) = (&launch.mcp, &settings.pi_extension)
        && extension::loads(extension, &program, settings).await
    {
        arguments.extend(["--extension".into(), OsString::from(extension)]);
        // On the command line everybody could read the token.
        environment.extend([("PARLOR_MCP_URL", url.into()), (Mcp::TOKEN, token.into())]);
    }
    Spec { program, arguments, environment, format: Format::PiEvents, driver: Box::<Pi>::default() }
}

#[derive(Default)]
struct Pi {
    busy: bool,
    commands: u64,
    /// The prompt that began the turn, until Pi has taken it.
    prompt: Option<String>,
    setting: Option<(String, Settled)>,
}

/// The part of a line that matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    success: bool,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    will_retry: Option<bool>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// What `get_state` tells.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told {
    session_id: Option<String>,
}

impl Driver for Pi {
    fn begin(&mut self, acts: &mut Acts) {
        self.command("get_state", json!({}), acts);
    }

    fn ask(&mut self, wish: Wish<'_>, acts: &mut Acts) -> Result<(), AgentError> {
        match wish {
            Wish::Prompt { text, files } => {
                let id = self.command("prompt", message(text, files)?, acts);
                self.prompt = Some(id);
                self.busy = true;
            }
            Wish::Steer { text, files } => _ = self.command("steer", message(text, files)?, acts),
            Wish::Answer { ask, .. } => return Err(AgentError::no_such_ask(ask)),
            Wish::Set { model: Some(model), done, .. } => match model.split_once('/') {
                Some((provider, model)) => {
                    let id =
                        self.command("set_model", json!({ "provider": provider, "modelId": model }), acts);
                    self.setting = Some((id, done));
                }
                // Only at its start does Pi look for the provider by itself.
                None => _ = done.send(Ok(false)),
            },
            Wish::Set { model: None, done, .. } => _ = done.send(Ok(true)),
            Wish::Interrupt => _ = self.command("abort", json!({}), acts),
            Wish::End => acts.close = true,
        }
        Ok(())
    }

    fn saw(&mut self, line: &[u8], acts: &mut Acts) {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else { return };
        match head.kind.as_str() {
            "agent_start" => self.busy = true,
            "agent_settled" => self.over(acts),
            // Versions that know no `agent_settled` do not say either whether they will try again.
            "agent_end" if head.will_retry.is_none() => self.over(acts),
            "agent_end" => acts.matters = true,
            "response" => self.answered(head, acts),
            "extension_ui_request" => refuse(&head, acts),
            _ => {}
        }
    }

    fn is_busy(&self) -> bool {
        self.busy
    }

    fn can_steer(&self) -> bool {
        self.busy
    }
}

impl Pi {
    fn command(&mut self, kind: &str, mut command: Value, acts: &mut Acts) -> String {
        self.commands += 1;
        let id = format!("parlor-{}", self.commands);
        command["id"] = json!(&id);
        command["type"] = json!(kind);
        acts.say(&command);
        id
    }

    fn over(&mut self, acts: &mut Acts) {
        self.busy = false;
        acts.matters = true;
    }

    fn answered(&mut self, head: Head<'_>, acts: &mut Acts) {
        let told =
            head.data.and_then(|data| serde_json::from_str::<Told>(data.get()).ok()).unwrap_or_default();
        acts.session = told.session_id.map(Key::from);
        let error = match head.error {
            Some(Value::String(error)) => error,
            error => error.unwrap_or_default().to_string(),
        };
        let id = head.id.as_ref().and_then(Value::as_str);
        if id.is_some() && self.prompt.as_deref() == id {
            self.prompt = None;
            if !head.success {
                self.over(acts);
                acts.turn_failed(error);
            }
        } else if let Some((_, done)) = self.setting.take_if(|(command, _)| Some(command.as_str()) == id) {
            let _ = done.send(match head.success {
                true => Ok(true),
                false => Err(AgentError(format!("Pi cannot use that model: {error}"))),
            });
        }
    }
}

/// An extension of Pi that asks something waits for ever unless it hears that nobody answers.
fn refuse(head: &Head<'_>, acts: &mut Acts) {
    if matches!(head.method.as_deref(), Some("select" | "confirm" | "input" | "editor")) {
        acts.say(&json!({ "type": "extension_ui_response", "id": head.id, "cancelled": true }));
    }
}

fn message(text: &str, files: &[File]) -> Result<Value, AgentError> {
    let (mut words, mut images) = (text.to_owned(), Vec::new());
    for file in files {
        match content(file, Kind::Pi.label())? {
            Content::Image { media_type, data } => {
                images.push(json!({ "type": "image", "data": data, "mimeType": media_type }));
            }
            Content::Text(text) => words = format!("{words}\n\n{text}"),
            Content::Pdf { .. } => return Err(unfit(file, Kind::Pi.label())),
        }
    }
    let mut message = json!({ "message": words });
    if !images.is_empty() {
        message["images"] = Value::Array(images);
    }
    Ok(message)
}

#[cfg(test)]
mod tests;
