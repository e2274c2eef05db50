//! Every field of an entry that reaches a reader, one entry each. It asserts nothing.

use parlor_model::block::{
    Attachment, Author, Block, Notice, NoticeKind, Prompt, Reply, Source, Thought, Unknown,
};
use parlor_model::entry::Entry;
use parlor_model::event::{Ask, Decision};
use parlor_model::json::Json;
use parlor_model::order::Choice;
use parlor_model::session::{Phase, Session};
use parlor_model::text::Text;
use parlor_model::time::Time;
use parlor_model::tool::{FileChange, FilePatch, Hunk, Output, Piece, Tool, ToolState, Totals};
use serde_json::{Value, json};

/// How a field is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// As it is.
    Words,
    /// Its first line, of at most so many characters.
    Line(usize),
    /// As Markdown.
    Prose,
    /// As what a program wrote.
    Screen,
    /// As a JSON string, escapes and all.
    Json,
    /// Not as text: in an attribute, or not at all.
    Aside,
}

/// A field with something in it.
pub(crate) struct Field {
    pub(crate) shown: Shown,
    pub(crate) entry: Entry,
}

/// An entry for every field, with `text` in it. Ids are the fields' names.
pub(crate) fn all(text: &str) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut add = |id: &str, shown, block| fields.push(Field { shown, entry: entry(id, block) });
    words(text, &mut add);
    notices(text, &mut add);
    attachments(text, &mut add);
    inputs(text, &mut add);
    outputs(text, &mut add);
    fields.extend(places(text));
    fields
}

/// A session with `text` in every field.
pub(crate) fn session(text: &str) -> Session {
    Session {
        id: Some(text.into()),
        parent: Some(text.into()),
        title: Some(text.into()),
        model: Some(text.into()),
        cwd: Some(format!("/w/{text}").into()),
        branch: Some(text.into()),
        version: Some(text.into()),
        phase: Phase::Executing { tool: text.into() },
        queue: vec![Text::from(text).into()],
        ..Session::default()
    }
}

type Add<'a> = dyn FnMut(&str, Shown, Block) + 'a;

fn words(text: &str, add: &mut Add<'_>) {
    let said = |text: &str, author| Block::Prompt(Prompt { text: text.into(), author, ..Prompt::default() });
    add("prompt", Shown::Words, said(text, Author::Person));
    add("prompt-peer", Shown::Prose, said(text, Author::Peer { name: "x".into() }));
    add("prompt-peer-name", Shown::Line(60), said("x", Author::Peer { name: text.into() }));
    add("prompt-caller", Shown::Prose, said(text, Author::Caller));
    add("prompt-machine", Shown::Prose, said(text, Author::Machine));
    let waits = Prompt { text: text.into(), queued: true, steered: true, ..Prompt::default() };
    add("prompt-queued", Shown::Words, Block::Prompt(waits));
    add("reply", Shown::Prose, Block::Reply(Reply { text: text.into(), ..Reply::default() }));
    let cut = Reply { text: text.into(), streaming: true, interrupted: true };
    add("reply-cut", Shown::Prose, Block::Reply(cut));
    add("thought", Shown::Prose, Block::Thought(Thought { text: text.into(), ..Thought::default() }));
    let unknown = |kind: &str, raw: Json| Block::Unknown(Unknown { kind: kind.into(), raw });
    add("unknown-kind", Shown::Line(59), unknown(&format!("x{text}"), json!({}).into()));
    add("unknown-raw", Shown::Json, unknown("x", json!({"key": text}).into()));
    add("unknown-key", Shown::Json, unknown("x", json!({text: 1}).into()));
    add("unknown-text", Shown::Words, unknown("text", Json::new(format!("x {text}").into())));
}

