//! One item of a turn, in the spelling of `codex exec` (`command_execution`), the app server (`commandExecution`) or a
//! rollout (`CommandExecution`): all three give the same events.

use memchr::memmem;
use parlor_model::Key;
use parlor_model::action::Action;
use parlor_model::block::{Attachment, Block, NoticeKind, Reply, Source, Thought};
use parlor_model::event::{Event, Fate};
use parlor_model::json::{Json, Kind};
use parlor_model::rule::Rule;
use parlor_model::text::Text;
use parlor_model::tool::{FilePatch, Output, Piece, Tool, ToolState, Totals};

use super::fields::{Field, Fields};
use super::output::{Answer, pieces, state_of_exit, text_output};
use super::prompt::join;
use super::{command, notice, object, string};

/// What a rollout writes into the middle of an output that it does not keep whole.
const CUT: &[u8] = br"\n... command output truncated for persistence ...\n";

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Started,
    Updated,
    Completed,
}

/// Where an item stands.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) key: Key,
    pub(crate) under: Option<Key>,
    /// True when its block was put before.
    pub(crate) open: bool,
}

/// What kind of item it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Prompt,
    Reply,
    Thought,
    Command,
    Files,
    Mcp,
    Dynamic,
    Collab,
    Search,
    Todos,
    View,
    Picture,
    Compaction,
    Error,
    Review,
    /// Known, and nothing to show.
    Quiet(Rule),
    Unknown,
}

impl ItemKind {
    /// Reads the kind in any spelling.
    pub(crate) fn of(word: &[u8]) -> ItemKind {
        let plain: Vec<u8> = word.iter().filter(|byte| **byte != b'_').map(u8::to_ascii_lowercase).collect();
        match &plain[..] {
            b"usermessage" => ItemKind::Prompt,
            b"agentmessage" | b"assistantmessage" | b"plan" => ItemKind::Reply,
            b"reasoning" => ItemKind::Thought,
            b"commandexecution" => ItemKind::Command,
            b"filechange" => ItemKind::Files,
            b"mcptoolcall" => ItemKind::Mcp,
            b"dynamictoolcall" | b"toolcall" => ItemKind::Dynamic,
            b"collabtoolcall" | b"collabagenttoolcall" => ItemKind::Collab,
            b"websearch" => ItemKind::Search,
            b"todolist" => ItemKind::Todos,
            b"imageview" => ItemKind::View,
            b"imagegeneration" => ItemKind::Picture,
            b"contextcompaction" => ItemKind::Compaction,
            b"error" => ItemKind::Error,
            b"enteredreviewmode" | b"exitedreviewmode" => ItemKind::Review,
            b"hookprompt" => ItemKind::Quiet(Rule::Injected),
            b"subagentactivity" | b"sleep" => ItemKind::Quiet(Rule::Status),
            _ => ItemKind::Unknown,
        }
    }
}

/// The events of an item other than a prompt. `None` when nobody knows its kind.
pub(crate) fn events(item: &Fields, progress: Progress, place: Place, out: &mut Vec<Event>) -> Option<Fate> {
    let kind = ItemKind::of(item.word(Field::Type));
    let done = progress == Progress::Completed;
    let step = Some(Fate::Hidden(Rule::Step));
    let block = match kind {
        ItemKind::Unknown | ItemKind::Prompt => return None,
        ItemKind::Quiet(rule) => return Some(Fate::Hidden(rule)),
        ItemKind::Reply => Block::Reply(Reply { text: reply(item), streaming: !done, interrupted: false }),
        ItemKind::Thought => {
            Block::Thought(Thought { text: thought(item), streaming: !done, ..Thought::default() })
        }
        ItemKind::Compaction | ItemKind::Error | ItemKind::Review => {
            let kind = match kind {
                ItemKind::Compaction => NoticeKind::Compaction { before: None, after: None },
                ItemKind::Error => NoticeKind::Warning,
                _ => NoticeKind::Info,
            };
            out.push(notice(place.key, place.under, kind, remark(item)));
            return Some(Fate::Shown);
        }
        _ => return Some(call(kind, item, progress, place, out)),
    };
    let empty = match &block {
        Block::Reply(reply) => reply.text.is_empty(),
        Block::Thought(thought) => thought.text.is_empty(),
        _ => false,
    };
    // An item starts empty; its first delta opens the block. A provider may keep a thought to itself for good.
    if empty && !place.open {
        return step;
    }
    out.push(Event::Put { key: place.key, under: place.under, message: None, block });
    Some(Fate::Shown)
}

/// The events of a tool call.
fn call(kind: ItemKind, item: &Fields, progress: Progress, place: Place, out: &mut Vec<Event>) -> Fate {
    let Place { key, under, open } = place;
    let done = progress == Progress::Completed;
    // The to-do list has no result: each form of it is whole.
    if !open || progress == Progress::Updated || kind == ItemKind::Todos {
        let (name, input) = tool(kind, item);
        let output = item.text(Field::Aggregated).filter(|text| !text.is_empty() && !done);
        let output = output.map(|text| Box::new(Output::text(text)));
        let tool = Tool { state: ToolState::Running, output, ..Tool::call(name, input) };
        out.push(Event::Put { key: key.clone(), under, message: None, block: Block::Tool(Box::new(tool)) });
    }
    if done {
        out.push(Event::End { key, end: answer(kind, item).end() });
    }
    Fate::Shown
}

