//! What a list says of a session, read without building the conversation: the same reducer, given only the
//! facts and the prompts.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use parlor_dialect::{Agent, Decoder, Format};
use parlor_model::block::Block;
use parlor_model::event::{Event, Fate, Reading};
use parlor_model::json::Json;
use parlor_model::line::Line;
use parlor_model::rule::Rule;
use parlor_model::time::Time;
use parlor_model::usage::Usage;
use parlor_transcript::Transcript;
use serde::{Deserialize, Serialize};

use crate::{Found, Source};

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The session's id.
    pub id: String,
    /// The best title.
    pub title: Option<String>,
    /// The agent's name.
    pub agent: String,
    /// The name of the file's format.
    pub format: String,
    /// The working directory.
    pub project: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The first record's time, in ISO 8601.
    pub started: Option<String>,
    /// The last record's time, or else the file's, in ISO 8601.
    pub updated: String,
    /// How often a person spoke.
    pub prompts: u64,
    /// Tokens of the session and its subagents, each message counted once.
    pub tokens: Tokens,
    /// How many subagents have a file of their own.
    pub subagents: u64,
    /// The size of all its files in bytes.
    pub size: u64,
    /// Its file; a name that is not Unicode only nearly.
    pub path: String,
    /// The session whose subagent this is: such a row is added to the other one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent_of: Option<String>,
    /// The agent's own id, for a session that the house keeps: the agent's file of it is the same session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
}

/// Tokens by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Input that was not cached.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// All of them.
    pub total: u64,
}

impl Tokens {
    /// The tokens of a session.
    pub fn of(usage: &Usage) -> Tokens {
        let Usage { input, output, cache_read, cache_write, .. } = *usage;
        Tokens { input, output, cache_read, cache_write, total: usage.total() }
    }

    /// Adds another session's.
    pub fn add(&mut self, other: &Tokens) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.total = self.total.saturating_add(other.total);
    }
}

/// Reads what a list says of a session. `None` when its file cannot be read or is in no known format.
pub fn skim(found: &Found) -> Option<Row> {
    let source = Source::file(&found.file.path).ok()?;
    let format = source.detect()?;
    let mut transcript = Transcript::default();
    let mut decoder = Decoder::new(Some(format));
    let mut events = Vec::new();
    for (seq, line) in source.lines().enumerate() {
        let reading = decoder.skim(&line, &mut events);
        events.retain(belongs_in_a_list);
        fold(&mut transcript, seq, &line, reading.at, &mut events);
    }
    let updated = transcript.session().updated;
    for file in &found.subagents {
        count_subagent(&mut transcript, &file.path);
    }
    let session = transcript.session();
    let text = |text: &parlor_model::text::Text| text.as_str().into_owned();
    Some(Row {
        id: found.id.clone(),
        title: session.title.as_ref().map(text),
        agent: found.agent.unwrap_or(format.agent()).name().to_owned(),
        format: format.name().to_owned(),
        project: session.cwd.as_ref().map(text),
        branch: session.branch.as_ref().map(text),
        model: session.model.as_ref().map(ToString::to_string),
        started: session.started.map(Time::iso_millis),
        updated: updated.unwrap_or(Time((found.file.modified_ns / 1000) as i64)).iso_millis(),
        prompts: session.counts.prompts,
        tokens: Tokens::of(&session.usage),
        subagents: found.subagents.len() as u64,
        size: found.subagents.iter().map(|file| file.size).fold(found.file.size, u64::saturating_add),
        path: found.file.path.to_string_lossy().into_owned(),
        subagent_of: subagent_of(&source, format, &found.id),
        own: None,
    })
}

