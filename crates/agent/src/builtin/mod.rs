//! Parlor's own agent, on any model behind an OpenAI-compatible API. It runs in this process: what the model says and what
//! the tools do goes into a channel, and everything that a person sees is in there. It must not know the log.

mod answer;
mod approval;
mod compact;
mod desk;
mod history;
mod mcp;
mod message;
mod reap;
mod request;
pub(crate) use request::client;
mod system;
mod tool;
mod trouble;
mod turn;
mod worker;

use std::fmt;
use std::sync::Arc;

use parlor_model::order::{Answer, File, Mode};
use tokio::sync::mpsc;

use crate::{Launch, Said, Stop};
use desk::Handle;
use message::Message;

/// A model behind an OpenAI-compatible API.
#[derive(Clone)]
pub struct Endpoint {
    /// The address up to and with `/v1`; empty for OpenAI's own.
    pub url: String,
    /// The key; a model on this machine needs none.
    pub key: Option<String>,
    /// The model's name.
    pub model: String,
    /// How many tokens the model can keep in mind.
    pub context: u64,
    /// Whether `WebFetch` may fetch from this machine and its networks.
    pub allow_private: bool,
}

impl Endpoint {
    /// How many tokens a model keeps in mind of which nothing is known.
    pub const CONTEXT: u64 = 128_000;

    /// A model without a key, of the usual size.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Endpoint {
        let (url, model) = (url.into(), model.into());
        Endpoint { url, key: None, model, context: Endpoint::CONTEXT, allow_private: false }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|_| "…");
        let Endpoint { url, model, context, allow_private, .. } = self;
        formatter
            .debug_struct("Endpoint")
            .field("url", url)
            .field("key", &key)
            .field("model", model)
            .field("context", context)
            .field("allow_private", allow_private)
            .finish()
    }
}

/// The built-in agent at work. Clones are handles of the same one; when the last is dropped, it ends.
#[derive(Clone, Debug)]
pub struct Builtin(Arc<Handle>);

impl Builtin {
    /// Starts the agent in a task of its own. What it says goes into `said`: first `Started`, last `Exited` and
    /// [`Said::Ended`]. The channel must be read while a call of this handle is awaited: the agent waits when nobody
    /// reads. It must be called inside a tokio runtime.
    pub fn start(launch: Launch, endpoint: Endpoint, said: mpsc::Sender<Said>) -> Builtin {
        Builtin(Arc::new(worker::spawn(launch, endpoint, said)))
    }

    /// Says this to the agent: a turn begins, as soon as those before it are over.
    pub async fn prompt(&self, text: &str, files: &[File]) {
        self.0.prompt(Message::prompt(text, files));
    }

    /// Says this to the agent in the turn that runs: the model gets it with the next request. Between turns it begins one.
    pub async fn steer(&self, text: &str, files: &[File]) {
        self.0.steer(Message::prompt(text, files));
    }

    /// Answers an ask. False when nobody waits for that answer.
    pub async fn answer(&self, ask: &str, answer: &Answer) -> bool {
        self.0.answer(ask, answer)
    }

    /// Uses another model or mode from the next request or call on.
    pub async fn set(&self, model: Option<&str>, mode: Option<Mode>) {
        self.0.set(model, mode);
    }

    /// Stops the turn and everything it runs, in at most about five seconds: the stream is aborted, commands are ended
    /// with all they started, and every call that is open gets a result.
    pub async fn interrupt(&self) -> Stop {
        self.0.interrupt().await
    }

    /// Ends the agent and everything it runs.
    pub async fn end(&self) -> Stop {
        self.0.end().await
    }
}
