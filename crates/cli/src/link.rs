//! `parlor link` and `parlor stop-all`: short words with the house that is open.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::House;
use crate::client::Client;
use crate::data;
use crate::output::Output;

/// Prints a new one-time link to the page.
pub(crate) fn link(args: &House) -> Result<ExitCode> {
    let answer = post(args, "/api/link")?;
    say(answer["url"].as_str().unwrap_or_default())
}

/// Stops every agent that is at work.
pub(crate) fn stop_all(args: &House) -> Result<ExitCode> {
    let answer = post(args, "/api/stop")?;
    match answer["sessions"].as_u64().unwrap_or(0) {
        0 => say("nothing was at work"),
        1 => say("stopped 1 session"),
        count => say(&format!("stopped {count} sessions")),
    }
}

fn post(args: &House, path: &str) -> Result<Value> {
    let (door, token) = data::door(&data::folder(args)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(Client::new(&door, &token)?.post(path, &json!({})))
}

fn say(text: &str) -> Result<ExitCode> {
    let mut output = Output::stdout();
    writeln!(output, "{text}")?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}
