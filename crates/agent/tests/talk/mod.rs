//! A conversation with an agent, read as Parlor's log will be read: what a test says and hears goes through the same
//! dialect and transcript as everything else.
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]
#![allow(dead_code, reason = "each suite uses its own part of this")]

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use parlor_agent::{AgentError, Kind, Launch, Run, Said, Settings, Stop};
use parlor_dialect::House;
use parlor_model::Key;
use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::order::{Answer, Choice, Mode, Order, Ordered};
use parlor_model::record::{Origin, Record};
use parlor_model::seen::Seen;
use parlor_model::session::Phase;
use parlor_model::tool::{Tool, ToolState};
use parlor_transcript::Transcript;
use tokio::sync::mpsc;

/// Nothing here takes longer than seconds; this is for a machine with much else to do.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// An agent at work, and what was said.
pub(crate) struct Talk {
    pub(crate) run: Run,
    pub(crate) name: Key,
    said: mpsc::Receiver<Said>,
    house: House,
    transcript: Transcript,
    seq: u64,
    pub(crate) lines: Vec<Bytes>,
    pub(crate) stderr: Vec<Bytes>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) session: Option<Key>,
    pub(crate) ended: bool,
    /// Keep the agent's lines; not where there are hundreds of megabytes of them.
    pub(crate) keep: bool,
    pub(crate) heard: u64,
}

/// An agent in `cwd` that may do everything.
pub(crate) fn launch(kind: Kind, cwd: &Path) -> Launch {
    static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Launch {
        kind,
        run: format!("test-{}-{number}", std::process::id()).into(),
        cwd: cwd.to_owned(),
        model: None,
        mode: Mode::AllowAll,
        resume: None,
        history: Vec::new(),
        mcp: None,
        permits: Default::default(),
        servers: None,
    }
}

/// The processes that carry the mark of a run. A process that has ended has no environment.
pub(crate) fn marked(run: &str) -> BTreeSet<u32> {
    let mark = format!("PARLOR_RUN={run}").into_bytes();
    let carries = |pid: u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| carries(*pid)).collect()
}

/// Waits until a condition holds.
pub(crate) async fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, waiting).await.is_ok(), "waited in vain: {what}");
}

impl Talk {
    pub(crate) async fn start(launch: Launch, settings: &Settings) -> Result<Talk, AgentError> {
        let name = launch.run.clone();
        let (run, said) = Run::start(launch, settings).await?;
        Ok(Talk {
            run,
            name,
            said,
            house: House::new(None),
            transcript: Transcript::default(),
            seq: 0,
            lines: Vec::new(),
            stderr: Vec::new(),
            seen: Vec::new(),
            session: None,
            ended: false,
            keep: true,
            heard: 0,
        })
    }

    /// Says something and waits until the turn is over.
    pub(crate) async fn turn(&mut self, text: &str) {
        self.prompt(text).await.unwrap();
        self.until("the end of the turn", Talk::is_idle).await;
    }

    /// Says something: the order is logged, the agent gets it, and that is logged.
    pub(crate) async fn prompt(&mut self, text: &str) -> Result<(), AgentError> {
        let id = Key::from(format!("prompt-{}", self.seq));
        let order = Order::Prompt { text: text.to_owned(), files: Vec::new(), steer: false };
        self.order(Ordered { id: id.clone(), by: None, order });
        let run = self.run.clone();
        let text = text.to_owned();
        self.during(async move { run.prompt(&text, &[]).await }).await?;
        self.host(Seen::Delivered { prompt: id, steered: false });
        Ok(())
    }

    pub(crate) async fn answer(&mut self, choice: Choice) {
        let (ask, _) = self.asks()[0].clone();
        let answer = Answer { choice, reason: Some("not this time".to_owned()), answers: Vec::new() };
        let order = Order::Answer { ask: ask.clone(), answer: answer.clone() };
        self.order(Ordered { id: Key::new_static("answer"), by: None, order });
        self.run.answer(&ask, &answer).await.unwrap();
    }

    /// Stops the turn, and reads what the agent says meanwhile.
    pub(crate) async fn interrupt(&mut self) -> Stop {
        let run = self.run.clone();
        let stop = self.during(async move { run.interrupt().await }).await;
        self.drain();
        if stop.ended {
            self.until("the end of the agent", |talk| talk.ended).await;
        }
        let Stop { needed, left, duration_ms, .. } = stop;
        self.host(Seen::Stopped { order: Key::new_static("stop"), needed, left, duration_ms });
        stop
    }

    /// Ends the agent and reads its last words.
    pub(crate) async fn end(&mut self) -> Stop {
        let run = self.run.clone();
        let stop = self.during(async move { run.end().await }).await;
        self.until("the end of the agent", |talk| talk.ended).await;
        stop
    }

