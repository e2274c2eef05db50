//! A session that an agent wrote by itself becomes the house's own: its lines are the start of a log. It must not run
//! agents.

use std::sync::Arc;

use parlor_agent::Kind;
use parlor_dialect::{Agent, Format};
use parlor_model::record::Record;
use parlor_model::seen::Seen;
use parlor_model::time::Time;
use parlor_store::{Created, Draft, Safety};

use crate::actor;
use crate::clock;
use crate::error::HubError;
use crate::follow::Follow;
use crate::hub::{Inner, blocking};
use crate::log;
use crate::open::Shared;
use crate::scribe::Scribe;
use crate::view::View;

/// The agent that can go on with a session of this format.
pub(crate) fn kind_of(format: Format) -> Option<Kind> {
    match format.agent() {
        Agent::Claude if format == Format::ClaudeSession => Some(Kind::Claude),
        Agent::Codex if format == Format::CodexRollout => Some(Kind::Codex),
        Agent::Pi if format == Format::PiSession => Some(Kind::Pi),
        Agent::Claude | Agent::Codex | Agent::Pi | Agent::Model | Agent::Acp => None,
    }
}

/// What was folded of a file, and of its subagents' own files, in the order in which it was: the agents may delete them.
pub(crate) fn told(view: &View, begun: Time) -> Vec<Draft> {
    let mut scribe = Scribe::default();
    let mut records: Vec<Record> =
        view.steps(0, usize::MAX).iter().flat_map(|step| scribe.write(step)).collect();
    records.extend(scribe.finish());
    let mut at = begun;
    let draft = |Record { at: received, origin, body, .. }| {
        at = received.unwrap_or(at);
        Draft { at, origin, body }
    };
    records.into_iter().map(draft).collect()
}

/// Writes the log of a found session and reads it back.
pub(crate) async fn adopt(
    inner: &Arc<Inner>,
    shared: &Arc<Shared>,
    follow: &Follow,
) -> Result<View, HubError> {
    let (created, drafts) = {
        let view = actor::read(shared);
        let session = view.session();
        let format = view.format().filter(|format| kind_of(*format).is_some());
        let (format, kind) = format.and_then(|format| Some((format, kind_of(format)?))).ok_or_else(|| {
            HubError::Conflict("no agent here can go on with this kind of session".to_owned())
        })?;
        let cwd = session.cwd.as_ref().map(|cwd| cwd.as_str().into_owned()).unwrap_or_default();
        let agent: parlor_model::Key = kind.name().into();
        let at = session.started.unwrap_or_else(clock::now);
        let created = Created { id: shared.id.clone(), agent: agent.clone(), cwd: cwd.clone(), at };
        let mut drafts = vec![
            log::host(&Seen::Created { agent, cwd, model: None, mode: Default::default() }),
            log::host(&Seen::Imported {
                format: format.name().into(),
                path: follow.path.to_string_lossy().into_owned(),
                session: session.id.clone().unwrap_or_else(|| shared.id.clone()),
                from: follow.read_bytes(),
            }),
        ];
        drafts.extend(told(&view, at));
        (created, drafts)
    };
    let (store, id) = (inner.store.clone(), shared.id.clone());
    blocking(move || match store.create(&created) {
        // An adoption that was cut off has made it, and nothing else.
        Err(_) if store.end(&id).is_ok_and(|end| end == 0) => Ok(()),
        outcome => outcome,
    })
    .await??;
    // All of it or nothing: half a history would pass for a whole one.
    log::append(&inner.store, &shared.id, drafts, Safety::Durable).await?;
    let (store, id) = (inner.store.clone(), shared.id.clone());
    let mut view = blocking(move || log::read(&store, &id)).await??;
    // Clients had the same conversation under the file's epoch, with other numbers.
    view.epoch = "log".into();
    Ok(view)
}
