//! Which agents this machine has, and in which versions. It starts them only to ask that.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use tokio::process::Command;

use crate::process::lock;
use crate::{AgentError, Kind, Settings};

/// How long a program may take to say its version: the first start of a large one on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(15);

/// An agent's program on this machine.
#[derive(Clone, Debug)]
pub struct Program {
    /// Which agent.
    pub kind: Kind,
    /// The program; none for an agent that is none, or that is not there.
    pub path: Option<PathBuf>,
    /// What it says its version is.
    pub version: Option<String>,
    /// Why it cannot be used, and what to do.
    pub problem: Option<String>,
}

/// A program with its date, and what it was asked.
type Asked = (PathBuf, Option<SystemTime>, Vec<OsString>);

/// All agents, each with its program, in the order of [`Kind::ALL`].
pub async fn programs(settings: &Settings) -> Vec<Program> {
    join_all(Kind::ALL.map(|kind| program(kind, settings))).await
}

/// The program of an agent that is one.
pub(crate) fn find(kind: Kind, settings: &Settings) -> Result<PathBuf, AgentError> {
    if let Some(path) = settings.programs.get(&kind) {
        // A bare name is looked for like any other; a path is taken as it is.
        let is_path = path.components().count() > 1;
        return if is_path { Ok(path.clone()) } else { on_path(path.as_os_str(), kind, settings) };
    }
    match kind {
        Kind::Demo => std::env::current_exe()
            .map_err(|error| AgentError(format!("cannot find Parlor's own program for the demo: {error}"))),
        _ => on_path(OsStr::new(kind.name()), kind, settings),
    }
}

/// What to do about a program that cannot be started.
pub(crate) fn hint(kind: Kind) -> &'static str {
    match kind {
        Kind::Claude => {
            "install it with `npm install -g @anthropic-ai/claude-code`, or set `PARLOR_CLAUDE` to its path"
        }
        Kind::Codex => "install it with `npm install -g @openai/codex`, or set `PARLOR_CODEX` to its path",
        Kind::Pi => {
            "install it with `npm install -g @earendil-works/pi-coding-agent`, or set `PARLOR_PI` to its path"
        }
        Kind::Builtin | Kind::Demo => "start Parlor again",
    }
}

/// True when this Codex has an app server. What is wrong with one that says nothing is told when it is started.
pub(crate) async fn has_app_server(program: &Path, settings: &Settings) -> bool {
    takes(program, &["app-server", "--help"].map(OsStr::new), settings).await.unwrap_or(true)
}

/// Whether a program succeeds with these arguments and nothing to read; `None` when it does not say. It is asked once for each
/// program and its date.
pub(crate) async fn takes(program: &Path, arguments: &[&OsStr], settings: &Settings) -> Option<bool> {
    static KNOWN: Mutex<BTreeMap<Asked, bool>> = Mutex::new(BTreeMap::new());
    let changed = tokio::fs::metadata(program).await.and_then(|metadata| metadata.modified()).ok();
    let key = (program.to_owned(), changed, arguments.iter().map(OsString::from).collect());
    if let Some(known) = lock(&KNOWN).get(&key) {
        return Some(*known);
    }
    let succeeds = ask(program, arguments, settings).await.ok()?.status.success();
    lock(&KNOWN).insert(key, succeeds);
    Some(succeeds)
}

async fn program(kind: Kind, settings: &Settings) -> Program {
    let nothing = Program { kind, path: None, version: None, problem: None };
    match kind {
        Kind::Builtin => {
            let problem = settings.endpoint.as_ref().err().map(|AgentError(problem)| problem.clone());
            Program { problem, ..nothing }
        }
        Kind::Demo => Program { version: Some(env!("CARGO_PKG_VERSION").to_owned()), ..nothing },
        Kind::Claude | Kind::Codex | Kind::Pi => match find(kind, settings) {
            Ok(path) => match version(&path, settings).await {
                Ok(version) => Program { path: Some(path), version: Some(version), ..nothing },
                Err(problem) => {
                    let problem = format!("`{} --version` {problem}; {}", path.display(), hint(kind));
                    Program { path: Some(path), problem: Some(problem), ..nothing }
                }
            },
            Err(AgentError(problem)) => Program { problem: Some(problem), ..nothing },
        },
    }
}

fn on_path(name: &OsStr, kind: Kind, settings: &Settings) -> Result<PathBuf, AgentError> {
    let path = settings.environment.get(OsStr::new("PATH"));
    which::which_in_global(name, path).ok().and_then(|mut found| found.next()).ok_or_else(|| {
        AgentError(format!(
            "{} is not installed: no `{}` on the PATH; {}",
            kind.label(),
            name.display(),
            hint(kind)
        ))
    })
}

/// The number in the first line of what it says, or the whole line where there is none: some say their name too.
async fn version(program: &Path, settings: &Settings) -> Result<String, String> {
    let output = ask(program, &["--version"].map(OsStr::new), settings).await?;
    // Some print it where errors go.
    let said = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    let said = String::from_utf8_lossy(said);
    let first = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match output.status.success() && !first.is_empty() {
        true => {
            let number = first.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
            Ok(number.unwrap_or(first).chars().take(80).collect())
        }
        false => Err(format!("failed ({}): {}", output.status, first.chars().take(200).collect::<String>())),
    }
}

async fn ask(program: &Path, arguments: &[&OsStr], settings: &Settings) -> Result<Output, String> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(&settings.environment).stdin(Stdio::null()).kill_on_drop(true);
    match tokio::time::timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(error)) => Err(format!("cannot be started: {error}")),
        Err(_) => Err(format!("did not answer within {} seconds", PATIENCE.as_secs())),
    }
}
