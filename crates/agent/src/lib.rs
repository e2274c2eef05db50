//! How agents run: one process runner for every CLI, and the built-in agent. The only crate that starts programs. It
//! knows no log and no client: what an agent says goes into a channel, and what is to be done comes as a call.

pub mod builtin;
mod claude;
mod codex;
mod codex_ask;
mod codex_exec;
pub mod demo;
mod driver;
mod files;
mod kind;
mod lines;
mod output;
mod permits;
mod pi;
mod process;
mod program;
mod run;
mod settings;
mod stop;
mod tree;

use std::path::PathBuf;

use bytes::Bytes;
use parlor_model::Key;
use parlor_model::entry::Entry;
use parlor_model::order::Mode;
use parlor_model::seen::{Force, Seen};

pub use permits::Permits;
pub use program::{Program, programs};
pub use run::Run;
pub use settings::Settings;
pub use tree::sweep;

/// Which agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Pi.
    Pi,
    /// Parlor's own, on an OpenAI-compatible model.
    Builtin,
    /// A recording, replayed.
    Demo,
}

/// Everything that starting an agent needs.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Which agent.
    pub kind: Kind,
    /// The run's name; it marks every process of it (`PARLOR_RUN` in its environment).
    pub run: Key,
    /// Where it works.
    pub cwd: PathBuf,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// What it may do without asking.
    pub mode: Mode,
    /// The agent's own id of the session to go on with.
    pub resume: Option<Key>,
    /// What was said before, for an agent that keeps no sessions of its own.
    pub history: Vec<Entry>,
    /// Where the house listens for the agent's messages to others.
    pub mcp: Option<Mcp>,
    /// What people have allowed for good, for an agent that keeps no permits of its own.
    pub permits: Permits,
    /// The person's own MCP servers, for an agent that has no file of its own for them.
    pub servers: Option<PathBuf>,
}

/// Where an agent finds Parlor's own tools.
#[derive(Clone, Debug)]
pub struct Mcp {
    /// The address of the MCP server.
    pub url: String,
    /// The run's own token: it says who calls.
    pub token: String,
}

impl Mcp {
    /// The variable that holds the token, so that no command line shows it.
    const TOKEN: &str = "PARLOR_MCP_TOKEN";

    /// How long a call of these tools may take: a little longer than an exchange. The agents' own limit is a minute, and the other
    /// agent works longer than that.
    const CALL: std::time::Duration = std::time::Duration::from_secs(31 * 60);
}

/// What is to be in the file that gives Pi those tools.
pub fn pi_extension() -> String {
    pi::extension::text()
}

/// What came out of an agent, in order.
#[derive(Clone, Debug)]
pub enum Said {
    /// A line of its stdout or of its HTTP stream.
    Line(Bytes),
    /// A line of its stderr.
    Stderr(Bytes),
    /// What Parlor saw of it.
    Seen(Seen),
    /// The agent's own id of the session.
    Session(Key),
    /// It has ended: nothing more comes.
    Ended,
}

/// What a stop took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// What was needed.
    pub needed: Force,
    /// Processes that could not be ended.
    pub left: u32,
    /// How long it took.
    pub duration_ms: u64,
    /// True when the agent itself had to be ended; it is started again with the next prompt.
    pub ended: bool,
}

/// Why an agent could not do something. The message says what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct AgentError(pub String);

/// A client for HTTP, set up as the whole program needs it: whoever talks to a house or to a model uses this one.
pub fn http_client() -> Result<reqwest::Client, AgentError> {
    builtin::client(reqwest::Client::builder).map_err(AgentError)
}
