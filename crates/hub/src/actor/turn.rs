//! Turns: when the agent is started, when a prompt is handed over, how a turn is stopped or given up.

use super::*;
use crate::log::Words;

/// The person's own MCP servers for the built-in agent, in the data folder.
const SERVERS: &str = "mcp.json";

/// A turn in the agent's own file that has been silent this long is not waited for when a prompt comes.
const ELSEWHERE: Duration = Duration::from_secs(20);

impl Actor {
    /// A turn that nobody works on any more is over: its agent ended, or was left, in the middle of it.
    pub(super) async fn give_up_turn(&mut self) {
        if self.run.is_none() && !read(&self.shared).is_idle() {
            self.note(vec![Seen::TurnEnded { end: TurnEnd::Interrupted, error: None }]).await;
        }
    }

    pub(super) async fn interrupt(&mut self, order: Key) {
        match &self.run {
            Some(running) if self.stopping.is_none() => {
                self.stopping = Some((order.clone(), false));
                running.interrupt(order);
            }
            Some(_) => {}
            None if read(&self.shared).is_idle() => {}
            None => {
                let stop = Stop { needed: Force::Nothing, left: 0, duration_ms: 0, ended: false };
                self.stopped(order, stop).await;
            }
        }
    }

    /// Nothing of the turn runs any more. What waits in the queue waits for a person's word, unless it came after the stop.
    pub(super) async fn stopped(&mut self, order: Key, stop: Stop) {
        let prompted = self.stopping.take().is_some_and(|(_, prompted)| prompted);
        let mut seen = vec![Seen::Stopped {
            order,
            needed: stop.needed,
            left: stop.left,
            duration_ms: stop.duration_ms,
        }];
        if !self.ledger.waiting.is_empty() && !prompted {
            seen.push(Seen::Held);
        }
        self.note(seen).await;
    }

    pub(super) async fn started(&mut self, run: u64, started: Result<Started, AgentError>) {
        if run != self.runs {
            return;
        }
        match started {
            Ok(started) => {
                if let Some(running) = &mut self.run {
                    running.began(started);
                }
                if let Some((order, _)) = self.stopping.clone()
                    && let Some(running) = &self.run
                {
                    running.interrupt(order);
                }
            }
            Err(error) => {
                self.run = None;
                self.inner.exchanges.forget(&self.shared.id);
                let mut seen = vec![Seen::Failed { text: error.to_string() }];
                if !self.ledger.waiting.is_empty() {
                    seen.push(Seen::Held);
                }
                self.note(seen).await;
                if let Some((order, _)) = self.stopping.take() {
                    let stop = Stop { needed: Force::Nothing, left: 0, duration_ms: 0, ended: true };
                    self.stopped(order, stop).await;
                }
            }
        }
    }

    /// Hands the next prompt over when the agent is free, or puts it into the turn where that is wanted.
    pub(super) async fn advance(&mut self) {
        if self.stopping.is_some() || !matches!(self.home, Home::Log) {
            return;
        }
        if !self.ledger.waiting.is_empty() && self.last_growth.elapsed() > ELSEWHERE {
            self.give_up_turn().await;
        }
        let (idle, held) = {
            let view = read(&self.shared);
            (view.is_idle(), view.session().held)
        };
        if idle && self.restart {
            if let Some(running) = &self.run {
                running.end();
            }
            return;
        }
        let Some((prompt, Words { text, files, steer })) = self.ledger.waiting.first().cloned() else {
            return;
        };
        let can_steer = self.run.as_ref().is_some_and(Running::can_steer);
        let steered = !idle && steer && can_steer;
        if held || !(idle || steered) {
            return;
        }
        match &self.run {
            None => self.begin().await,
            Some(running) if running.is_ready() => {
                self.note(vec![Seen::Delivered { prompt, steered }]).await;
                self.tell(|running| running.prompt(text, files, steered));
            }
            Some(_) => {}
        }
    }

    /// Starts the agent.
    pub(super) async fn begin(&mut self) {
        let Some(inbox) = self.inbox.upgrade() else { return };
        let view = read(&self.shared);
        let session = view.session();
        let agent = session.agent.clone().unwrap_or_default();
        let Some(kind) = Kind::named(&agent) else { return };
        self.runs += 1;
        let history = if kind == Kind::Builtin { view.entries().to_vec() } else { Vec::new() };
        let mut launch = crate::running::launch(kind, session, self.ledger.model.clone(), history);
        drop(view);
        launch.mcp = self.inner.exchanges.mint(&self.shared.id);
        launch.permits = self.inner.permits.clone();
        launch.servers = Some(self.inner.store.folder().join(SERVERS));
        self.tail = None;
        self.run = Some(Running::start(self.runs, launch, self.inner.settings.clone(), inbox));
    }

    pub(super) fn tell(&self, what: impl FnOnce(&Running)) {
        if let Some(running) = &self.run {
            what(running);
        }
    }

    /// What an earlier life of the house left running is ended, and the log says so.
    pub(super) async fn settle_lost(&mut self) {
        let Some(run) = self.ledger.run.clone() else { return };
        let runs = vec![run.clone()];
        let ended = blocking(move || parlor_agent::sweep(&runs)).await.unwrap_or(0);
        let mut seen = vec![Seen::Lost { run, ended }];
        if !self.ledger.waiting.is_empty() {
            seen.push(Seen::Held);
        }
        self.note(seen).await;
    }
}
