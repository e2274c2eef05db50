//! Writes a conversation that shows every kind of entry, for looking at: `html`, `terminal [columns]`, `plain` or
//! `markdown`.

use std::io::Write;

use parlor_model::block::{
    Attachment, Author, Block, Notice, NoticeKind, Prompt, Reply, Source, Thought, Unknown,
};
use parlor_model::entry::Entry;
use parlor_model::event::Ask;
use parlor_model::json::Json;
use parlor_model::session::{Counts, Session};
use parlor_model::time::Time;
use parlor_model::tool::{FileChange, FilePatch, Output, Piece, Tool, ToolState, Totals};
use parlor_model::usage::Usage;
use parlor_render::{Options, Paint};
use serde_json::json;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (session, entries, options) = (session(), conversation(), Options::default());
    let columns = arguments.get(1).and_then(|columns| columns.parse().ok()).unwrap_or(80);
    let text = match arguments.first().map(String::as_str) {
        Some("terminal") => {
            let paint = Paint { colour: arguments.get(2).is_some_and(|word| word == "colour") };
            parlor_render::terminal::transcript(&session, &entries, &options, columns, paint)
        }
        Some("plain") => parlor_render::plain::transcript(&session, &entries, &options),
        Some("markdown") => parlor_render::export_markdown::transcript(&session, &entries, &options),
        _ => parlor_render::page::page(&session, &entries, &options).into_string(),
    };
    std::io::stdout().write_all(text.as_bytes())
}

fn session() -> Session {
    Session {
        title: Some("Retry budget for the sync worker".into()),
        model: Some("opus".into()),
        cwd: Some("/home/kim/ferry".into()),
        branch: Some("retry-budget".into()),
        started: Some(at(0)),
        updated: Some(at(900)),
        usage: Usage { input: 8_412, output: 12_900, cache_read: 910_000, cache_write: 61_000, reasoning: 0 },
        context: 76_000,
        context_window: Some(200_000),
        cost_usd: Some(0.2134),
        counts: Counts { prompts: 4, replies: 6, tools: 19, failed: 2, unknown: 1 },
        ..Session::default()
    }
}

fn at(seconds: i64) -> Time {
    Time(1_794_751_320_000_000 + seconds * 1_000_000)
}

/// Entries in order, a second apart; a new bubble opens where the speaker changes.
#[derive(Default)]
struct Talk(Vec<Entry>);

