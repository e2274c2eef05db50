//! `parlor tail`: a session as it goes on, in the terminal. It only looks; the session may be one that the house runs or one
//! that an agent writes elsewhere.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use crate::args;
use crate::client::escape;
use crate::data;
use crate::guest::Guest;
use crate::input;
use crate::listen::Listener;
use crate::ls;
use crate::output::{print_lines, remark};
use crate::printer::Printer;
use crate::terminal::Terminal;

/// Shows the end of a session, and what comes after it, until Ctrl-C.
pub(crate) fn run(args: &args::Tail, terminal: &Terminal) -> Result<ExitCode> {
    let session = match &args.session {
        Some(start) => input::id(start, &args.house)?,
        None => ls::newest(&args.house)?
            .context("there is no session to look at; start one with `parlor run --agent demo hello`")?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        let guest = Guest::enter(&data::folder(&args.house)?).await?;
        let outcome = follow(args, terminal, &guest, &session).await;
        guest.leave().await;
        outcome
    });
    runtime.shutdown_background();
    code
}

async fn follow(args: &args::Tail, terminal: &Terminal, guest: &Guest, session: &str) -> Result<ExitCode> {
    let mut interrupts = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut socket = guest.client.socket().await?;
    let entries = format!("/api/sessions/{}/entries?count=1", escape(session));
    let history = guest.client.get(&entries).await?["total"].as_u64().unwrap_or(0);
    let mut tail = Tail::new(args, terminal, history);
    if terminal.is_terminal && !args.json {
        remark(&format!("session {session}; Ctrl-C leaves"));
    }
    for frame in Listener::subscribe(&mut socket, session).await? {
        tail.take(&frame)?;
    }
    loop {
        tokio::select! {
            frame = socket.next() => match frame? {
                Some(frame) => tail.take(&frame)?,
                None => bail!("the house was closed"),
            },
            _ = interrupts.recv() => {
                tail.printer.finish(&tail.heard.view)?;
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}

struct Tail<'a> {
    args: &'a args::Tail,
    terminal: &'a Terminal,
    heard: Listener,
    printer: Printer,
    /// How many entries were there already; `None` once they are read.
    history: Option<u64>,
}

impl<'a> Tail<'a> {
    fn new(args: &'a args::Tail, terminal: &'a Terminal, history: u64) -> Tail<'a> {
        Tail {
            args,
            terminal,
            heard: Listener::new(args.json),
            printer: Printer::new(terminal, args.json),
            history: Some(history),
        }
    }

    fn take(&mut self, frame: &Value) -> Result<()> {
        match frame["type"].as_str() {
            // The file was written anew: so is what is shown.
            Some("subscribed") => *self = Tail::new(self.args, self.terminal, 0),
            Some("messages") => self.heard.take(frame)?,
            Some("error") => {
                remark(&format!("parlor: {}", frame["error"]["message"].as_str().unwrap_or_default()))
            }
            _ => return Ok(()),
        }
        let view = &self.heard.view;
        let is_history = |history| frame["kind"] != "live" && (view.entries().len() as u64) < history;
        if self.history.is_some_and(is_history) {
            return Ok(());
        }
        if self.history.take().is_some() {
            self.printer.skip_to(view.roots().len().saturating_sub(self.args.last));
            self.heard.messages.clear();
        }
        self.printer.update(&self.heard.view)?;
        print_lines(self.heard.messages.drain(..))
    }
}
