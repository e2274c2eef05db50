//! What is known of a session as a whole, as clients are told it. It must not read records.

use parlor_hub::{Facts, Row, Source, View};
use parlor_model::session::{Phase, Session};
use parlor_model::text::Text;
use parlor_model::time::Time;

use crate::wire;

/// The state of the session `id`. `row` knows what the agent's own folder told.
pub(crate) fn state(id: &str, view: &View, facts: &Facts, row: Option<&Row>) -> wire::State {
    let session = view.session();
    let text = |text: &Text| text.as_str().into_owned();
    let of_row = |field: fn(&Row) -> Option<String>| row.and_then(field);
    let (told, listed) = (session.title.as_ref().map(text), of_row(|row| row.title.clone()));
    wire::State {
        id: id.to_owned(),
        // The end of a file does not say how the session began; the list does.
        title: if facts.reading { listed.or(told) } else { told.or(listed) },
        agent: session.agent.as_ref().map(ToString::to_string).or_else(|| of_row(agent)),
        model: session.model.as_ref().map(ToString::to_string),
        mode: session.mode.map(mode),
        cwd: session.cwd.as_ref().map(text).or_else(|| of_row(|row| row.cwd.clone())),
        branch: session.branch.as_ref().map(text),
        version: session.version.as_ref().map(ToString::to_string),
        phase: phase(session, facts),
        since: view.since().map(Time::iso_millis),
        usage: (&session.usage).into(),
        context: session.context,
        context_window: session.context_window,
        cost_usd: session.cost_usd.filter(|cost| cost.is_finite()),
        queue: session.queue.iter().map(queued).collect(),
        held: session.held,
        ties: session.ties.iter().map(tie).collect(),
        counts: (&session.counts).into(),
        source: source(facts.source),
        can: can(facts),
        writer: facts.writer.clone(),
        asks: view.asks().into_iter().map(open_ask).collect(),
        archived: facts.archived,
        reading: facts.reading,
        trouble: facts.trouble.clone(),
    }
}

fn agent(row: &Row) -> Option<String> {
    Some(row.agent.clone()).filter(|agent| !agent.is_empty())
}

/// A file in the middle of a turn whose writer is silent may be at work or dead: nobody knows.
fn phase(session: &Session, facts: &Facts) -> wire::Phase {
    if facts.quiet && session.phase != Phase::Idle {
        return wire::Phase { phase: "unknown".to_owned(), tool: None };
    }
    let (name, tool) = match &session.phase {
        Phase::Idle => ("idle", None),
        Phase::Preparing => ("preparing", None),
        Phase::Thinking => ("thinking", None),
        Phase::Replying => ("replying", None),
        Phase::Executing { tool } => ("executing", Some(tool)),
        Phase::Waiting { tool } => ("waiting", Some(tool)),
    };
    wire::Phase { phase: name.to_owned(), tool: tool.map(ToString::to_string) }
}

fn queued(queued: &parlor_model::session::Queued) -> wire::Queued {
    wire::Queued {
        id: queued.id.to_string(),
        text: queued.text.as_str().into_owned(),
        files: queued.files,
        from: queued.from.as_ref().map(|from| from.as_str().into_owned()),
    }
}

fn tie(tie: &parlor_model::session::Tie) -> wire::Tie {
    let parlor_model::session::Tie { session, agent, sent, received, open, waits } = tie;
    let (session, agent) = (session.to_string(), agent.to_string());
    wire::Tie { session, agent, sent: *sent, received: *received, open: *open, waits: *waits }
}

fn open_ask((id, entry): (parlor_model::Key, parlor_model::Key)) -> wire::OpenAsk {
    wire::OpenAsk { id: id.to_string(), entry: entry.to_string() }
}

fn mode(mode: parlor_model::order::Mode) -> wire::Mode {
    match mode {
        parlor_model::order::Mode::Ask => wire::Mode::Ask,
        parlor_model::order::Mode::AcceptEdits => wire::Mode::AcceptEdits,
        parlor_model::order::Mode::AllowAll => wire::Mode::AllowAll,
    }
}

fn source(source: Source) -> wire::Source {
    match source {
        Source::Live => wire::Source::Live,
        Source::Found => wire::Source::Found,
        Source::Archived => wire::Source::Archived,
    }
}

fn can(facts: &Facts) -> wire::Can {
    let parlor_hub::Can { prompt, interrupt, steer, adopt, answer } = facts.can;
    wire::Can { prompt, interrupt, steer, adopt, answer }
}
