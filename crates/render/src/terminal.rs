//! Entries for a terminal: readable at any width, outputs folded to a few lines unless the reader wants them all. It
//! writes no escape that `Paint` did not make.

use parlor_model::action::{Todo, TodoStatus};
use parlor_model::block::{Author, Block, Notice, NoticeKind, Prompt, Thought};
use parlor_model::entry::Entry;
use parlor_model::role::Role;
use parlor_model::session::Session;
use parlor_model::tool::{Output, Piece, Tool, ToolState};

use crate::attachment_html::label;
use crate::clip::{count_lines, indented, one_line, output_text, split_lines};
use crate::context::{Context, Options, Outline};
use crate::measure::{clock, compaction, date, day, duration, plural, stop_words};
use crate::page::usage;
use crate::paint::{Ink, Paint, wrap};
use crate::run::{Run, calls_under};
use crate::terminal_lines::{FOLDED_LINES, Lines};
use crate::title::title_call;
use crate::view::{Body, FileDiff, PREVIEW_LINES, Showing, Tone, View, totals_line};
use crate::{highlight, markdown, patch};

/// A whole conversation.
pub fn transcript(
    session: &Session,
    entries: &[Entry],
    options: &Options,
    width: usize,
    paint: Paint,
) -> String {
    let outline = Outline::of(entries);
    let context = Context { session, entries, outline: &outline, options };
    let mut out = String::with_capacity(entries.len().saturating_mul(512));
    if let Some(title) = &session.title {
        paint.push(&[Ink::Bold], &one_line(&title.as_str(), width.max(20)), &mut out);
        out.push('\n');
    }
    let used = usage(session);
    if !used.is_empty() {
        for line in wrap(&paint.ink(Ink::Dim, &used), width.max(20)) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    let mut today = None;
    for index in outline.roots() {
        if let Some(at) = entries[index].at.filter(|at| today != Some(day(*at, options.offset_s))) {
            today = Some(day(at, options.offset_s));
            paint.push(&[Ink::Dim], &format!("\n── {} ──\n", date(at, options.offset_s)), &mut out);
        }
        out.push_str(&entry(&context, index, width, paint));
    }
    out
}

/// One entry, or the run it stands for, with a line end after every line. Empty for what the options hide.
pub fn entry(context: &Context<'_>, index: usize, width: usize, paint: Paint) -> String {
    let mut lines = Lines { out: String::new(), width: width.max(20), paint, context };
    if let Some(entry) = context.entries.get(index) {
        lines.entry(entry, index);
    }
    lines.out
}

impl Lines<'_> {
    fn entry(&mut self, entry: &Entry, index: usize) {
        if matches!(entry.block, Block::Thought(_)) && !self.context.options.thinking {
            return;
        }
        if self.opens(entry, index) && !matches!(entry.block, Block::Notice(_) | Block::Unknown(_)) {
            self.header(entry);
        } else if !matches!(entry.block, Block::Thought(_)) {
            self.out.push('\n');
        }
        match &entry.block {
            Block::Prompt(prompt) => self.prompt(prompt),
            Block::Reply(reply) => {
                let text = markdown::to_terminal(
                    &self.prose(&reply.text.as_str()),
                    self.width.saturating_sub(2),
                    self.paint,
                );
                self.indent("  ", &text);
                if reply.interrupted {
                    self.line("  ", Ink::Warn, "⚠ Interrupted");
                }
            }
            Block::Thought(thought) => self.thought(thought),
            Block::Tool(tool) => self.tool(entry, index, tool),
            Block::Notice(notice) => self.notice(notice),
            Block::Unknown(unknown) => {
                let label = Role::Other(unknown.kind.to_string()).label();
                self.line("? ", Ink::Gray, &one_line(&label, 60));
                if self.context.options.unfolded {
                    self.wrapped(
                        "    ",
                        Ink::Dim,
                        &indented(&unknown.raw, self.context.options.limits.bytes),
                    );
                }
            }
        }
    }

    /// Whether an entry opens a bubble, or is the first one seen of a bubble that hidden thoughts opened.
    fn opens(&self, entry: &Entry, index: usize) -> bool {
        let hides = |before: &&Entry| {
            before.parent == entry.parent
                && matches!(before.block, Block::Thought(_))
                && !self.context.options.thinking
        };
        let hidden = self.context.entries[..index].iter().rev().take_while(hides);
        entry.opens || hidden.into_iter().any(|before| before.opens)
    }

    fn header(&mut self, entry: &Entry) {
        let role = match Role::of_block(&entry.block) {
            Role::ToolCall => Role::Assistant,
            role => role,
        };
        let ink = match role {
            Role::User => Ink::Blue,
            Role::Assistant => Ink::Green,
            Role::ToolCall => Ink::Orange,
            Role::ToolResult => Ink::Purple,
            Role::Other(_) => Ink::Gray,
        };
        self.out.push('\n');
        self.paint.push(&[Ink::Bold, ink], &role.label(), &mut self.out);
        if let Block::Prompt(Prompt { author: Author::Peer { name }, .. }) = &entry.block {
            self.paint.push(&[ink], &format!(" {}", one_line(&name.as_str(), 60)), &mut self.out);
        }
        let time =
            entry.at.map_or_else(String::new, |at| format!("  {}", clock(at, self.context.options.offset_s)));
        let rewound = if entry.overtaken { "  rewound" } else { "" };
        self.paint.push(&[Ink::Dim], &format!("{time}{rewound}"), &mut self.out);
        self.out.push('\n');
    }

    fn prompt(&mut self, prompt: &Prompt) {
        for (tagged, tag) in [(prompt.queued, "queued"), (prompt.steered, "sent while it worked")] {
            if tagged {
                self.line("  ", Ink::Dim, tag);
            }
        }
        let text = prompt.text.as_str();
        match prompt.author {
            Author::Person => {
                let whole = self.prose(text.trim_end());
                self.wrapped("  ", Ink::Plain, &whole);
            }
            Author::Peer { .. } => {
                let text =
                    markdown::to_terminal(&self.prose(&text), self.width.saturating_sub(2), self.paint);
                self.indent("  ", &text);
            }
            Author::Caller | Author::Machine => self.folded("  ", &text, FOLDED_LINES),
        }
        for one in &prompt.attachments {
            self.line("  ", Ink::Dim, &format!("[{}]", label(one)));
        }
    }

    fn thought(&mut self, thought: &Thought) {
        let mut title = match (thought.streaming, thought.duration_ms) {
            (true, _) => "Thinking".to_owned(),
            (false, Some(ms)) => format!("Thought for {}", duration(ms)),
            (false, None) => "Thought".to_owned(),
        };
        if thought.redacted {
            title.push_str(" · kept by the provider");
        }
        self.line("✻ ", Ink::Dim, &title);
        if !thought.redacted && !thought.text.is_blank() {
            self.folded("  ", &thought.text.as_str(), FOLDED_LINES);
        }
    }

    fn tool(&mut self, entry: &Entry, index: usize, tool: &Tool) {
        if self.context.outline.members(index).len() > 1 {
            self.run(index);
            return;
        }
        let cwd = self.context.cwd();
        let view = View::of(entry, tool, cwd.as_deref(), self.context.options.limits.lines);
        let ink = match tool.state {
            ToolState::Pending | ToolState::Waiting | ToolState::Running => Ink::Dim,
            ToolState::Done => Ink::Green,
            ToolState::Failed | ToolState::Denied => Ink::Bad,
            ToolState::Interrupted => Ink::Warn,
        };
        self.title(ink, &title_call(tool, cwd.as_deref()), view.classes.contains(&"agent-callback"));
        if !matches!(view.body, Body::Nested { .. }) {
            self.facts(&view);
        }
        if tool.state == ToolState::Failed && view.facts.iter().all(|fact| fact.tone != Tone::Bad) {
            self.line("  ⎿ ", Ink::Bad, "Failed");
        }
        self.body(entry, index, tool, &view);
        if !matches!(view.body, Body::Nested { .. }) {
            self.work(index);
        }
        let output = tool.output.as_deref();
        let showing = match view.result {
            Showing::Hidden if self.context.options.file_contents && tool.action().explores() => {
                Showing::Text
            }
            showing => showing,
        };
        if let Some(output) = output.filter(|_| showing != Showing::Hidden) {
            self.result(showing, &output_text(output));
        }
        self.extras(output);
        self.ask(tool);
    }

    fn ask(&mut self, tool: &Tool) {
        if let Some(ask) = &tool.ask {
            let reason =
                ask.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", reason.as_str()));
            self.line("  ? ", Ink::Warn, &format!("Waits for an answer{reason}"));
            for option in &ask.options {
                self.line("    · ", Ink::Plain, &option.as_str());
            }
        }
        if let Some(decision) = &tool.decision {
            let words = crate::measure::decision(decision, self.context.options.offset_s);
            self.line("  ⎿ ", Ink::Dim, &words);
        }
    }

    /// `● Bash(cargo test)`, a long title folded to a few lines.
    fn title(&mut self, ink: Ink, title: &str, callback: bool) {
        let lines = if self.context.options.unfolded { usize::MAX } else { 10 };
        let (first, rest) = split_lines(title, lines);
        let name = title.find('(').unwrap_or(title.len()).min(first.len());
        let mut text = self.paint.ink(if callback { Ink::Gold } else { Ink::Bold }, &first[..name]);
        self.paint.push(&[Ink::Plain], first[name..].trim_end_matches('\n'), &mut text);
        for (number, line) in wrap(&text, self.width.saturating_sub(2)).iter().enumerate() {
            match number {
                0 => self.paint.push(&[ink], "● ", &mut self.out),
                _ => self.out.push_str("  "),
            }
            self.out.push_str(line);
            self.out.push('\n');
        }
        if !rest.is_empty() {
            self.line("  ", Ink::Dim, &format!("… +{}", plural(count_lines(rest), "line")));
        }
    }

    fn facts(&mut self, view: &View) {
        let mut words = view.change_summary().into_iter().collect::<Vec<_>>();
        if let Body::Preview { content, .. } = &view.body {
            let verb = if view.classes.contains(&"success") { "Wrote " } else { "" };
            words.push(format!("{verb}{}", plural(count_lines(&content.as_str()), "line")));
        }
        let signs = |tone| matches!(tone, Tone::Plus | Tone::Minus);
        words.extend(view.facts.iter().filter(|fact| !signs(fact.tone)).map(|fact| fact.text.clone()));
        if words.is_empty() {
            return;
        }
        let ink = match () {
            () if view.facts.iter().any(|fact| fact.tone == Tone::Bad) => Ink::Bad,
            () if view.facts.iter().any(|fact| fact.tone == Tone::Warn) => Ink::Warn,
            () => Ink::Dim,
        };
        self.line("  ⎿ ", ink, &words.join(" · "));
    }

    fn body(&mut self, entry: &Entry, index: usize, tool: &Tool, view: &View) {
        match &view.body {
            Body::Nothing | Body::Link { .. } => {}
            Body::Diff(files) => self.diffs(files),
            Body::Preview { path, content } => {
                let content = content.as_str();
                let lines = if self.context.options.unfolded {
                    self.context.options.limits.lines
                } else {
                    PREVIEW_LINES
                };
                let (first, rest) = split_lines(&content, lines);
                let code = highlight::to_terminal(highlight::language_of_path(path), first, self.paint);
                self.indent("    ", &code);
                self.more("    ", rest);
            }
            Body::Files(files) => {
                let names: Vec<String> =
                    files.iter().take(8).map(|file| file.as_str().into_owned()).collect();
                let more = files.len().saturating_sub(names.len());
                let more = if more > 0 { format!(", … +{more}") } else { String::new() };
                self.wrapped("    ", Ink::Dim, &format!("{}{more}", names.join(", ")));
            }
            Body::Todo(todos) => self.todos(todos),
            Body::Nested { .. } => self.nested(entry, index, tool, view),
            Body::Message { content } => {
                let text = markdown::to_terminal(
                    &self.prose(&content.as_str()),
                    self.width.saturating_sub(4),
                    self.paint,
                );
                self.indent("    ", &text);
            }
            Body::Questions(questions) => {
                for question in questions {
                    self.wrapped("    ", Ink::Plain, &format!("? {}", question.as_str()));
                }
            }
            Body::Input => {
                if self.context.options.unfolded {
                    self.wrapped("    ", Ink::Dim, &indented(&tool.input, self.context.options.limits.bytes));
                }
            }
        }
    }

    fn diffs(&mut self, files: &[FileDiff]) {
        for file in files {
            if files.len() > 1 {
                self.line("    ", Ink::Bold, &file.path);
            }
            let diff = file.diff.to_terminal(self.paint);
            self.indent("    ", &diff);
            if file.missing > 0 {
                self.line("    ", Ink::Dim, &format!("… {} not shown", plural(file.missing, "line")));
            }
        }
    }

    fn todos(&mut self, todos: &[Todo]) {
        for todo in todos.iter().take(self.context.options.limits.items) {
            let (mark, ink) = match todo.status {
                TodoStatus::Done => ("☑", Ink::Dim),
                TodoStatus::Active => ("▸", Ink::Bold),
                TodoStatus::Pending => ("☐", Ink::Plain),
            };
            self.wrapped("    ", ink, &format!("{mark} {}", todo.text.as_str()));
        }
    }

    /// The last calls made under a call; tells how many there are.
    fn work(&mut self, index: usize) -> u64 {
        let calls = calls_under(self.context, self.context.outline.children(index));
        let cwd = self.context.cwd();
        let shown = if self.context.options.unfolded { calls.len() } else { 3 };
        for &call in &calls[calls.len().saturating_sub(shown)..] {
            if let Some(Entry { block: Block::Tool(tool), .. }) = self.context.entries.get(call) {
                let title =
                    one_line(&title_call(tool, cwd.as_deref()), self.width.saturating_sub(8)).into_owned();
                self.line("    ", Ink::Dim, &title);
            }
        }
        calls.len() as u64
    }

    fn nested(&mut self, entry: &Entry, index: usize, tool: &Tool, view: &View) {
        let calls = self.work(index);
        // The subagent's kind and where it stands come with the totals, which say how long it took.
        let kind = view.facts.iter().filter(|fact| fact.tone != Tone::Took).map(|fact| fact.text.as_str());
        let totals = totals_line(entry, tool, calls);
        let words: Vec<&str> = kind.chain([totals.as_str()]).collect();
        self.line("  ⎿ ", Ink::Dim, &words.join(" · "));
    }

    fn run(&mut self, index: usize) {
        let run = Run::of(self.context, self.context.outline.members(index));
        let ink = match run.class() {
            "pending" => Ink::Dim,
            "interrupted" => Ink::Warn,
            "error" => Ink::Bad,
            _ => Ink::Green,
        };
        let took = if run.took_ms >= 100 { format!(" · {}", duration(run.took_ms)) } else { String::new() };
        self.paint.push(&[ink], "● ", &mut self.out);
        self.paint.push(&[Ink::Bold], "Explored", &mut self.out);
        self.line(" ", Ink::Plain, &format!("{}{took}", run.title()));
        for row in run.rows.iter().filter(|row| !row.again).take(self.context.options.limits.items) {
            let failed = row.failed.as_ref().map_or_else(String::new, |why| format!(" · failed: {why}"));
            let ink = if row.failed.is_some() { Ink::Bad } else { Ink::Dim };
            let line = format!("{} {}{failed}", row.verb, row.what);
            let line = one_line(&line, self.width.saturating_sub(4)).into_owned();
            self.line("    ", ink, &line);
        }
        for &member in self.context.outline.members(index) {
            if let Some(Entry { block: Block::Tool(tool), .. }) = self.context.entries.get(member) {
                self.ask(tool);
            }
        }
    }

    fn result(&mut self, showing: Showing, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        match showing {
            Showing::Prose => {
                self.line("  ⎿ ", Ink::Purple, "Tool Result");
                let text = markdown::to_terminal(&self.prose(text), self.width.saturating_sub(4), self.paint);
                self.indent("    ", &text);
            }
            Showing::Terminal | Showing::Text | Showing::Hidden => self.folded("    ", text, FOLDED_LINES),
        }
    }

    fn extras(&mut self, output: Option<&Output>) {
        for piece in output.map_or(&[][..], |output| &output.parts) {
            match piece {
                Piece::Attachment { attachment } => {
                    self.line("    ", Ink::Dim, &format!("[{}]", label(attachment)));
                }
                Piece::Other { raw } if self.context.options.unfolded => {
                    self.wrapped("    ", Ink::Dim, &indented(raw, self.context.options.limits.bytes));
                }
                Piece::Other { .. } | Piece::Text { .. } => {}
            }
        }
    }

    fn notice(&mut self, notice: &Notice) {
        let whole = notice.text.as_str();
        let text = if notice.kind == NoticeKind::Interrupted { stop_words(&whole) } else { &whole };
        let (mark, ink, title) = match &notice.kind {
            NoticeKind::Info => ("· ", Ink::Dim, String::new()),
            NoticeKind::Warning => ("⚠ ", Ink::Warn, String::new()),
            NoticeKind::Error => ("! ", Ink::Bad, String::new()),
            NoticeKind::Retry => ("↻ ", Ink::Dim, String::new()),
            NoticeKind::Interrupted => ("⚠ ", Ink::Warn, "Interrupted".to_owned()),
            NoticeKind::Compaction { before, after } => ("── ", Ink::Dim, compaction(*before, *after)),
            NoticeKind::Command { command } => ("> ", Ink::Bold, command.as_str().into_owned()),
            NoticeKind::Hook { name } => ("· ", Ink::Dim, format!("Hook {}", name.as_str())),
            NoticeKind::Task => ("· ", Ink::Dim, "Task".to_owned()),
            NoticeKind::Diff => ("· ", Ink::Dim, "Working tree".to_owned()),
            NoticeKind::Result => ("· ", Ink::Plain, "Result".to_owned()),
            NoticeKind::Status { name } => ("· ", Ink::Dim, Role::named(name).label()),
        };
        if title.is_empty() {
            self.wrapped(mark, ink, text.trim());
            return;
        }
        self.line(mark, ink, &one_line(&title, self.width.saturating_mul(2)));
        if notice.kind == NoticeKind::Diff {
            for file in patch::files(text) {
                self.line("    ", Ink::Bold, &file.path.as_str());
                let diff = crate::diff::Diff::of_hunks(&file.hunks).to_terminal(self.paint);
                let (first, rest) = split_lines(&diff, self.context.options.limits.lines);
                self.indent("    ", first);
                self.more("    ", rest);
            }
        } else if !text.trim().is_empty() {
            self.folded("    ", text, FOLDED_LINES);
        }
    }
}

#[cfg(test)]
mod tests;