fn notices(text: &str, add: &mut Add<'_>) {
    let notice = |kind, text: &str| Block::Notice(Notice { kind, text: text.into() });
    for (id, kind) in [
        ("info", NoticeKind::Info),
        ("warning", NoticeKind::Warning),
        ("error", NoticeKind::Error),
        ("retry", NoticeKind::Retry),
        ("background", NoticeKind::Task),
        ("hook", NoticeKind::Hook { name: "x".into() }),
        ("status", NoticeKind::Status { name: "x".into() }),
    ] {
        add(id, Shown::Words, notice(kind, text));
    }
    add("interrupted", Shown::Line(120), notice(NoticeKind::Interrupted, text));
    add("compaction", Shown::Prose, notice(NoticeKind::Compaction { before: Some(9), after: None }, text));
    add("command", Shown::Words, notice(NoticeKind::Command { command: text.into() }, ""));
    add("command-output", Shown::Screen, notice(NoticeKind::Command { command: "x".into() }, text));
    add("hook-name", Shown::Words, notice(NoticeKind::Hook { name: text.into() }, "x"));
    add("status-name", Shown::Words, notice(NoticeKind::Status { name: format!("x{text}").into() }, "x"));
    add("result", Shown::Prose, notice(NoticeKind::Result, text));
    let line = text.replace('\n', " ");
    let diff =
        format!("diff --git a/{line} b/{line}\n--- a/{line}\n+++ b/{line}\n@@ -1 +1 @@\n-old\n+{line}\n");
    add("tree", Shown::Words, notice(NoticeKind::Diff, &diff));
    add("tree-raw", Shown::Aside, notice(NoticeKind::Diff, text));
}

fn attachments(text: &str, add: &mut Add<'_>) {
    let with = |one: Attachment| {
        Block::Prompt(Prompt { text: "x".into(), attachments: vec![one], ..Prompt::default() })
    };
    let one = |kind: &str, name: Option<&str>, source| Attachment {
        media_type: kind.into(),
        name: name.map(Into::into),
        source,
    };
    add("attachment-name", Shown::Line(120), with(one("text/plain", Some(text), Source::Missing)));
    add("attachment-type", Shown::Line(60), with(one(text, None, Source::Missing)));
    add(
        "attachment-picture-name",
        Shown::Aside,
        with(one("image/png", Some(text), Source::Base64("iVBORw0KGgo=".into()))),
    );
    add("attachment-picture-data", Shown::Aside, with(one("image/png", None, Source::Base64(text.into()))));
    add("attachment-svg", Shown::Aside, with(one("image/svg+xml", None, Source::Base64("PHN2Zz4=".into()))));
    let padded = format!("image/png;{text}");
    add("attachment-type-tail", Shown::Aside, with(one(&padded, None, Source::Base64("AAAA".into()))));
    add("attachment-url", Shown::Line(300), with(one("image/png", None, Source::Url(text.into()))));
    let address = format!("https://a.test/{text}");
    add("attachment-url-tail", Shown::Line(300), with(one("image/png", None, Source::Url(address.into()))));
    add("attachment-text", Shown::Words, with(one("text/plain", None, Source::Text(text.into()))));
}

