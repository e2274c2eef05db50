//! `parlor search`: words in all sessions, through the house that is open or one that lasts as long as the command.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use crate::args::Search;
use crate::client::escape;
use crate::data;
use crate::guest::Guest;
use crate::output::{Output, remark};
use crate::terminal::{Terminal, plain};

/// Searches.
pub(crate) fn run(args: &Search, terminal: &Terminal) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let kind = match (args.exact, args.regex) {
        (true, _) => "substring",
        (_, true) => "regex",
        _ => "words",
    };
    let words = args.words.join(" ");
    let query: String = [("q", words.as_str()), ("kind", kind), ("limit", &args.limit.to_string())]
        .iter()
        .map(|(key, value)| format!("{key}={}", escape(value)))
        .collect::<Vec<_>>()
        .join("&");
    let answer = runtime.block_on(async {
        let guest = Guest::enter(&data::folder(&args.house)?).await?;
        let answer = guest.client.get(&format!("/api/search?{query}")).await;
        guest.leave().await;
        answer
    })?;
    runtime.shutdown_background();
    let hits = answer["hits"].as_array().cloned().unwrap_or_default();
    let mut output = Output::stdout();
    if args.json {
        writeln!(output, "{}", Value::Array(hits))?;
    } else if hits.is_empty() {
        remark("nothing found");
    } else {
        for hit in &hits {
            let text = |key: &str| plain(hit[key].as_str().unwrap_or_default());
            let (id, title) = (text("session"), text("title"));
            let (bold, end) = if terminal.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
            writeln!(output, "{}  {bold}{title}{end}\n    {}", id.get(..8).unwrap_or(&id), text("snippet"))?;
        }
    }
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}