/// The name and the input of a call, as the agent would have made it.
pub(crate) fn tool(kind: ItemKind, item: &Fields) -> (Key, Json) {
    match kind {
        ItemKind::Files => ("apply_patch".into(), object(&[("changes", &item.json(Field::Changes))])),
        ItemKind::Mcp => (mcp_name(item), item.json(Field::Arguments)),
        ItemKind::Dynamic => {
            let name = item.key(Field::Tool).or_else(|| item.key(Field::Name));
            (name.unwrap_or_else(|| "tool".into()), item.json(Field::Arguments))
        }
        ItemKind::Collab => {
            let (prompt, targets) = (item.json(Field::Prompt), item.json(Field::Receivers));
            let prompt = if prompt.kind() == Kind::String { prompt } else { Json::default() };
            (collab_name(item.word(Field::Tool)), object(&[("prompt", &prompt), ("targets", &targets)]))
        }
        ItemKind::Search => ("web_search".into(), search_input(item)),
        ItemKind::Todos => ("update_plan".into(), object(&[("plan", &item.json(Field::Items))])),
        ItemKind::View => ("view_image".into(), object(&[("path", &item.json(Field::Path))])),
        ItemKind::Picture => ("image_generation".into(), Json::default()),
        _ => ("shell".into(), command::input(&item.json(Field::Command))),
    }
}

/// What came back from a call.
pub(crate) fn answer(kind: ItemKind, item: &Fields) -> Answer {
    let state = state(item);
    let output = match kind {
        ItemKind::Command => return command_answer(item),
        ItemKind::Files => return files_answer(item),
        ItemKind::Mcp => return mcp_answer(item),
        ItemKind::Collab => collab_output(item),
        ItemKind::Dynamic => {
            let content = [Field::ContentItems, Field::Content, Field::Result].map(|field| item.json(field));
            let content =
                content.into_iter().find(|content| !matches!(content.kind(), Kind::Null | Kind::Nothing));
            Output {
                parts: content.map(|content| content_of(&content)).unwrap_or_default(),
                ..Output::default()
            }
        }
        ItemKind::Picture => {
            let picture = item.text(Field::Result).filter(|data| !data.is_empty()).map(|data| {
                Piece::attachment(Attachment {
                    media_type: "image/png".into(),
                    name: None,
                    source: Source::Base64(data),
                })
            });
            Output { parts: picture.into_iter().collect(), ..Output::default() }
        }
        _ => Output::default(),
    };
    let failed = item.bool(Field::Success) == Some(false) && state == ToolState::Done;
    let output = Output { duration_ms: item.millis(Field::Duration), ..output };
    Answer { state: if failed { ToolState::Failed } else { state }, output, running: false }
}

/// The input of a web search: what was looked for, else what was opened.
pub(crate) fn search_input(item: &Fields) -> Json {
    let action = item.json(Field::Action);
    let query = item.json(Field::Query);
    let asked = |query: &Json| query.text().is_some_and(|text| !text.is_blank());
    let candidates =
        std::iter::once(query).chain(["query", "url", "pattern"].iter().filter_map(|key| action.get(key)));
    let query = candidates.into_iter().find(asked).unwrap_or_else(|| string(""));
    object(&[("query", &query)])
}

/// The patches of a change to files.
pub(crate) fn patches(changes: &Json) -> Vec<FilePatch> {
    match Action::of("apply_patch", &object(&[("changes", changes)])) {
        Action::Patch { files } => files,
        _ => Vec::new(),
    }
}

/// The text of a thought: its summary, else what of it is readable.
pub(crate) fn thought(item: &Fields) -> Text {
    join(thoughts(item))
}

/// The parts of a thought.
pub(crate) fn thoughts(item: &Fields) -> Vec<Text> {
    let whole = item.text(Field::Text).filter(|text| !text.is_empty());
    let mut parts: Vec<Text> = whole.into_iter().collect();
    for field in [Field::Summary, Field::RawContent, Field::Content] {
        if parts.is_empty() {
            let list = item.json(field).items();
            parts.extend(list.iter().filter_map(|part| part.text().or_else(|| part.field_text("text"))));
            parts.retain(|part| !part.is_empty());
        }
    }
    parts
}

/// The text of a reply.
pub(crate) fn reply(item: &Fields) -> Text {
    let content = item.json(Field::Content);
    item.text(Field::Text).or_else(|| content.text()).unwrap_or_else(|| {
        let items = content.items();
        join(items.iter().filter_map(|part| part.field_text("text").or_else(|| part.text())).collect())
    })
}

/// What a notice says.
fn remark(item: &Fields) -> Text {
    let text = [Field::Message, Field::Review, Field::Text].iter().find_map(|field| item.text(*field));
    text.unwrap_or_default()
}