fn inputs(text: &str, add: &mut Add<'_>) {
    let mut call =
        |id: &str, shown, name: &str, input: Value| add(id, shown, done(name, input, Output::default()));
    call("run", Shown::Words, "Bash", json!({"command": text, "description": text}));
    call("read", Shown::Words, "Read", json!({"file_path": text}));
    call("write-path", Shown::Words, "Write", json!({"file_path": text, "content": "x"}));
    for kind in ["rs", "html", "md", "py", "sh", "json", "css", "diff", "js", "yaml"] {
        call(
            &format!("write-{kind}"),
            Shown::Words,
            "Write",
            json!({"file_path": format!("a.{kind}"), "content": text}),
        );
    }
    call("edit-path", Shown::Words, "Edit", json!({"file_path": text, "old_string": "x", "new_string": "y"}));
    call(
        "edit-old",
        Shown::Line(usize::MAX),
        "Edit",
        json!({"file_path": "a.rs", "old_string": text, "new_string": "y"}),
    );
    call(
        "edit-new",
        Shown::Line(usize::MAX),
        "Edit",
        json!({"file_path": "a.rs", "old_string": "x", "new_string": text}),
    );
    let close =
        json!({"file_path": "a.rs", "old_string": format!("x {text}"), "new_string": format!("y {text}")});
    call("edit-words", Shown::Line(usize::MAX), "Edit", close);
    let line = text.replace('\n', " ");
    let patch = format!(
        "*** Begin Patch\n*** Update File: {line}\n@@ {line}\n-{line}\n+x{line}\n*** Add File: b\n+{line}\n*** End Patch"
    );
    call("patch", Shown::Words, "apply_patch", json!({"input": patch}));
    call(
        "patch-changes",
        Shown::Words,
        "fileChange",
        json!({"changes": {text: {"type": "add", "content": text}}}),
    );
    call("grep", Shown::Line(160), "Grep", json!({"pattern": text, "path": text}));
    call("glob", Shown::Words, "Glob", json!({"pattern": text, "path": text}));
    call("list", Shown::Words, "LS", json!({"path": text}));
    call("fetch", Shown::Line(300), "WebFetch", json!({"url": text}));
    call("fetch-tail", Shown::Line(300), "WebFetch", json!({"url": format!("https://a.test/{text}")}));
    call("search", Shown::Words, "WebSearch", json!({"query": text}));
    call("task", Shown::Line(160), "Task", json!({"description": text, "prompt": "x"}));
    call("task-prompt", Shown::Prose, "Task", json!({"description": "x", "prompt": text}));
    call(
        "task-kind",
        Shown::Words,
        "Task",
        json!({"description": "x", "prompt": "x", "subagent_type": text}),
    );
    call(
        "todo",
        Shown::Words,
        "TodoWrite",
        json!({"todos": [{"content": text, "status": "in_progress"}, {"content": text}]}),
    );
    call("message-to", Shown::Words, "SendMessage", json!({"to": text, "content": "x"}));
    call(
        "message-summary",
        Shown::Line(160),
        "SendMessage",
        json!({"to": "x", "summary": text, "content": "x"}),
    );
    call("message", Shown::Prose, "mcp__legion__send_comm", json!({"to_minion_name": "x", "content": text}));
    call("question", Shown::Words, "AskUserQuestion", json!({"questions": [{"question": text}]}));
    call("mcp-names", Shown::Words, &format!("mcp__x{text}__y{text}"), json!({"a": 1}));
    call("mcp-input", Shown::Json, "mcp__x__y", json!({"a": text, "b": {"c": [text]}}));
    call("other-name", Shown::Words, &format!("X{text}"), json!({"a": 1}));
    call("other-input", Shown::Json, "Other", json!({"a": text, "b": {"c": [text]}}));
    call("other-key", Shown::Json, "Other", json!({text: "x", "b": {text: []}}));
    let titled = Tool { title: Some(text.into()), ..Tool::call("Other", json!({"a": text}).into()) };
    add("other-title", Shown::Line(160), Block::Tool(Box::new(titled)));
    let fragment = Tool::call("Bash", Json::new(text.to_owned().into()));
    add("fragment", Shown::Aside, Block::Tool(Box::new(fragment)));
}