    /// Reads until a condition holds.
    pub(crate) async fn until(&mut self, what: &str, holds: impl Fn(&Talk) -> bool) {
        let deadline = tokio::time::Instant::now() + DEADLINE;
        while !holds(self) {
            // What is waited for may happen without a word.
            match tokio::time::timeout(Duration::from_millis(50), self.said.recv()).await {
                Ok(Some(said)) => self.take(said),
                Ok(None) => panic!("the agent is gone before {what}\n{}", self.dump()),
                Err(_) if tokio::time::Instant::now() < deadline => {}
                Err(_) => panic!("waited in vain for {what}\n{}", self.dump()),
            }
        }
    }

    /// Awaits a call and reads meanwhile, as whoever runs agents must.
    async fn during<T: Send + 'static>(&mut self, call: impl Future<Output = T> + Send + 'static) -> T {
        let mut call = tokio::spawn(call);
        loop {
            tokio::select! {
                result = &mut call => return result.unwrap(),
                said = self.said.recv(), if !self.ended => match said {
                    Some(said) => self.take(said),
                    None => self.ended = true,
                },
            }
        }
    }

    fn drain(&mut self) {
        while let Ok(said) = self.said.try_recv() {
            self.take(said);
        }
    }

    fn take(&mut self, said: Said) {
        assert!(!self.ended, "something was said after the end: {said:?}");
        match said {
            Said::Line(line) => {
                self.heard += line.len() as u64;
                if self.keep {
                    self.lines.push(line.clone());
                    self.record(Origin::Agent, line);
                }
            }
            Said::Stderr(line) => {
                self.stderr.push(line.clone());
                self.record(Origin::Stderr, line);
            }
            Said::Seen(seen) => self.host(seen),
            Said::Session(session) => self.session = Some(session),
            Said::Ended => self.ended = true,
        }
    }

    fn order(&mut self, ordered: Ordered) {
        self.record(Origin::User, serde_json::to_vec(&ordered).unwrap().into());
    }

    pub(crate) fn host(&mut self, seen: Seen) {
        self.record(Origin::Host, serde_json::to_vec(&seen).unwrap().into());
        self.seen.push(seen);
    }

    fn record(&mut self, origin: Origin, body: Bytes) {
        let record = Record { seq: self.seq, at: None, origin, body };
        let mut events = Vec::new();
        let (line, reading) = self.house.read(&record, &mut events);
        self.transcript.fold(self.seq, &line, &reading, events);
        self.seq += 1;
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.transcript.session().phase == Phase::Idle
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        self.transcript.entries()
    }

    /// The asks that are open, each with its call.
    pub(crate) fn asks(&self) -> Vec<(Key, Key)> {
        let asks = self
            .tools()
            .into_iter()
            .filter_map(|tool| Some((tool.ask.as_ref()?.id.clone(), tool.name.clone())));
        asks.collect()
    }

    pub(crate) fn tools(&self) -> Vec<&Tool> {
        let blocks = self.entries().iter().map(|entry| &entry.block);
        blocks.filter_map(|block| if let Block::Tool(tool) = block { Some(&**tool) } else { None }).collect()
    }

    pub(crate) fn has_tool(&self, state: &ToolState) -> bool {
        self.tools().iter().any(|tool| tool.state == *state)
    }

    /// All that the agent replied.
    pub(crate) fn replies(&self) -> String {
        let blocks = self.entries().iter().map(|entry| &entry.block);
        let replies = blocks.filter_map(|block| match block {
            Block::Reply(reply) => Some(reply.text.as_str().into_owned()),
            _ => None,
        });
        replies.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn has_seen(&self, is: impl Fn(&Seen) -> bool) -> bool {
        self.seen.iter().any(is)
    }

    /// How the process ended: told exactly once.
    pub(crate) fn exit(&self) -> (Option<i32>, Option<i32>) {
        let exits = self.seen.iter().filter_map(|seen| match seen {
            Seen::Exited { code, signal, .. } => Some((*code, *signal)),
            _ => None,
        });
        let exits: Vec<_> = exits.collect();
        assert_eq!(exits.len(), 1, "{}", self.dump());
        exits[0]
    }

    pub(crate) fn dump(&self) -> String {
        let text = |lines: &[Bytes]| -> String {
            let last = lines.iter().skip(lines.len().saturating_sub(60));
            last.map(|line| String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned() + "\n")
                .collect()
        };
        let entries: String = self.entries().iter().map(|entry| format!("{:.400?}\n", entry.block)).collect();
        let phase = &self.transcript.session().phase;
        let (lines, stderr) = (text(&self.lines), text(&self.stderr));
        format!(
            "{phase:?}\n--- entries\n{entries}--- seen\n{:#?}\n--- stdout\n{lines}--- stderr\n{stderr}",
            self.seen
        )
    }
}
