//! `parlor mcp`: the house's tools over stdin and stdout, for an agent that takes MCP servers only as programs. Each line goes to
//! the house as it is, and what the house answers comes back as lines. It must not know what is said.

use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How many answers may wait to be written.
const WAITING: usize = 64;

/// Passes lines on until there are no more.
pub(crate) fn run() -> Result<ExitCode> {
    let variable = |name: &str| {
        std::env::var(name)
            .with_context(|| format!("`{name}` is not set: the house sets it for the agents it runs"))
    };
    let house = House { url: variable("PARLOR_MCP_URL")?, token: variable("PARLOR_MCP_TOKEN")? };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(bridge(house))?;
    // A read of stdin that waits cannot be ended otherwise.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

#[derive(Clone)]
struct House {
    url: String,
    token: String,
}

async fn bridge(house: House) -> Result<()> {
    let (answers, mut answered) = mpsc::channel::<String>(WAITING);
    let writer = tokio::spawn(async move {
        let mut output = tokio::io::stdout();
        while let Some(line) = answered.recv().await {
            output.write_all(format!("{line}\n").as_bytes()).await?;
            output.flush().await?;
        }
        std::io::Result::Ok(())
    });
    let client = parlor_agent::http_client()?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut requests = JoinSet::new();
    // Requests wait long: each goes its own way, so that a cancellation can overtake it.
    while let Some(line) = lines.next_line().await.context("cannot read stdin")? {
        if !line.trim().is_empty() {
            requests.spawn(pass(client.clone(), house.clone(), line, answers.clone()));
        }
        while requests.try_join_next().is_some() {}
    }
    while requests.join_next().await.is_some() {}
    drop(answers);
    writer.await?.context("cannot write to stdout")
}

/// Passes one message on. A request is always answered.
async fn pass(client: reqwest::Client, house: House, line: String, answers: mpsc::Sender<String>) {
    let id = serde_json::from_str::<Value>(&line).ok().and_then(|message| message.get("id").cloned());
    let told = answers.clone();
    if let (Err(error), Some(id)) = (post(&client, &house, line, answers).await, id) {
        let error = json!({ "code": -32603, "message": format!("{error:#}") });
        let _ = told.send(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()).await;
    }
}

async fn post(
    client: &reqwest::Client,
    house: &House,
    line: String,
    answers: mpsc::Sender<String>,
) -> Result<()> {
    let request = client
        .post(&house.url)
        .bearer_auth(&house.token)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(line);
    let mut answer = request.send().await.with_context(|| format!("no house answers at {}", house.url))?;
    if !answer.status().is_success() {
        let status = answer.status();
        let body = answer.text().await.unwrap_or_default();
        let message = serde_json::from_str::<Value>(&body)
            .ok()
            .and_then(|body| Some(body["error"]["message"].as_str()?.to_owned()));
        anyhow::bail!("the house says {status}: {}", message.unwrap_or(body));
    }
    let streams = answer
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let mut rest = Vec::new();
    while let Some(bytes) = answer.chunk().await.context("the house is gone")? {
        rest.extend_from_slice(&bytes);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n').filter(|_| streams) {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if let Some(data) =
                line.trim_end().strip_prefix("data:").map(str::trim).filter(|data| !data.is_empty())
            {
                let _ = answers.send(data.to_owned()).await;
            }
        }
    }
    let rest = String::from_utf8_lossy(&rest);
    if !streams && !rest.trim().is_empty() {
        let _ = answers.send(rest.trim().to_owned()).await;
    }
    Ok(())
}