fn outputs(text: &str, add: &mut Add<'_>) {
    add("output", Shown::Screen, done("Bash", json!({"command": "x"}), Output::text(text)));
    add("output-other", Shown::Screen, done("Other", json!({}), Output::text(text)));
    add("output-read", Shown::Aside, done("Read", json!({"file_path": "a"}), Output::text(text)));
    add(
        "output-fetch",
        Shown::Screen,
        done("WebFetch", json!({"url": "https://a.test"}), Output::text(text)),
    );
    add("output-task", Shown::Prose, done("Task", json!({"description": "x"}), Output::text(text)));
    for (id, state) in [
        ("failed", ToolState::Failed),
        ("denied", ToolState::Denied),
        ("stopped", ToolState::Interrupted),
        ("running", ToolState::Running),
    ] {
        let tool = Tool {
            state,
            output: Some(Box::new(Output::text(text))),
            ..Tool::call("Bash", json!({"command": "x"}).into())
        };
        add(id, Shown::Screen, Block::Tool(Box::new(tool)));
    }
    let orphan = Tool {
        orphan: true,
        state: ToolState::Done,
        output: Some(Box::new(Output::text(text))),
        ..Tool::default()
    };
    add("orphan", Shown::Screen, Block::Tool(Box::new(orphan)));
    let attachment =
        Attachment { media_type: text.into(), name: Some(text.into()), source: Source::Url(text.into()) };
    let parts = vec![Piece::attachment(attachment)];
    add(
        "output-attachment",
        Shown::Line(60),
        done("Other", json!({}), Output { parts, ..Output::default() }),
    );
    let parts = vec![Piece::Other { raw: json!({text: text}).into() }];
    add("output-raw", Shown::Json, done("Other", json!({}), Output { parts, ..Output::default() }));
    let hunk = Hunk {
        old_start: 1,
        new_start: 1,
        lines: [" ", "-", "+", "\\", ""].map(|sign| format!("{sign}{text}").into()).into(),
    };
    let patch = FilePatch { path: text.into(), change: FileChange::Update, hunks: vec![hunk] };
    let output = Output { patches: vec![patch.clone(), patch], ..Output::default() };
    add(
        "output-patch",
        Shown::Line(usize::MAX),
        done("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}), output),
    );
    let output = Output { files: vec![text.into(), format!("{text}2").into()], ..Output::text(text) };
    add("output-files", Shown::Words, done("Grep", json!({"pattern": "x"}), output));
    let totals = Box::new(Totals { agent_id: Some(text.into()), tools: Some(3), ..Totals::default() });
    let output = Output {
        totals: Some(totals.clone()),
        truncated: true,
        exit_code: Some(-1),
        http_status: Some(999),
        ..Output::text("x")
    };
    let Block::Tool(tool) = done("Task", json!({"description": "x"}), output) else { return };
    add("totals", Shown::Aside, Block::Tool(Box::new(Tool { subagent: Some(totals), ..*tool })));
    let asked = |id: &str, reason: Option<&str>, options: Vec<&str>| {
        let options = options.into_iter().map(Into::into).collect();
        let ask = Some(Box::new(Ask { id: id.into(), reason: reason.map(Into::into), options }));
        Block::Tool(Box::new(Tool {
            ask,
            state: ToolState::Waiting,
            ..Tool::call("Bash", json!({"command": "x"}).into())
        }))
    };
    add("ask-id", Shown::Aside, asked(text, None, vec![]));
    add("ask-reason", Shown::Line(1_000), asked("x", Some(text), vec![]));
    add("ask-options", Shown::Line(200), asked("x", None, vec![text, text]));
    let decided = |reason: &str, by: &str| {
        let decision = Decision {
            choice: Choice::Deny,
            reason: Some(reason.into()),
            by: Some(by.into()),
            at: Some(Time(1)),
        };
        Block::Tool(Box::new(Tool {
            decision: Some(Box::new(decision)),
            ..Tool::call("Bash", json!({"command": "x"}).into())
        }))
    };
    add("decision-reason", Shown::Line(400), decided(text, "x"));
    add("decision-by", Shown::Line(60), decided("x", text));
}

/// What stands under a task and within a run of reads.
fn places(text: &str) -> Vec<Field> {
    let mut fields = Vec::new();
    let task = done("Task", json!({"description": "x"}), Output::default());
    fields.push(Field { shown: Shown::Aside, entry: entry("host", task) });
    let under = |id: &str, block| Entry { parent: Some("host".into()), ..entry(id, block) };
    let reply = Block::Reply(Reply { text: text.into(), ..Reply::default() });
    fields.push(Field { shown: Shown::Prose, entry: under("nested-reply", reply) });
    let run = done("Bash", json!({"command": text}), Output::text(text));
    fields.push(Field { shown: Shown::Words, entry: under("nested-run", run) });
    let grouped = |id: &str, block| Entry { group: Some("run-first".into()), ..entry(id, block) };
    for (id, name, input) in [
        ("run-first", "Read", json!({"file_path": "x"})),
        ("run-read", "Read", json!({"file_path": text})),
        ("run-grep", "Grep", json!({"pattern": text, "path": text})),
    ] {
        let shown = if id == "run-first" { Shown::Aside } else { Shown::Line(100) };
        fields.push(Field { shown, entry: grouped(id, done(name, input, Output::text(text))) });
    }
    let failed = Tool {
        state: ToolState::Failed,
        output: Some(Box::new(Output::text(text))),
        ..Tool::call("Read", json!({"file_path": "y"}).into())
    };
    fields.push(Field { shown: Shown::Aside, entry: grouped("run-failed", Block::Tool(Box::new(failed))) });
    fields
}

fn done(name: &str, input: Value, output: Output) -> Block {
    let tool =
        Tool { state: ToolState::Done, output: Some(Box::new(output)), ..Tool::call(name, input.into()) };
    Block::Tool(Box::new(tool))
}

fn entry(id: &str, block: Block) -> Entry {
    Entry {
        id: id.into(),
        parent: None,
        message: None,
        seq: 0,
        at: Some(Time(1_794_751_320_000_000)),
        ended: None,
        rev: 0,
        group: None,
        opens: true,
        overtaken: false,
        block,
    }
}
