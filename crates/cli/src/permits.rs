//! `parlor permits`: what people have allowed for good, by folder. It keeps nothing itself: each is in the log of the
//! session in which it was given.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::args;
use crate::client::Client;
use crate::data;
use crate::guest::Guest;
use crate::output::Output;

/// Lists them, or gives or takes back one.
pub(crate) fn run(args: &args::Permits) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        let guest = Guest::enter(&data::folder(&args.house)?).await?;
        let outcome = carry_out(args, &guest.client).await;
        guest.leave().await;
        outcome
    });
    runtime.shutdown_background();
    code
}

async fn carry_out(args: &args::Permits, client: &Client) -> Result<ExitCode> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => std::env::current_dir()?,
    };
    let folder = folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))?;
    let list = client.get("/api/sessions").await?;
    let rows = list["sessions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let here: Vec<&Value> = rows
        .iter()
        .filter(|row| row["agent"] == "builtin" && row["cwd"].as_str() == folder.to_str())
        .collect();
    let shown = folder.display();
    match (&args.allow, &args.remove) {
        (Some(permit), _) => {
            let Some(row) = here.first() else {
                bail!("no session of Parlor's own agent works in {shown}: begin one there, and allow it then")
            };
            order(client, row, permit, true).await?;
        }
        (None, Some(permit)) => {
            let given: Vec<&&Value> =
                here.iter().filter(|row| permits(row).any(|one| one == permit)).collect();
            if given.is_empty() {
                bail!("`{permit}` is not allowed in {shown}; `parlor permits` lists what is");
            }
            for row in given {
                order(client, row, permit, false).await?;
            }
        }
        (None, None) => {
            let folder = |row: &Value| row["cwd"].as_str().unwrap_or_default().to_owned();
            let all: BTreeSet<(String, &str)> =
                rows.iter().flat_map(|row| permits(row).map(move |permit| (folder(row), permit))).collect();
            let mut output = Output::stdout();
            for (folder, permit) in all {
                writeln!(output, "{folder}\t{permit}")?;
            }
            output.finish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn permits(row: &Value) -> impl Iterator<Item = &str> {
    row["permits"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

async fn order(client: &Client, row: &Value, permit: &str, allowed: bool) -> Result<()> {
    let id = uuid::Uuid::now_v7().to_string();
    let order = json!({"id": id, "by": "terminal", "order": "permit", "permit": permit, "allowed": allowed});
    let session = row["id"].as_str().unwrap_or_default();
    client.post(&format!("/api/sessions/{session}/orders"), &order).await?;
    Ok(())
}
