//! Stopping: first in the agent's own words, then by signals, then by force, each step for a bounded time, until nothing
//! is left. It knows when a turn is over only from the engine's state.

use std::collections::BTreeSet;
use std::time::Duration;

use parlor_model::seen::Force;
use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::Stop;
use crate::driver::Wish;
use crate::process::{Engine, State, lock};
use crate::tree::{self, Process};

/// How long an agent may take to stop its turn by itself.
const PROTOCOL: Duration = Duration::from_millis(2500);
/// An interrupt that comes before the agent has begun the turn is lost: it is said again.
const AGAIN: Duration = Duration::from_millis(700);
/// How long an agent may take to end by itself.
const FAREWELL: Duration = Duration::from_millis(2200);
/// How long SIGINT and SIGTERM may take, and for how long SIGKILL is sent.
const INTERRUPT: Duration = Duration::from_millis(800);
const TERMINATE: Duration = Duration::from_millis(700);
const KILL: Duration = Duration::from_millis(1000);
/// How long the commands of a turn may outlive it.
const COMMANDS: Duration = Duration::from_millis(800);
/// How long what an agent leaves behind may take to end on SIGTERM.
const LEFT_BEHIND: Duration = Duration::from_millis(400);
/// How often processes are looked at meanwhile.
const LOOK: Duration = Duration::from_millis(25);

impl Engine {
    /// Stops the turn and everything that it runs.
    pub(crate) async fn interrupt(&self) -> Stop {
        let _one = self.stopping.lock().await;
        let began = Instant::now();
        let was_busy = !self.state().is_over();
        let mut needed = Force::Nothing;
        if was_busy {
            needed = Force::Protocol;
            if !self.ask_to_stop().await {
                needed = self.force(Force::Interrupt, State::is_over).await;
            }
        }
        let (left, ended) = if self.state().dead {
            (self.left_behind().await, true)
        } else {
            let patience = if was_busy { COMMANDS } else { Duration::ZERO };
            let (force, left) = self.end_commands(patience).await;
            needed = needed.max(force);
            (left, false)
        };
        Stop { needed, left, duration_ms: millis(began), ended }
    }

    /// Ends the agent and everything that it runs.
    pub(crate) async fn end(&self) -> Stop {
        let _one = self.stopping.lock().await;
        let began = Instant::now();
        let mut needed = Force::Nothing;
        if !self.state().dead {
            needed = Force::Protocol;
            let farewell = async {
                if !self.state().is_over() {
                    let _ = self.wish(Wish::Interrupt).await;
                }
                let _ = self.wish(Wish::End).await;
                self.died().await;
            };
            if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
                needed = self.force(Force::Terminate, |state| state.dead).await;
            }
        }
        let left = self.left_behind().await;
        Stop { needed, left, duration_ms: millis(began), ended: true }
    }

    /// Ends what a dead agent left behind; how many could not be ended.
    pub(crate) async fn clear(&self) -> u32 {
        let all = |engine: &Engine| engine.tree().look();
        let (_, left) = self.end_processes(all, Duration::ZERO).await;
        // Where processes cannot be looked at, the group is all there is.
        if tree::is_blind() {
            self.tree().send_group(Signal::KILL);
            return u32::from(!self.tree().is_group_empty());
        }
        left
    }

    /// In the agent's own words. True when the turn is over, or the agent.
    async fn ask_to_stop(&self) -> bool {
        let asking = async {
            while self.wish(Wish::Interrupt).await.is_ok() {
                if self.until(AGAIN, State::is_over).await {
                    return true;
                }
            }
            // It has no words for that, or it has ended.
            self.state().is_over()
        };
        tokio::time::timeout(PROTOCOL, asking).await.unwrap_or_default()
    }

    /// By signals, from `first` on, until `is_enough`. What was needed.
    async fn force(&self, first: Force, is_enough: impl Fn(State) -> bool + Copy) -> Force {
        if first <= Force::Interrupt {
            self.tree().send_group(Signal::INT);
            if self.until(INTERRUPT, is_enough).await {
                return Force::Interrupt;
            }
        }
        self.signal_all(Signal::TERM);
        if self.until(TERMINATE, is_enough).await {
            return Force::Terminate;
        }
        let began = Instant::now();
        while began.elapsed() < KILL {
            self.signal_all(Signal::KILL);
            if self.until(LOOK, |state| state.dead).await {
                break;
            }
        }
        Force::Kill
    }

    fn signal_all(&self, signal: Signal) {
        let mut tree = self.tree();
        let all = tree.look();
        tree.send_group(signal);
        tree::send(&all, signal);
    }

    /// How many processes of a dead agent could not be ended.
    async fn left_behind(&self) -> u32 {
        self.until(LEFT_BEHIND + KILL + KILL, |state| state.left.is_some()).await;
        self.state().left.unwrap_or(1)
    }

    /// Ends what the turn started and has not ended; the agent itself lives on.
    async fn end_commands(&self, patience: Duration) -> (Force, u32) {
        let before = lock(&self.before).clone();
        let commands = move |engine: &Engine| -> Vec<Process> {
            let now: BTreeSet<Process> = engine.tree().look_detached().into_iter().collect();
            now.difference(&before).copied().collect()
        };
        self.end_processes(commands, patience).await
    }

    /// Waits until there are none, then asks them to end, then ends them. What was needed, and how many are left.
    async fn end_processes(
        &self,
        find: impl Fn(&Engine) -> Vec<Process>,
        patience: Duration,
    ) -> (Force, u32) {
        let steps = [(None, Force::Nothing, patience), (Some(Signal::TERM), Force::Terminate, LEFT_BEHIND)];
        let mut found = find(self);
        for (signal, force, limit) in steps {
            if let Some(signal) = signal {
                tree::send(&found, signal);
            }
            let began = Instant::now();
            while !found.is_empty() && began.elapsed() < limit {
                sleep(LOOK).await;
                found = find(self);
            }
            if found.is_empty() {
                return (force, 0);
            }
        }
        let began = Instant::now();
        while !found.is_empty() && began.elapsed() < KILL {
            tree::send(&found, Signal::KILL);
            sleep(LOOK).await;
            found = find(self);
        }
        (Force::Kill, found.len() as u32)
    }
}

fn millis(began: Instant) -> u64 {
    began.elapsed().as_millis() as u64
}
