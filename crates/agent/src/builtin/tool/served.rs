//! A tool of an MCP server: the call is passed on, and what comes back is text.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use parlor_model::Key;
use parlor_model::seen::Ended;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Map, Value};

use super::output::{Ends, Output};
use super::{Bench, Outcome};
use crate::builtin::mcp::ServedTool;

/// What the names of such tools begin with.
const PREFIX: &str = "mcp__";
/// How long a call may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// A call for a server.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) name: String,
    input: Map<String, Value>,
}

impl Served {
    /// Reads a call; `None` when the tool is another one.
    pub(crate) fn parse(name: &str, arguments: &str) -> Option<Result<Served, String>> {
        name.starts_with(PREFIX).then_some(())?;
        // Some models say nothing where there is nothing to say.
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        Some(super::read_input(name, arguments).map(|input| Served { name: name.to_owned(), input }))
    }

    pub(crate) async fn run(self, call: Key, bench: &Bench) -> Outcome {
        let Some(ServedTool { peer, name }) = bench.served(&self.name) else {
            return Outcome::failed(format!(
                "There is no tool `{}` any more: its server is not there.",
                self.name
            ));
        };
        let params = CallToolRequestParams::new(name).with_arguments(self.input);
        let answer = match tokio::time::timeout(PATIENCE, peer.call_tool_once(params)).await {
            Ok(Ok(CallToolResponse::Complete(result))) => result,
            Ok(Ok(_)) => return Outcome::failed("The server asks for more than can be given here."),
            Ok(Err(error)) => return Outcome::failed(format!("The server says: {error}")),
            Err(_) => {
                let seconds = PATIENCE.as_secs();
                return Outcome::failed(format!("The server did not answer within {seconds} seconds."));
            }
        };
        let state = if answer.is_error == Some(true) { Ended::Failed } else { Ended::Done };
        // A long answer is shown whole, and told in part, as what a command prints.
        let ends = Arc::<Mutex<Ends>>::default();
        let mut output = Output::new(call, bench.said.clone(), ends.clone());
        output.push(text(&answer).as_bytes());
        let (text, truncated) = ends.lock().unwrap_or_else(PoisonError::into_inner).told();
        if truncated {
            output.flush(true).await;
        }
        Outcome { state, text, exit_code: None, truncated, diff: None }
    }
}

fn text(answer: &CallToolResult) -> String {
    let parts: Vec<String> = answer.content.iter().map(part).collect();
    match (&answer.structured_content, parts.is_empty()) {
        (Some(value), true) => value.to_string(),
        (None, true) => "(no output)".to_owned(),
        (_, false) => parts.join("\n"),
    }
}

fn part(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[a picture, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[a sound, {}]", audio.mime_type),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}:\n{text}"),
            ResourceContents::BlobResourceContents { uri, .. } => format!("[a file, {uri}]"),
            _ => "[a file]".to_owned(),
        },
        ContentBlock::ResourceLink(resource) => resource.uri.clone(),
        // What later versions of MCP bring.
        _ => "[something that is no text]".to_owned(),
    }
}
