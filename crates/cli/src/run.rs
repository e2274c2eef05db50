//! `parlor run`: a prompt to an agent from the terminal, and everything that comes of it. The conversation itself is the
//! house's; here it is only folded again from its records and printed.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use base64::Engine;
use parlor_model::action::Action;
use parlor_model::block::{Block, NoticeKind};
use serde_json::{Value, json};
use tokio::io::AsyncBufReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{self, RunMode};
use crate::client::Socket;
use crate::data;
use crate::guest::Guest;
use crate::input;
use crate::listen::Listener;
use crate::output::{print_lines, remark};
use crate::printer::Printer;
use crate::terminal::Terminal;

/// Says the prompt and stays until the agent is at rest again.
pub(crate) fn run(args: &args::Run, terminal: &Terminal) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        let guest = Guest::enter(&data::folder(&args.house)?).await?;
        let outcome = talk(args, terminal, &guest).await;
        guest.leave().await;
        outcome
    });
    runtime.shutdown_background();
    code
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Failed,
    Interrupted,
    Left,
}

async fn talk(args: &args::Run, terminal: &Terminal, guest: &Guest) -> Result<ExitCode> {
    // From the first moment on, and for good: an interrupt that nobody listens to is lost.
    let interrupts = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut socket = guest.client.socket().await?;
    let session = session(args, &mut socket).await?;
    let prompt = format!("run-{}", uuid::Uuid::now_v7());
    let mut talk = Talk {
        heard: Listener::new(args.json),
        printer: Printer::new(terminal, args.json),
        session: session.clone(),
        prompt: prompt.clone(),
        asked: None,
        from: 0,
        delivered: false,
        stop: Stop::No,
    };
    let mut early = Listener::subscribe(&mut socket, &session).await?;
    let files = args.files.iter().map(|path| file(path)).collect::<Result<Vec<_>>>()?;
    let text = match args.prompt.as_str() {
        "-" => std::io::read_to_string(std::io::stdin()).context("cannot read the prompt from stdin")?,
        text => text.to_owned(),
    };
    let order = json!({"id": prompt, "by": "terminal", "order": "prompt", "text": text, "files": files});
    let order = json!({"type": "order", "session": session, "order": order});
    let ordered = socket.ask(order, |frame| early.push(frame)).await?;
    // What was said before is known to whoever goes on with it.
    talk.heard.first = ordered["seq"].as_u64().unwrap_or(0);
    for frame in early {
        talk.take(&frame)?;
    }
    let outcome = talk.follow(&mut socket, interrupts).await?;
    talk.printer.finish(&talk.heard.view)?;
    if terminal.is_terminal && !args.json {
        remark(&format!("session {session}"));
    }
    Ok(match outcome {
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::from(1),
        Outcome::Interrupted | Outcome::Left => ExitCode::from(130),
    })
}

/// The session that was named, or a new one.
async fn session(args: &args::Run, socket: &mut Socket) -> Result<String> {
    if let Some(start) = &args.session {
        return input::id(start, &args.house);
    }
    let cwd = match &args.cwd {
        Some(cwd) => cwd.clone(),
        None => std::env::current_dir().context("cannot tell the current folder; say `--cwd DIR`")?,
    };
    let cwd = std::path::absolute(cwd)?;
    let mode = match args.mode {
        RunMode::Ask => "ask",
        RunMode::AcceptEdits => "accept_edits",
        RunMode::AllowAll => "allow_all",
    };
    let create = json!({"type": "create", "agent": args.agent, "cwd": cwd.to_string_lossy(), "model": args.model, "mode": mode});
    let created = socket.ask(create, |_| {}).await?;
    created["session"].as_str().map(str::to_owned).context("the house gave no session")
}

fn file(path: &Path) -> Result<Value> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let media_type = match path.extension().and_then(|ending| ending.to_str()) {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        _ => "text/plain",
    };
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(json!({"name": name, "media_type": media_type, "data": data}))
}

/// A conversation in the terminal.
struct Talk {
    heard: Listener,
    printer: Printer,
    session: String,
    prompt: String,
    /// The ask that the person is thinking about.
    asked: Option<String>,
    from: usize,
    delivered: bool,
    stop: Stop,
}

/// How far an interrupt has come that was typed before the prompt was seen in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// Nobody wants one.
    No,
    /// The prompt was asked back, by that number.
    Asked(u64),
    /// It was given back.
    TakenBack,
    /// It was too late: the turn is stopped as soon as it is seen.
    Wanted,
}

