//! The handle of a running agent: what may be asked of it, whichever agent it is.

use std::fmt;
use std::sync::Arc;

use parlor_model::order::{Answer, File, Mode};
use tokio::sync::{mpsc, oneshot};

use crate::builtin::Builtin;
use crate::driver::{Spec, Wish};
use crate::process::{self, Handle};
use crate::program::{find, has_app_server};
use crate::{AgentError, Kind, Launch, Said, Settings, Stop, claude, codex, codex_exec, pi};

/// How long an agent may take to say whether it has changed its model or mode.
const SETTLE: std::time::Duration = std::time::Duration::from_secs(10);

/// A running agent. Clones are handles of the same one; when the last is dropped, the agent is ended.
#[derive(Clone)]
pub struct Run(Arc<Agent>);

enum Agent {
    Process(Handle),
    Builtin(Builtin),
}

impl Run {
    /// Starts an agent. What it says comes out of the receiver: first [`Seen::Started`](parlor_model::seen::Seen), last
    /// `Exited` and [`Said::Ended`]. The receiver must be read while a call of this handle is awaited: the agent waits
    /// when nobody reads. `launch.run` must be a name that no other run has: it marks the processes.
    pub async fn start(
        launch: Launch,
        settings: &Settings,
    ) -> Result<(Run, mpsc::Receiver<Said>), AgentError> {
        let (agent, said) = match launch.kind {
            Kind::Builtin => {
                let endpoint = settings.endpoint.clone()?;
                process::check_folder(&launch.cwd).await?;
                if endpoint.model.is_empty() && launch.model.is_none() {
                    let message =
                        "no model is named: choose one, or set `PARLOR_MODEL_NAME` and start Parlor again";
                    return Err(AgentError(message.to_owned()));
                }
                let (sender, said) = mpsc::channel(process::WAITING);
                (Agent::Builtin(Builtin::start(launch, endpoint, sender)), said)
            }
            Kind::Claude | Kind::Codex | Kind::Pi | Kind::Demo => {
                let spec = spec(&launch, settings).await?;
                let (handle, said) = process::start(spec, &launch, settings).await?;
                (Agent::Process(handle), said)
            }
        };
        Ok((Run(Arc::new(agent)), said))
    }

    /// Says this to the agent: a turn begins.
    pub async fn prompt(&self, text: &str, files: &[File]) -> Result<(), AgentError> {
        match &*self.0 {
            Agent::Process(process) => process.engine.wish(Wish::Prompt { text, files }).await,
            Agent::Builtin(builtin) => {
                builtin.prompt(text, files).await;
                Ok(())
            }
        }
    }

    /// True when words can go into the turn that runs.
    pub fn can_steer(&self) -> bool {
        match &*self.0 {
            Agent::Process(process) => process.engine.can_steer(),
            Agent::Builtin(_) => true,
        }
    }

    /// Says this to the agent in the turn that runs.
    pub async fn steer(&self, text: &str, files: &[File]) -> Result<(), AgentError> {
        match &*self.0 {
            Agent::Process(process) => process.engine.wish(Wish::Steer { text, files }).await,
            Agent::Builtin(builtin) => {
                builtin.steer(text, files).await;
                Ok(())
            }
        }
    }

    /// Answers an ask, by the id that the dialect gave it.
    pub async fn answer(&self, ask: &str, answer: &Answer) -> Result<(), AgentError> {
        match &*self.0 {
            Agent::Process(process) => process.engine.wish(Wish::Answer { ask, answer }).await,
            Agent::Builtin(builtin) => match builtin.answer(ask, answer).await {
                true => Ok(()),
                false => Err(AgentError::no_such_ask(ask)),
            },
        }
    }

    /// Uses another model or mode from now on. False when the agent must be started again for that. Pi has no modes and
    /// takes any.
    pub async fn set(&self, model: Option<&str>, mode: Option<Mode>) -> Result<bool, AgentError> {
        match &*self.0 {
            Agent::Process(process) => {
                let (done, settled) = oneshot::channel();
                process.engine.wish(Wish::Set { model, mode, done }).await?;
                // An agent that says nothing is started again.
                tokio::time::timeout(SETTLE, settled).await.ok().and_then(Result::ok).unwrap_or(Ok(false))
            }
            Agent::Builtin(builtin) => {
                builtin.set(model, mode).await;
                Ok(true)
            }
        }
    }

    /// Stops the turn and everything it runs, in at most about five seconds. When it returns, all that the agent said of
    /// the turn is in the receiver, unless it had to be ended.
    pub async fn interrupt(&self) -> Stop {
        match &*self.0 {
            Agent::Process(process) => process.engine.interrupt().await,
            Agent::Builtin(builtin) => builtin.interrupt().await,
        }
    }

    /// Ends the agent and everything it runs, in at most about five seconds.
    pub async fn end(&self) -> Stop {
        match &*self.0 {
            Agent::Process(process) => process.engine.end().await,
            Agent::Builtin(builtin) => builtin.end().await,
        }
    }

    /// True while anything of it is at work: a turn, or what outlives its turn.
    pub fn is_busy(&self) -> bool {
        match &*self.0 {
            Agent::Process(process) => !process.engine.state().is_over(),
            Agent::Builtin(_) => false,
        }
    }

    /// Its process, where it is one.
    pub fn pid(&self) -> Option<u32> {
        match &*self.0 {
            Agent::Process(process) => Some(process.engine.pid),
            Agent::Builtin(_) => None,
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Run").field(&self.pid()).finish()
    }
}

/// How an agent that is a program is started on this machine.
async fn spec(launch: &Launch, settings: &Settings) -> Result<Spec, AgentError> {
    let program = find(launch.kind, settings)?;
    Ok(match launch.kind {
        Kind::Claude => claude::spec(launch, program),
        Kind::Codex if has_app_server(&program, settings).await => codex::spec(launch, program),
        Kind::Codex => codex_exec::spec(launch, program),
        Kind::Pi => pi::spec(launch, program, settings).await,
        // The built-in agent is no program; the demo is one of Parlor's own.
        Kind::Demo | Kind::Builtin => claude::demo(program, settings.demo_speed.clone()),
    })
}