impl Talk {
    fn push(&mut self, block: Block) -> &mut Entry {
        let number = self.0.len();
        let last = self.0.last().map(|last| &last.block);
        let opens = matches!(block, Block::Prompt(_)) || matches!(last, None | Some(Block::Prompt(_)));
        let (seq, at) = (number as u64, Some(at(number as i64)));
        let id = format!("b{number}").into();
        let (parent, message, group, ended) = (None, None, None, None);
        let entry =
            Entry { id, parent, message, seq, at, ended, rev: 0, group, opens, overtaken: false, block };
        self.0.push(entry);
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    fn prompt(&mut self, text: &str, author: Author) -> &mut Entry {
        self.push(Block::Prompt(Prompt { text: text.into(), author, ..Prompt::default() }))
    }

    fn reply(&mut self, text: &str) -> &mut Entry {
        self.push(Block::Reply(Reply { text: text.into(), ..Reply::default() }))
    }

    fn notice(&mut self, kind: NoticeKind, text: &str) {
        self.push(Block::Notice(Notice { kind, text: text.into() }));
    }

    fn tool(&mut self, name: &str, input: serde_json::Value, state: ToolState, output: Output) -> &mut Entry {
        let output = state.is_final().then(|| Box::new(output));
        self.push(Block::Tool(Box::new(Tool { state, output, ..Tool::call(name, input.into()) })))
    }

    fn done(&mut self, name: &str, input: serde_json::Value, output: &str) -> &mut Entry {
        self.tool(name, input, ToolState::Done, Output::text(output))
    }
}

fn conversation() -> Vec<Entry> {
    let mut talk = Talk::default();
    opening(&mut talk);
    changes(&mut talk);
    commands(&mut talk);
    agents(&mut talk);
    web(&mut talk);
    oddities(&mut talk);
    talk.0
}

fn opening(talk: &mut Talk) {
    talk.prompt(
        "The sync worker hammers the API when it is down. Give it a retry budget, and ask Codex to review the change.",
        Author::Person,
    );
    let thought = Thought {
        text: "A token bucket per host would **bound** retries.\n\nWhere is the delay computed?".into(),
        duration_ms: Some(6_200),
        ..Thought::default()
    };
    talk.push(Block::Thought(thought));
    talk.reply("I'll look at how retries work today, then bound them with a token bucket.");
    for (name, input) in [
        ("Read", json!({"file_path": "/home/kim/ferry/src/sync/worker.rs"})),
        ("Read", json!({"file_path": "/home/kim/ferry/src/sync/backoff.rs", "offset": 20, "limit": 60})),
        ("Grep", json!({"pattern": "next_delay", "path": "/home/kim/ferry/src"})),
        ("Read", json!({"file_path": "/home/kim/ferry/src/sync/worker.rs"})),
        ("Glob", json!({"pattern": "tests/**/*.rs"})),
        ("Read", json!({"file_path": "/home/kim/ferry/tests/sync.rs"})),
    ] {
        let entry = talk.done(name, input, "hidden content");
        entry.group = Some("b3".into());
        entry.ended = entry.at.map(|at| Time(at.0 + 60_000));
    }
}

fn changes(talk: &mut Talk) {
    let diff = "@@ -41,3 +41,5 @@\n     pub fn next_delay(&mut self) -> Option<Duration> {\n-        Some(self.base * 2u32.pow(self.attempt))\n+        self.budget.try_take(1)?;\n+        let delay = self.base * 2u32.pow(self.attempt.min(8));\n+        Some(delay.min(self.cap))\n     }\n";
    let path = "/home/kim/ferry/src/sync/backoff.rs";
    let patches = vec![FilePatch::parse_unified(path.into(), FileChange::Update, diff)];
    let input = json!({"file_path": path, "old_string": "Some(self.base * 2u32.pow(self.attempt))", "new_string": "x"});
    talk.tool(
        "Edit",
        input,
        ToolState::Done,
        Output { patches, ..Output::text("The file has been updated.") },
    );
    let input = json!({"file_path": "src/http/client.rs", "old_string": "let retries = 3;\nsend(request)\n", "new_string": "let retries = config.retries;\nsend(request)\n"});
    talk.done("Edit", input, "ok");
    let content: String = (1..=100)
        .map(|n| format!("pub fn budget_{n}(tokens: u32) -> bool {{ tokens > {n} }} // case {n}\n"))
        .collect();
    talk.done(
        "Write",
        json!({"file_path": "/home/kim/ferry/src/sync/budget.rs", "content": content}),
        "written",
    );
    let patch = "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n mod sync;\n+mod budget;\n*** Add File: docs/budget.md\n+# Retry budget\n+One token a retry.\n*** End Patch";
    talk.done("apply_patch", json!({ "input": patch }), "Done");
}

fn commands(talk: &mut Talk) {
    talk.reply("Now the tests.");
    let text = "running 14 tests\ntest backoff::grows ... \u{1b}[32mok\u{1b}[0m\ntest backoff::caps_delay ... \u{1b}[31mFAILED\u{1b}[0m\nassertion `left == right` failed: left: 256s, right: 30s\n";
    let output = Output { exit_code: Some(101), duration_ms: Some(8_400), ..Output::text(text) };
    talk.tool("Bash", json!({"command": "cargo test -p sync"}), ToolState::Failed, output);
    talk.done("Bash", json!({"command": "for f in src/*.rs; do\n  wc -l \"$f\"\ndone | sort -n | tail -3", "description": "Count lines"}), "   41 src/lib.rs\n  120 src/main.rs\n  161 total\n");
    let long: String = (0..5_000).map(|n| format!("compiling crate {n} of 5000\n")).collect();
    let output = Output { truncated: true, duration_ms: Some(192_000), ..Output::text(long) };
    talk.tool(
        "exec_command",
        json!({"cmd": "cargo build --workspace --all-targets"}),
        ToolState::Done,
        output,
    );
    talk.tool(
        "Bash",
        json!({"command": "cargo bench"}),
        ToolState::Interrupted,
        Output { duration_ms: Some(31_000), ..Output::default() },
    );
    let todos = json!({"todos": [{"content": "Bound retries per host", "status": "completed"}, {"content": "Ask Codex for review", "status": "completed"}, {"content": "Cap before the shift", "status": "in_progress"}, {"content": "Document the budget", "status": "pending"}]});
    talk.done("TodoWrite", todos, "Todos have been modified");
}

fn agents(talk: &mut Talk) {
    let totals = Some(Box::new(Totals {
        tools: Some(5),
        tokens: Some(18_200),
        duration_ms: Some(52_000),
        agent_id: None,
    }));
    let input = json!({"description": "Review the retry budget", "prompt": "Read `src/sync/backoff.rs` and look for overflow.", "subagent_type": "reviewer"});
    let output = Output {
        totals,
        ..Output::text("One gap: the cap is applied **after** the shift, so attempt 9 still overflows.")
    };
    let task = talk.tool("Task", input, ToolState::Done, output).id.clone();
    for entry in [
        talk.prompt("Read `src/sync/backoff.rs` and look for overflow.", Author::Caller).id.clone(),
        talk.done("Read", json!({"file_path": "/home/kim/ferry/src/sync/backoff.rs"}), "x").id.clone(),
        talk.done("Grep", json!({"pattern": "try_take"}), "x").id.clone(),
        talk.done("Bash", json!({"command": "cargo clippy -p sync"}), "Finished").id.clone(),
        talk.reply("The cap is applied after the shift.").id.clone(),
    ] {
        if let Some(entry) = talk.0.iter_mut().find(|other| other.id == entry) {
            entry.parent = Some(task.clone());
        }
    }
    let input = json!({"to_minion_name": "Codex", "summary": "Please review", "content": "The budget is in `src/sync/budget.rs`.\n\n- Is the **cap** right?\n- Are names clear?", "comm_type": "task"});
    let entry = talk.tool(
        "mcp__legion__send_comm",
        input,
        ToolState::Done,
        Output::text("Looks right. Rename `try_take`."),
    );
    if let Block::Tool(tool) = &mut entry.block {
        tool.agent_callback = true;
    }
    talk.prompt(
        "The review is done: **rename** `try_take` to `take`.",
        Author::Peer { name: "Codex".into() },
    );
}

fn web(talk: &mut Talk) {
    talk.reply("## What I found\n\n1. Retries are *unbounded*\n2. See the [notes](https://example.org/retries)\n\n| host | retries | budget |\n|---|---|---|\n| api | 512 | 10 |\n| cdn | 4 | 10 |\n\n```rust\nfn take(&mut self) -> Option<()> {\n    self.tokens = self.tokens.checked_sub(1)?; // one a retry\n    Some(())\n}\n```\n\n> A budget bounds the worst case.\n\n- [x] bounded\n- [ ] documented\n\n<script>alert(1)</script>");
    let output = Output {
        http_status: Some(200),
        bytes: Some(48_213),
        duration_ms: Some(1_250),
        ..Output::text("# Retry budgets\nA retry budget limits …")
    };
    talk.tool(
        "WebFetch",
        json!({"url": "https://example.org/retry-budgets?page=1&lang=en", "prompt": "What is it?"}),
        ToolState::Done,
        output,
    );
    talk.done(
        "WebSearch",
        json!({"query": "token bucket retry budget rust"}),
        "1. Retry budgets\n2. Token buckets",
    );
    talk.done(
        "mcp__github__create_issue",
        json!({"title": "Bound the retries", "labels": ["bug"], "draft": true}),
        "{\"number\": 7}",
    );
    talk.done(
        "Frobnicate",
        json!({"level": 3, "target": "the frobnicator of the second floor", "deep": {"a": [1, 2]}}),
        "frobnicated",
    );
    let ask = Ask {
        id: "ask-1".into(),
        reason: Some("Network access is not allowed by default".into()),
        options: ["Allow once", "Allow for this session", "Deny"].map(Into::into).to_vec(),
    };
    let entry = talk.tool(
        "Bash",
        json!({"command": "git push origin retry-budget"}),
        ToolState::Waiting,
        Output::default(),
    );
    if let Block::Tool(tool) = &mut entry.block {
        tool.ask = Some(Box::new(ask));
    }
    let picture = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFElEQVR4nGNgaPiPFTEMLYlBxhwA0XJwgY3Yz5kAAAAASUVORK5CYII=";
    let attachment = Attachment {
        media_type: "image/png".into(),
        name: Some("square.png".into()),
        source: Source::Base64(picture.into()),
    };
    let output = Output { parts: vec![Piece::attachment(attachment)], ..Output::default() };
    talk.tool("Read", json!({"file_path": "/home/kim/ferry/docs/square.png"}), ToolState::Done, output);
    talk.tool(
        "AskUserQuestion",
        json!({"questions": [{"question": "Which budget per host?"}]}),
        ToolState::Running,
        Output::default(),
    );
}

fn oddities(talk: &mut Talk) {
    talk.prompt("Actually, stop. Use a fixed delay.", Author::Person).overtaken = true;
    talk.reply("Switching to a fixed delay.").overtaken = true;
    talk.notice(NoticeKind::Interrupted, "");
    talk.notice(
        NoticeKind::Compaction { before: Some(148_000), after: Some(12_300) },
        "The conversation so far:\n\n- budget added",
    );
    talk.notice(NoticeKind::Error, "API error 529: overloaded");
    talk.notice(NoticeKind::Retry, "Attempt 2 of 10 in 4 s");
    talk.notice(NoticeKind::Command { command: "/context".into() }, "Context usage: 76k of 200k");
    talk.notice(NoticeKind::Hook { name: "PostToolUse fmt".into() }, "formatted 2 files");
    talk.notice(NoticeKind::Status { name: "mode".into() }, "plan");
    talk.notice(NoticeKind::Diff, "diff --git a/src/lib.rs b/src/lib.rs\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,2 +1,3 @@\n mod sync;\n+mod budget;\n mod http;\n");
    let raw = Json::from(json!({"type": "marble", "weight": 3, "colours": ["red", "blue"]}));
    talk.push(Block::Unknown(Unknown { kind: "marble".into(), raw }));
    let entry =
        talk.prompt("Also update the changelog.\n\n    keep   the spaces\n<b>not bold</b>", Author::Person);
    if let Block::Prompt(prompt) = &mut entry.block {
        prompt.queued = true;
    }
    talk.prompt("Continue from where you left off.\nThe conversation was summarised.", Author::Machine);
    talk.push(Block::Thought(Thought { redacted: true, ..Thought::default() }));
    let entry = talk.done("Bash", json!({"command": "true"}), "an orphan's output");
    if let Block::Tool(tool) = &mut entry.block {
        (tool.orphan, tool.name, tool.input) = (true, "".into(), Json::default());
    }
    talk.push(Block::Reply(Reply { text: "The changelog is".into(), streaming: false, interrupted: true }));
}
