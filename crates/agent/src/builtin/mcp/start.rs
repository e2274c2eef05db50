//! Starts or reaches one MCP server and asks what tools it has. A program that is started carries the mark of the run, as
//! every command does, and ends with it.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, Command};

use super::config::{Server, Way, expand};
use crate::builtin::request;
use crate::builtin::tool::Bench;

/// How long a server may take until its tools are known: some are downloaded first.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much of what it says on stderr is remembered.
const COMPLAINT_BYTES: usize = 2_000;

/// A server that runs.
pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) client: RunningService<RoleClient, ()>,
    pub(crate) tools: Vec<rmcp::model::Tool>,
    /// Its process: it ends when this is dropped.
    child: Option<Child>,
}

impl Served {
    /// The leader of its group.
    pub(crate) fn group(&self) -> Option<u32> {
        self.child.as_ref()?.id()
    }

    /// False when it has ended, or was ended with the turn.
    pub(crate) fn is_there(&mut self) -> bool {
        let runs = self.child.as_mut().is_none_or(|child| matches!(child.try_wait(), Ok(None)));
        runs && !self.client.is_transport_closed()
    }
}

/// Starts a server. The error is for the person.
pub(crate) async fn start(server: Server, bench: &Bench) -> Result<Served, String> {
    let name = server.name.clone();
    let complaint = Arc::<Mutex<Vec<u8>>>::default();
    let starting = async {
        let (client, child) = match &server.way {
            Way::Program { .. } => program(&server.way, bench, &complaint).await?,
            Way::Http { url, headers } => {
                let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                (http(url, headers).await?, None)
            }
        };
        let tools = client.list_all_tools().await.map_err(|error| format!("tells no tools: {error}"))?;
        Ok(Served { server: server.clone(), client, tools, child })
    };
    let outcome = match tokio::time::timeout(PATIENCE, starting).await {
        Ok(outcome) => outcome,
        Err(_) => Err(format!("did not answer within {} seconds", PATIENCE.as_secs())),
    };
    outcome.map_err(|why| {
        let complaint = complaint.lock().unwrap_or_else(PoisonError::into_inner);
        let complaint = String::from_utf8_lossy(&complaint);
        let last = complaint.trim().lines().next_back().map(|line| format!(" (it says: {line})"));
        format!("the MCP server `{name}` {why}{}; its tools are missing", last.unwrap_or_default())
    })
}

async fn program(
    way: &Way,
    bench: &Bench,
    complaint: &Arc<Mutex<Vec<u8>>>,
) -> Result<(RunningService<RoleClient, ()>, Option<Child>), String> {
    let Way::Program { command, arguments, environment } = way else {
        return Err("is no program".to_owned());
    };
    let program = expand(command, variable)?;
    let mut command = Command::new(&program);
    bench.equip(&mut command);
    for argument in arguments {
        command.arg(expand(argument, variable)?);
    }
    for (name, value) in environment.iter().filter(|(name, _)| !name.starts_with("PARLOR_")) {
        command.env(name, expand(value, variable)?);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("cannot be started by `{program}`: {error}"))?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("ended before it could be talked to".to_owned());
    };
    tokio::spawn(listen(stderr, Arc::clone(complaint)));
    let client = ().serve((stdout, stdin)).await.map_err(|error| format!("does not answer as one: {error}"))?;
    Ok((client, Some(child)))
}

async fn http(
    url: &str,
    headers: impl Iterator<Item = (&str, &str)>,
) -> Result<RunningService<RoleClient, ()>, String> {
    let mut named = HashMap::new();
    for (name, value) in headers {
        let name =
            HeaderName::try_from(name).map_err(|_| format!("has a header `{name}`, which cannot be sent"))?;
        let value = HeaderValue::try_from(expand(value, variable)?);
        named.insert(
            name.clone(),
            value.map_err(|_| format!("has a value for `{name}` that cannot be sent"))?,
        );
    }
    let client = request::client(reqwest::Client::builder)?;
    let config = StreamableHttpClientTransportConfig::with_uri(expand(url, variable)?).custom_headers(named);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    ().serve(transport).await.map_err(|error| format!("does not answer as one: {error}"))
}

/// Parlor's own variables hold keys and tokens.
fn variable(name: &str) -> Option<String> {
    if name.starts_with("PARLOR_") { None } else { std::env::var(name).ok() }
}

/// Remembers the end of what it says; a pipe that nobody reads would stop it.
async fn listen(mut stderr: ChildStderr, complaint: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 1_024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        let mut complaint = complaint.lock().unwrap_or_else(PoisonError::into_inner);
        complaint.extend_from_slice(&buffer[..count]);
        let over = complaint.len().saturating_sub(COMPLAINT_BYTES);
        complaint.drain(..over);
    }
}