impl Talk {
    async fn follow(&mut self, socket: &mut Socket, mut interrupts: Signal) -> Result<Outcome> {
        let mut lines = tokio::io::BufReader::new(tokio::io::stdin()).lines();
        let mut interactive = std::io::stdin().is_terminal();
        let mut interrupted = false;
        loop {
            if self.delivered {
                self.printer.update(&self.heard.view)?;
            }
            if let Some(outcome) = self.outcome() {
                return Ok(outcome);
            }
            match self.stop {
                Stop::TakenBack => return Ok(Outcome::Interrupted),
                Stop::Wanted if self.delivered => self.stop(socket).await?,
                Stop::No | Stop::Asked(_) | Stop::Wanted => {}
            }
            self.put_ask(interactive);
            tokio::select! {
                frame = socket.next() => match frame? {
                    Some(frame) => self.take(&frame)?,
                    None => bail!("the house was closed"),
                },
                _ = interrupts.recv() => {
                    if std::mem::replace(&mut interrupted, true) {
                        return Ok(Outcome::Left);
                    }
                    self.stop(socket).await?;
                }
                line = lines.next_line(), if interactive && self.asked.is_some() => match line? {
                    Some(line) => self.answer(&line, socket).await?,
                    None => interactive = false,
                },
            }
        }
    }

    /// Stops only what was asked for here: the prompt's own turn, or the prompt itself while it still waits.
    async fn stop(&mut self, socket: &mut Socket) -> Result<()> {
        let id = uuid::Uuid::now_v7().to_string();
        let order = match self.delivered {
            true => json!({"id": id, "by": "terminal", "order": "interrupt"}),
            false => json!({"id": id, "by": "terminal", "order": "cancel", "prompt": self.prompt}),
        };
        let number = socket.send(json!({"type": "order", "session": self.session, "order": order})).await?;
        self.stop = if self.delivered { Stop::No } else { Stop::Asked(number) };
        Ok(())
    }

    fn take(&mut self, frame: &Value) -> Result<()> {
        if let Stop::Asked(number) = self.stop
            && frame["ref"] == json!(number)
        {
            // A prompt that cannot be taken back any more is on its way to the agent.
            self.stop = if frame["type"] == "ordered" { Stop::TakenBack } else { Stop::Wanted };
            return Ok(());
        }
        match frame["type"].as_str() {
            Some("messages") => {
                self.heard.take(frame)?;
                print_lines(self.heard.messages.drain(..))?;
                if !self.delivered
                    && let Some(place) = self.heard.view.place_of(&self.prompt)
                {
                    self.delivered = true;
                    self.from = place;
                    self.printer.skip_to(place);
                }
            }
            Some("error") => {
                remark(&format!("parlor: {}", frame["error"]["message"].as_str().unwrap_or_default()))
            }
            _ => {}
        }
        Ok(())
    }

    /// How the turn of the prompt ended, once it has.
    fn outcome(&self) -> Option<Outcome> {
        let waits = self.heard.view.session().queue.iter().any(|queued| queued.id == self.prompt);
        if waits && self.heard.view.session().held {
            return Some(Outcome::Failed);
        }
        if !self.delivered || !self.heard.view.is_idle() {
            return None;
        }
        let last = self.heard.view.roots()[self.from..]
            .iter()
            .rev()
            .map(|index| &self.heard.view.entries()[*index].block);
        let told =
            last.take_while(|block| !matches!(block, Block::Prompt(_))).find_map(|block| match block {
                Block::Notice(notice) if notice.kind == NoticeKind::Interrupted => Some(Outcome::Interrupted),
                Block::Notice(notice) if notice.kind == NoticeKind::Error => Some(Outcome::Failed),
                Block::Reply(_) => Some(Outcome::Done),
                _ => None,
            });
        Some(told.unwrap_or(Outcome::Done))
    }

    /// Puts the question that the agent waits on, once.
    fn put_ask(&mut self, interactive: bool) {
        let Some((ask, _)) = self.heard.view.asks().into_iter().next() else {
            self.asked = None;
            return;
        };
        if self.asked.as_deref() == Some(ask.as_str()) {
            return;
        }
        self.asked = Some(ask.to_string());
        let words = match interactive {
            true if self.is_question() => "Your answer, in a line:",
            true => "Allow it? [y] once, [s] for this session, [a] always, [n] no, or the reason why not:",
            false => "It waits for an answer: give it on the page (`parlor link`), or use `--mode allow-all`",
        };
        remark(words);
        self.printer.wrote(words);
    }

    /// True when the agent wants to know something, and not whether it may.
    fn is_question(&self) -> bool {
        let view = &self.heard.view;
        let asks = view.asks();
        let block = asks.first().and_then(|(_, entry)| view.entry(entry)).map(|entry| &entry.block);
        matches!(block, Some(Block::Tool(tool)) if matches!(tool.action(), Action::Question { .. }))
    }

    async fn answer(&mut self, line: &str, socket: &mut Socket) -> Result<()> {
        let Some(ask) = self.asked.clone() else { return Ok(()) };
        self.printer.wrote(line);
        let line = line.trim();
        let (choice, reason) = match line {
            _ if self.is_question() => ("reply", Some(line)),
            "y" | "yes" => ("allow", None),
            "s" => ("allow_session", None),
            "a" => ("allow_always", None),
            "n" | "no" | "" => ("deny", None),
            words => ("deny", Some(words)),
        };
        let order = json!({"id": uuid::Uuid::now_v7().to_string(), "by": "terminal", "order": "answer", "ask": ask, "choice": choice, "reason": reason});
        socket.send(json!({"type": "order", "session": self.session, "order": order})).await?;
        Ok(())
    }
}