/// Where the item's own status says it stands.
fn state(item: &Fields) -> ToolState {
    match item.word(Field::Status) {
        b"failed" | b"error" => ToolState::Failed,
        b"declined" | b"rejected" => ToolState::Denied,
        b"interrupted" | b"cancelled" | b"aborted" => ToolState::Interrupted,
        _ => ToolState::Done,
    }
}

fn command_answer(item: &Fields) -> Answer {
    let exit_code = item.number(Field::Exit).map(|code| code as i64);
    let state = match (state(item), exit_code) {
        // Codex gives -1 to a process that it killed itself.
        (ToolState::Failed | ToolState::Done, Some(-1)) => ToolState::Interrupted,
        (ToolState::Done, code) => state_of_exit(code),
        (state, _) => state,
    };
    let text = item.text(Field::Aggregated).or_else(|| item.text(Field::Output));
    let truncated = memmem::find(item.json(Field::Aggregated).bytes(), CUT).is_some();
    let output = Output {
        exit_code: exit_code.filter(|code| *code != -1),
        duration_ms: item.millis(Field::Duration),
        truncated,
        ..text_output(text)
    };
    Answer { state, output, running: false }
}

/// A change that went well says nothing more than its patches do; one that did not says why, except that a person said no.
fn files_answer(item: &Fields) -> Answer {
    let success = item.bool(Field::Success);
    let state = match state(item) {
        ToolState::Done if success == Some(false) => ToolState::Failed,
        state => state,
    };
    let words = [Field::Stderr, Field::Error, Field::Stdout].iter().find_map(|field| {
        let text = item.text(*field).or_else(|| item.json(*field).field_text("message"));
        text.filter(|text| !text.is_blank())
    });
    let output = text_output(words.filter(|_| state == ToolState::Failed));
    Answer {
        state,
        output: Output { patches: patches(&item.json(Field::Changes)), ..output },
        running: false,
    }
}

fn mcp_answer(item: &Fields) -> Answer {
    let result = item.json(Field::Result);
    let good = result.get("Ok").unwrap_or_else(|| result.clone());
    let error = item.json(Field::Error);
    let error = error.text().or_else(|| error.field_text("message")).or_else(|| result.field_text("Err"));
    let flagged =
        ["isError", "is_error"].iter().any(|key| good.get(key).and_then(|flag| flag.bool()) == Some(true));
    let state = match state(item) {
        ToolState::Done if error.is_some() || flagged => ToolState::Failed,
        state => state,
    };
    let parts = match error {
        Some(error) => vec![Piece::Text { text: error }],
        None => content_of(&good),
    };
    let output = Output { parts, duration_ms: item.millis(Field::Duration), ..Output::default() };
    Answer { state, output, running: false }
}

/// The content of a result: an array, an object that has one, or the value itself.
fn content_of(result: &Json) -> Vec<Piece> {
    let content = result.get("content").unwrap_or_else(|| result.clone());
    match content.kind() {
        Kind::Array | Kind::String => pieces(&content),
        Kind::Null | Kind::Nothing => Vec::new(),
        _ => vec![Piece::Other { raw: content }],
    }
}

/// What the agents said, by their states: `{"id":{"status","message"}}`, `{"id":{"completed":"…"}}`, or a list of them.
fn collab_output(item: &Fields) -> Output {
    let states = item.json(Field::States);
    let listed = states.items().into_iter().filter_map(|state| state.get("status"));
    let states = listed.chain(states.fields().into_iter().map(|(_, state)| state));
    let status = item.json(Field::Status);
    let states = states.chain(std::iter::once(status));
    let said = |state: Json| {
        let word = ["message", "completed", "errored"].iter().find_map(|key| state.get(key))?;
        word.text().or_else(|| word.field_text("message")).filter(|text| !text.is_blank())
    };
    let parts = states.filter_map(said).map(|text| Piece::Text { text }).collect();
    let receivers = item.json(Field::Receivers).items();
    let first = receivers.first().and_then(|receiver| receiver.text()).or_else(|| item.text(Field::Receiver));
    let totals = first.map(|id| Box::new(Totals { agent_id: Some(id.as_str().into()), ..Totals::default() }));
    Output { parts, totals, ..Output::default() }
}

/// `mcp__server__tool`, the name under which the model knows it.
fn mcp_name(item: &Fields) -> Key {
    let part = |field| item.key(field).unwrap_or_else(|| "unknown".into());
    format!("mcp__{}__{}", part(Field::Server), part(Field::Tool)).into()
}

/// The name of a tool that speaks to subagents, as the model calls it.
pub(crate) fn collab_name(word: &[u8]) -> Key {
    match word {
        b"spawn_agent" | b"spawnAgent" => "spawn_agent".into(),
        b"send_input" | b"sendInput" => "send_input".into(),
        b"wait" | b"wait_agent" => "wait_agent".into(),
        b"close_agent" | b"closeAgent" => "close_agent".into(),
        b"resume_agent" | b"resumeAgent" => "resume_agent".into(),
        other => String::from_utf8_lossy(other).into(),
    }
}
