//! `codex exec --json`, for a Codex without an app server: one process for one turn. It takes its prompt on stdin, asks
//! nothing, and ends; the next prompt starts it anew with the same session.

use std::ffi::OsString;
use std::path::PathBuf;

use parlor_dialect::Format;
use parlor_model::Key;
use parlor_model::order::{File, Mode};
use parlor_model::seen::{Level, Seen};
use serde::Deserialize;

use crate::driver::{Acts, Driver, Spec, Wish};
use crate::files::{Content, content, unfit};
use crate::{AgentError, Kind, Launch};

/// How one turn is started.
pub(crate) fn spec(launch: &Launch, program: PathBuf) -> Spec {
    let mut arguments: Vec<OsString> =
        ["exec", "--json", "--skip-git-repo-check"].map(OsString::from).to_vec();
    match launch.mode {
        // It cannot ask: what would have to be asked is refused by the sandbox.
        Mode::Ask => arguments.extend(["-s", "read-only"].map(OsString::from)),
        Mode::AcceptEdits => arguments.extend(["-s", "workspace-write"].map(OsString::from)),
        Mode::AllowAll => arguments.push("--dangerously-bypass-approvals-and-sandbox".into()),
    }
    if let Some(model) = &launch.model {
        arguments.extend(["-m".into(), OsString::from(model)]);
    }
    if let Some(thread) = &launch.resume {
        arguments.extend(["resume".into(), OsString::from(thread.as_str())]);
    }
    arguments.push("-".into());
    let driver = Box::new(Exec { mode: launch.mode, told: false, busy: false });
    Spec { program, arguments, environment: Vec::new(), format: Format::CodexExec, driver }
}

struct Exec {
    mode: Mode,
    /// The prompt is given: there is no way to say more.
    told: bool,
    busy: bool,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    thread_id: Option<String>,
}

impl Driver for Exec {
    fn begin(&mut self, _: &mut Acts) {}

    fn ask(&mut self, wish: Wish<'_>, acts: &mut Acts) -> Result<(), AgentError> {
        match wish {
            Wish::Prompt { text, files } if !self.told => {
                acts.write.push(words(text, files)?.into_bytes());
                acts.close = true;
                (self.told, self.busy) = (true, true);
            }
            Wish::Prompt { .. } | Wish::Steer { .. } => {
                return Err(AgentError(
                    "`codex exec` takes one prompt: wait until its turn is over".to_owned(),
                ));
            }
            Wish::Answer { ask, .. } => return Err(AgentError::no_such_ask(ask)),
            Wish::Set { done, .. } => _ = done.send(Ok(false)),
            // It knows signals only; of these SIGINT lets it end its commands.
            Wish::Interrupt => return Err(AgentError("`codex exec` cannot be told to stop".to_owned())),
            Wish::End => acts.close = true,
        }
        Ok(())
    }

    fn saw(&mut self, line: &[u8], acts: &mut Acts) {
        let Ok(head) = serde_json::from_slice::<Head>(line) else { return };
        match head.kind.as_str() {
            "thread.started" => {
                acts.session = head.thread_id.map(Key::from);
                if self.mode == Mode::Ask {
                    let text = "This version of Codex has no app server and cannot ask: it may only read. \
                                Update Codex, or allow more";
                    acts.seen.push(Seen::Note { level: Level::Warning, text: text.to_owned() });
                }
            }
            "turn.completed" | "turn.failed" => {
                self.busy = false;
                acts.matters = true;
            }
            _ => {}
        }
    }

    fn is_busy(&self) -> bool {
        self.busy
    }

    fn can_steer(&self) -> bool {
        false
    }
}

fn words(text: &str, files: &[File]) -> Result<String, AgentError> {
    let mut words = text.to_owned();
    for file in files {
        match content(file, Kind::Codex.label())? {
            Content::Text(text) => words = format!("{words}\n\n{text}"),
            Content::Image { .. } | Content::Pdf { .. } => return Err(unfit(file, Kind::Codex.label())),
        }
    }
    Ok(words)
}
