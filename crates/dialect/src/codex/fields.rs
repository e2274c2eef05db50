//! The known fields of one JSON object, found in one pass, whatever their order, spelling or type. It decides nothing.

use parlor_model::Key;
use parlor_model::json::{Json, Kind, Reader, Span};
use parlor_model::line::Line;
use parlor_model::text::Text;

macro_rules! fields {
    ($($name:ident: $($spelling:literal)|+;)+) => {
        /// A field by its meaning: Codex spells the same ones in snake case and camel case.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Field { $($name),+ }

        const COUNT: usize = [$(Field::$name),+].len();

        fn field(key: &[u8]) -> Option<Field> {
            Some(match std::str::from_utf8(key).ok()? {
                $($($spelling)|+ => Field::$name,)+
                _ => return None,
            })
        }
    };
}

fields! {
    Action: "action";
    Aggregated: "aggregated_output" | "aggregatedOutput";
    Arguments: "arguments" | "parameters";
    AtMillis: "completedAtMs" | "startedAtMs";
    Author: "author";
    CallId: "call_id" | "callId";
    Changes: "changes";
    Command: "command";
    Content: "content";
    ContentItems: "content_items" | "contentItems";
    Cwd: "cwd" | "workdir";
    Decision: "decision";
    Decisions: "availableDecisions";
    Delta: "delta";
    Details: "additionalDetails" | "details";
    Duration: "duration" | "durationMs" | "duration_ms";
    Error: "error";
    Exit: "exit_code" | "exitCode";
    ForkedFrom: "forked_from_id" | "forkedFromId";
    Function: "function_call";
    Git: "git" | "gitInfo";
    HistoryMode: "history_mode" | "historyMode";
    HistoryStart: "subagent_history_start_ordinal";
    Id: "id";
    Images: "images";
    Info: "info";
    Input: "input";
    Instructions: "instructions";
    Invocation: "invocation";
    Item: "item";
    ItemId: "itemId";
    Items: "items";
    Kind: "kind";
    LocalImages: "local_images";
    Message: "message";
    Model: "model";
    Name: "name";
    Namespace: "namespace";
    NumTurns: "num_turns" | "numTurns";
    Output: "output";
    Parent: "parent_thread_id" | "parentThreadId";
    Path: "path";
    Plan: "plan";
    Prompt: "prompt";
    Provenance: "internal_chat_message_metadata_passthrough";
    Query: "query";
    Questions: "questions";
    RawContent: "raw_content";
    Reason: "reason";
    Receiver: "receiver_thread_id" | "new_thread_id";
    Receivers: "receiver_thread_ids" | "receiverThreadIds";
    RecordType: "record_type";
    RequestId: "requestId";
    Result: "result";
    Review: "review" | "user_facing_hint" | "review_output";
    Role: "role";
    Server: "server";
    Settings: "thread_settings";
    Source: "source";
    States: "agents_states" | "agentsStates" | "agent_statuses" | "statuses";
    Status: "status";
    Stderr: "stderr";
    Stdout: "stdout";
    Success: "success";
    Summary: "summary" | "summary_text";
    SummaryIndex: "summaryIndex";
    Text: "text";
    Thread: "thread";
    ThreadId: "thread_id" | "threadId";
    ThreadName: "thread_name" | "threadName";
    ThreadSource: "thread_source" | "threadSource";
    Tool: "tool";
    Turn: "turn";
    TurnId: "turn_id" | "turnId";
    Type: "type" | "item_type";
    Usage: "usage" | "tokenUsage";
    Version: "cli_version" | "cliVersion";
    WillRetry: "willRetry";
    Window: "model_context_window" | "modelContextWindow";
}

/// The fields of one object. A field that is missing and one of the wrong type look the same.
#[derive(Debug)]
pub(crate) struct Fields {
    line: Line,
    spans: [Span; COUNT],
}

impl Fields {
    /// None yet, of an object in `line`.
    pub(crate) fn new(line: &Line) -> Fields {
        Fields { line: line.clone(), spans: [Span::default(); COUNT] }
    }

    /// The fields of the object that comes next; false when it is none.
    pub(crate) fn read(&mut self, reader: &mut Reader<'_>) -> bool {
        reader.object(|reader, key| self.take(reader, key))
    }

    /// Takes one field, for a caller that walks the object itself.
    pub(crate) fn take(&mut self, reader: &mut Reader<'_>, key: &[u8]) {
        let Some(field) = field(key) else { return };
        let span = reader.raw();
        let slot = &mut self.spans[field as usize];
        // A web search of `codex exec` writes its `id` twice: the first one is the item's.
        if field != Field::Id || slot.end == 0 {
            *slot = span;
        }
    }

    /// The fields of an object inside this one.
    pub(crate) fn sub(&self, field: Field) -> Option<Fields> {
        let json = self.json(field);
        (json.kind() == Kind::Object).then(|| Fields::of(&json))
    }

    /// The fields of a JSON value; none when it is no object.
    pub(crate) fn of(json: &Json) -> Fields {
        let line = Line::new(json.bytes().clone());
        let mut fields = Fields::new(&line);
        fields.read(&mut Reader::new(line.bytes()));
        fields
    }

    /// The value as it was written; missing when it is not there.
    pub(crate) fn json(&self, field: Field) -> Json {
        self.line.json(self.spans[field as usize])
    }

    /// Whether there is a value other than null.
    pub(crate) fn has(&self, field: Field) -> bool {
        !matches!(self.json(field).kind(), Kind::Null | Kind::Nothing)
    }

    /// The text of a string.
    pub(crate) fn text(&self, field: Field) -> Option<Text> {
        self.inside(field).map(|span| self.line.text(span))
    }

    /// A string that names something; an empty one names nothing.
    pub(crate) fn key(&self, field: Field) -> Option<Key> {
        self.inside(field).filter(|span| span.end > span.start).map(|span| self.line.key(span))
    }

    /// The raw inside of a string, for matching on words.
    pub(crate) fn word(&self, field: Field) -> &[u8] {
        self.inside(field).map_or(b"", |span| self.line.word(span))
    }

    /// A number, also one written as a string.
    pub(crate) fn number(&self, field: Field) -> Option<f64> {
        self.json(field).number()
    }

    /// A boolean.
    pub(crate) fn bool(&self, field: Field) -> Option<bool> {
        self.json(field).bool()
    }

    /// A duration in milliseconds: a number of them, or `{"secs","nanos"}`.
    pub(crate) fn millis(&self, field: Field) -> Option<u64> {
        let json = self.json(field);
        let part = |key: &str| json.get(key).and_then(|part| part.number());
        let millis = match json.kind() {
            Kind::Object => part("secs")? * 1e3 + part("nanos").unwrap_or(0.0) / 1e6,
            _ => json.number()?,
        };
        (millis >= 0.0).then_some(millis as u64)
    }

    fn inside(&self, field: Field) -> Option<Span> {
        let Span { start, end } = self.spans[field as usize];
        let quoted = end >= start + 2 && self.line.bytes().get(start) == Some(&b'"');
        quoted.then(|| Span { start: start + 1, end: end - 1 })
    }
}
