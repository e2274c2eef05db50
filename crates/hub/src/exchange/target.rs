//! Whom a message is for: a session by its id, or an agent's session in the caller's folder, which is made when there is none.

use std::sync::Arc;

use parlor_agent::Kind;
use parlor_model::Key;
use parlor_model::order::Mode;

use super::Caller;
use crate::error::HubError;
use crate::hub::{Hub, NewSession};
use crate::open::Open;
use crate::row::{Row, Source};

impl Hub {
    /// The session that a message is for.
    pub(super) async fn target(&self, caller: &Caller, to: &str, sender: &Open) -> Result<Open, HubError> {
        let to = to.trim();
        if to == caller.session {
            return Err(HubError::BadRequest("that is this session itself; name another one".to_owned()));
        }
        let Some(kind) = Kind::named(to) else {
            let open = self.open(to).await.map_err(|_| unknown(to))?;
            if !open.facts().can.prompt {
                return Err(HubError::Conflict(format!("session `{to}` can only be read; name another one")));
            }
            return Ok(open);
        };
        let (cwd, mode) = place(sender);
        if let Some(row) = self.neighbours(caller, &cwd).into_iter().find(|row| row.agent == kind.name()) {
            let open = self.open(&row.id).await?;
            // A session that may do more is only used when it is named.
            if may(place(&open).1) <= may(mode) {
                return Ok(open);
            }
        }
        let new = NewSession { agent: kind.name().to_owned(), cwd, model: None, mode };
        let id: Key = self.create(new).await?;
        self.open(&id).await
    }

    /// The sessions that a caller may talk to without asking anybody: those of its own folder, newest first.
    pub fn peers_of(&self, caller: &Caller) -> Vec<Arc<Row>> {
        let cwd = self.row(&caller.session).and_then(|row| row.cwd.clone()).unwrap_or_default();
        self.neighbours(caller, &cwd)
    }

    fn neighbours(&self, caller: &Caller, cwd: &str) -> Vec<Arc<Row>> {
        let mut rows = self.changes(0).rows;
        rows.retain(|row| {
            let other = row.id != caller.session.as_str() && !row.archived;
            other && row.source == Source::Live && !cwd.is_empty() && row.cwd.as_deref() == Some(cwd)
        });
        rows.sort_by(|one, two| two.updated.cmp(&one.updated));
        rows
    }
}

/// Where a session works, and what it may do there.
pub(super) fn place(open: &Open) -> (String, Mode) {
    let view = open.view();
    let session = view.session();
    let cwd = session.cwd.as_ref().map(|cwd| cwd.as_str().into_owned()).unwrap_or_default();
    (cwd, session.mode.unwrap_or_default())
}

/// How much a mode allows.
pub(super) fn may(mode: Mode) -> u8 {
    match mode {
        Mode::Ask => 0,
        Mode::AcceptEdits => 1,
        Mode::AllowAll => 2,
    }
}

fn unknown(to: &str) -> HubError {
    let to: String = to.chars().take(80).collect();
    let names = Kind::ALL.map(Kind::name).join(", ");
    HubError::NotFound(format!(
        "there is no session or agent `{to}`; name a session that `agents_list` shows, or one of: {names}"
    ))
}