/// Adds subagents' rows to the ones that spawned them, leaves out files of sessions that the house keeps itself, and puts
/// the newest first.
pub fn arrange(mut rows: Vec<Cow<'_, Row>>) -> Vec<Cow<'_, Row>> {
    let kept: HashSet<String> = rows
        .iter()
        .filter(|row| row.own.is_some())
        .flat_map(|row| [Some(row.id.clone()), row.own.clone()])
        .flatten()
        .collect();
    rows.retain(|row| row.own.is_some() || !kept.contains(&row.id));
    let (subagents, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.subagent_of.is_some());
    add_subagents(&mut rows, &subagents);
    rows.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.path.cmp(&b.path)));
    rows
}

fn add_subagents(rows: &mut [Cow<'_, Row>], subagents: &[Cow<'_, Row>]) {
    if subagents.is_empty() {
        return;
    }
    let places: HashMap<String, usize> =
        rows.iter().enumerate().map(|(place, row)| (row.id.clone(), place)).collect();
    let owners: HashMap<&str, &str> = subagents
        .iter()
        .map(|row| (row.id.as_str(), row.subagent_of.as_deref().unwrap_or_default()))
        .collect();
    for subagent in subagents {
        let mut owner = subagent.subagent_of.as_deref().unwrap_or_default();
        // A subagent's subagent belongs to the session at the top; a bound, because files may name each
        // other.
        for _ in 0..8 {
            owner = owners.get(owner).copied().unwrap_or(owner);
        }
        if let Some(row) = places.get(owner).and_then(|place| rows.get_mut(*place)) {
            let row = row.to_mut();
            row.tokens.add(&subagent.tokens);
            row.subagents += 1;
            row.size = row.size.saturating_add(subagent.size);
        }
    }
}

/// Adds the tokens of a subagent. Messages that the session's own file repeats are counted once, by their
/// keys.
fn count_subagent(transcript: &mut Transcript, path: &Path) {
    let Ok(source) = Source::file(path) else { return };
    let Some(format) = source.detect() else { return };
    let mut decoder = Decoder::new(Some(format));
    let mut events = Vec::new();
    for (seq, line) in source.lines().enumerate() {
        decoder.skim(&line, &mut events);
        events.retain(|event| matches!(event, Event::Usage { .. }));
        fold(transcript, seq, &line, None, &mut events);
    }
}

fn fold(transcript: &mut Transcript, seq: usize, line: &Line, at: Option<Time>, events: &mut Vec<Event>) {
    if at.is_some() || !events.is_empty() {
        // Hidden: a list has no use for lines that nobody understands.
        let reading = Reading { fate: Fate::Hidden(Rule::Bookkeeping), at };
        transcript.fold(seq as u64, line, &reading, events.drain(..));
    }
}

fn belongs_in_a_list(event: &Event) -> bool {
    match event {
        Event::Meta { .. } | Event::Usage { .. } => true,
        Event::Put { under, block, .. } => under.is_none() && matches!(block, Block::Prompt(_)),
        Event::Turn { .. }
        | Event::Grow { .. }
        | Event::End { .. }
        | Event::Ask { .. }
        | Event::Decide { .. }
        | Event::Overtake { .. } => false,
    }
}

/// The session that spawned this one, where its first records say that it is a subagent's.
fn subagent_of(source: &Source, format: Format, id: &str) -> Option<String> {
    let mut head =
        source.lines().filter(|line| !line.is_blank()).take(8).map(|line| Json::new(line.bytes().clone()));
    let text = |json: Option<Json>| Some(json?.text()?.as_str().into_owned());
    let owner = match format.agent() {
        Agent::Claude => {
            let first = head.find(|record| record.get("isSidechain").is_some())?;
            first.get("isSidechain")?.bool().filter(|side| *side)?;
            text(first.get("sessionId"))
        }
        Agent::Codex => {
            let meta = head.take(1).next()?.get("payload")?;
            let spawn = meta.get("source")?.get("subagent")?;
            text(meta.get("parent_thread_id"))
                .or_else(|| text(spawn.get("thread_spawn")?.get("parent_thread_id")))
                .or_else(|| text(meta.get("forked_from_id")))
        }
        Agent::Pi | Agent::Model | Agent::Acp => None,
    };
    owner.filter(|owner| owner != id)
}
