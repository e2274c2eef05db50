//! What a session does by itself: it looks at its file, keeps facts, list and index current, and leaves in order.

use super::*;

/// An agent that rests this long is ended; it is started again with the next prompt.
const REST: Duration = Duration::from_secs(15 * 60);

/// A session that nobody looks at is unloaded after this long.
const UNSEEN: Duration = Duration::from_secs(60);

/// The list hears of a session at most this often while it only grows.
const ROW_EVERY: Duration = Duration::from_millis(400);

/// A file that grew in the last seconds has a writer.
const WRITER: Duration = Duration::from_secs(10);

/// A file that has been silent this long in the middle of a turn: nobody knows whether its writer is at work.
const QUIET: Duration = Duration::from_secs(60);

impl Actor {
    /// Takes in what the agent's own file has to say.
    pub(super) async fn look(&mut self) {
        match &mut self.home {
            Home::File(follow) => {
                let look = follow.look(&mut write(&self.shared));
                self.looked(look);
            }
            Home::Log => {
                if self.run.is_none()
                    && let Some(drafts) = self.tail.as_mut().and_then(Tail::news)
                {
                    self.grew = Some(clock::moment());
                    self.keep(drafts).await;
                }
            }
            Home::Archive => {}
        }
    }

    /// Takes in what subagents have to say that have files of their own.
    pub(super) async fn look_at_subagents(&mut self) {
        match &mut self.home {
            Home::File(follow) => {
                let look = follow.look_at_subagents(&mut write(&self.shared));
                self.looked(look);
            }
            Home::Log => {
                let tail = self.tail.as_mut().filter(|_| self.run.is_none());
                let drafts = tail.and_then(|tail| tail.work_of_subagents(&self.ledger, &read(&self.shared)));
                if let Some(drafts) = drafts {
                    self.grew = Some(clock::moment());
                    self.keep(drafts).await;
                }
            }
            Home::Archive => {}
        }
    }

    /// Tells what became of a look at a file.
    fn looked(&mut self, look: Look) {
        match (look, &mut self.home) {
            (Look::Grown, _) => {
                self.last_growth = clock::moment();
                self.grew = Some(clock::moment());
                self.shared.ring();
            }
            (Look::Replaced, Home::File(follow)) => {
                if let Ok((again, view)) = follow.reopen() {
                    **follow = again;
                    *write(&self.shared) = view;
                    self.last_growth = clock::moment();
                    self.shared.ring();
                }
            }
            _ => {}
        }
    }

    /// Looks around. True when the session may be unloaded.
    pub(super) async fn tick(&mut self) -> bool {
        self.look().await;
        self.look_at_subagents().await;
        self.advance().await;
        let idle = read(&self.shared).is_idle();
        if idle
            && let Some(running) = &self.run
            && !running.is_busy()
            && self.last_use.elapsed() > REST
        {
            running.end();
        }
        self.refresh();
        let seen = Arc::strong_count(&self.shared) > 2;
        if seen {
            self.last_use = clock::moment();
        }
        let unload = !seen && self.run.is_none() && self.last_use.elapsed() > UNSEEN;
        if unload {
            self.index();
        }
        unload
    }

    /// Brings facts and list up to date.
    pub(super) fn refresh(&mut self) {
        let facts = self.facts();
        let changed = {
            let mut known = self.shared.facts.write().unwrap_or_else(PoisonError::into_inner);
            let changed = *known != facts;
            *known = facts;
            changed
        };
        if changed {
            self.shared.ring();
        }
        if !matches!(self.home, Home::Log) {
            return;
        }
        let row = log::row(&self.shared.id, &read(&self.shared), &self.ledger);
        let known = self.inner.list.get(&self.shared.id);
        let grown_only = known.is_some_and(|known| {
            Row {
                updated: known.updated.clone(),
                size: known.size,
                tools: known.tools,
                tokens: known.tokens,
                ..row.clone()
            } == *known
        });
        if grown_only && self.row_at.is_some_and(|at| at.elapsed() < ROW_EVERY) {
            return;
        }
        self.row_at = Some(clock::moment());
        self.inner.list.put([row]);
    }

    pub(super) fn facts(&self) -> Facts {
        let view = read(&self.shared);
        let session = view.session();
        let (idle, at_work) = (view.is_idle(), self.run.is_some());
        let source = match self.home {
            Home::Log => Source::Live,
            Home::File(_) => Source::Found,
            Home::Archive => Source::Archived,
        };
        let found_agent = view.format().is_some_and(|format| crate::adopt::kind_of(format).is_some());
        let adopt = source == Source::Found && found_agent;
        let writer = self.grew.is_some_and(|grew| grew.elapsed() < WRITER) && !at_work;
        Facts {
            source,
            can: Can {
                prompt: source == Source::Live && session.agent.is_some() || adopt,
                interrupt: at_work && (!idle || self.run.as_ref().is_some_and(Running::is_busy)),
                steer: self.run.as_ref().is_some_and(Running::can_steer),
                adopt,
                answer: at_work,
            },
            writer: writer.then(|| "another program".to_owned()),
            archived: self.ledger.archived,
            quiet: source == Source::Found && !idle && self.last_growth.elapsed() > QUIET,
            reading: false,
            trouble: self.trouble.clone(),
        }
    }

    /// Keeps the row and the text of the session for the next start and for searching.
    pub(super) fn index(&mut self) {
        let version = read(&self.shared).version();
        if !matches!(self.home, Home::Log) || self.indexed == version {
            return;
        }
        self.indexed = version;
        let (inner, shared) = (self.inner.clone(), self.shared.clone());
        let row = log::row(&shared.id, &read(&shared), &self.ledger);
        tokio::task::spawn_blocking(move || index::live(&inner.store, &shared, &row));
    }

    /// Ends the agent, takes in its last words, and leaves everything written down.
    pub(super) async fn leave(&mut self, mail: &mut mpsc::Receiver<Input>) {
        if let Some(running) = &self.run {
            running.end();
            let patience = tokio::time::sleep(Duration::from_secs(8));
            tokio::pin!(patience);
            while self.run.is_some() {
                let input = tokio::select! {
                    input = mail.recv() => input,
                    () = &mut patience => break,
                };
                match input {
                    Some(Input::Said(run, said)) => {
                        self.said(run, said, mail).await;
                    }
                    Some(Input::Started(run, started)) => {
                        self.started(run, started).await;
                        self.tell(Running::end);
                    }
                    Some(_) => {}
                    None => break,
                }
            }
        }
        let row = log::row(&self.shared.id, &read(&self.shared), &self.ledger);
        if matches!(self.home, Home::Log) {
            let (inner, shared) = (self.inner.clone(), self.shared.clone());
            let _ = blocking(move || index::live(&inner.store, &shared, &row)).await;
        }
    }
}
