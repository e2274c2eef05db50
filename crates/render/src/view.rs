//! How each tool call is shown: one table for every tool of every agent, shared by HTML, terminal and text. It says
//! what is shown, never in which markup.

use std::borrow::Cow;
use std::fmt::Write;

use parlor_model::action::{Action, Todo, TodoStatus};
use parlor_model::entry::Entry;
use parlor_model::text::Text;
use parlor_model::tool::{FileChange, FilePatch, Output, Tool, ToolState, Totals};

use crate::clip::{count_lines, one_line, output_text};
use crate::diff::Diff;
use crate::measure::{duration, plural, size, tokens};
use crate::title::{argument_of_other, parameters, relative, shell_name, tool_name};

/// A tool call as it is shown.
#[derive(Debug)]
pub(crate) struct View {
    /// The name of its picture.
    pub(crate) icon: &'static str,
    /// What is done: `Bash`, `Update`, `Wrote 12 lines to`.
    pub(crate) verb: Cow<'static, str>,
    /// What it is done to.
    pub(crate) argument: String,
    /// What else is worth knowing at a glance.
    pub(crate) facts: Vec<Fact>,
    /// What the input holds.
    pub(crate) body: Body,
    /// How what came back is shown.
    pub(crate) result: Showing,
    /// Whether the card is open from the start.
    pub(crate) open: bool,
    /// Where the call stands, in the words that style sheets know. They combine.
    pub(crate) classes: Vec<&'static str>,
}

/// A short remark in the title of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) tone: Tone,
    pub(crate) text: String,
}

/// How a fact is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// How long it took.
    Took,
    Plus,
    Minus,
    Warn,
    Bad,
}

/// What the input of a call holds, beyond its title.
#[derive(Debug)]
pub(crate) enum Body {
    Nothing,
    /// Changes to files.
    Diff(Vec<FileDiff>),
    /// A whole new file.
    Preview {
        path: String,
        content: Text,
    },
    /// The names of files.
    Files(Vec<Text>),
    /// A list of tasks.
    Todo(Vec<Todo>),
    /// An address on the web.
    Link {
        url: Text,
    },
    /// The work of a subagent.
    Nested {
        prompt: Text,
    },
    /// Words for another agent, in Markdown.
    Message {
        content: Text,
    },
    /// Questions for the person.
    Questions(Vec<Text>),
    /// An input that does not fit into the title.
    Input,
}

/// How what came back is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Showing {
    /// Not at all: the contents of files, and answers that say only that all went well.
    Hidden,
    /// What a program wrote, with its colours.
    Terminal,
    /// Text as it is.
    Text,
    /// Markdown by another agent.
    Prose,
}

/// The change to one file.
#[derive(Debug)]
pub(crate) struct FileDiff {
    pub(crate) path: String,
    pub(crate) diff: Diff,
    /// Lines of the diff that are left out.
    pub(crate) missing: u64,
}

/// The lines of a new file that are shown before it is unfolded.
pub(crate) const PREVIEW_LINES: usize = 8;

impl View {
    /// How a call is shown. Paths below `cwd` are shown relative to it.
    pub(crate) fn of(entry: &Entry, tool: &Tool, cwd: Option<&str>, most_lines: usize) -> View {
        let done = tool.state == ToolState::Done;
        let failed = matches!(tool.state, ToolState::Failed | ToolState::Denied);
        let mut view = by_action(tool, tool.action(), cwd, done);
        if let Body::Diff(files) = &mut view.body {
            view.facts.extend(change_facts(files));
            files.iter_mut().for_each(|file| file.shorten(most_lines));
        }
        if failed || (!done && view.result == Showing::Hidden) {
            // What failed says why, whatever is hidden when it goes well.
            view.open &= !failed;
            view.result = if view.result == Showing::Hidden { Showing::Text } else { view.result };
        }
        common_facts(entry, tool, &mut view.facts);
        view.classes = classes(tool, view.icon == "message");
        view
    }

    /// `Added 3 lines, removed 1 line`, for changes to files.
    pub(crate) fn change_summary(&self) -> Option<String> {
        let Body::Diff(files) = &self.body else { return None };
        let (added, removed) = sums(files);
        Some(match (added, removed) {
            (added, 0) => format!("Added {}", plural(added, "line")),
            (0, removed) => format!("Removed {}", plural(removed, "line")),
            (added, removed) => {
                format!("Added {}, removed {}", plural(added, "line"), plural(removed, "line"))
            }
        })
    }
}

/// The words for where a call stands.
pub(crate) fn state_word(state: ToolState) -> &'static str {
    match state {
        ToolState::Pending => "Pending",
        ToolState::Waiting => "Waiting",
        ToolState::Running => "Running",
        ToolState::Done => "Done",
        ToolState::Failed => "Failed",
        ToolState::Denied => "Denied",
        ToolState::Interrupted => "Interrupted",
    }
}

/// The one table: what each kind of call looks like.
fn by_action(tool: &Tool, action: Action, cwd: Option<&str>, done: bool) -> View {
    let output = tool.output.as_deref();
    let row = |icon, verb: &'static str, argument: String, body, result, open| View {
        icon,
        verb: Cow::Borrowed(verb),
        argument,
        facts: Vec::new(),
        body,
        result,
        open,
        classes: Vec::new(),
    };
    let path_of = |path: &Text| relative(&path.as_str(), cwd).into_owned();
    let patches = output.map_or(&[][..], |output| &output.patches);
    use Showing::{Hidden, Prose, Terminal, Text as Plain};
    match action {
        Action::Run { command, .. } => {
            row("run", shell_name(tool), command.as_str().into_owned(), Body::Nothing, Terminal, false)
        }
        Action::Read { path, offset, limit } => {
            let mut view = row("read", "Read", path_of(&path), Body::Nothing, Hidden, false);
            view.facts.extend(line_range(offset, limit));
            view
        }
        Action::Write { path, content } => {
            let path = path_of(&path);
            let mut view = row("write", "Write", path.clone(), Body::Nothing, Hidden, true);
            if done {
                view.verb = format!("Wrote {} to", plural(count_lines(&content.as_str()), "line")).into();
            }
            view.body = Body::Preview { path, content };
            view
        }
        Action::Edit { path, edits } => {
            let path = path_of(&path);
            let body = Body::Diff(if patches.is_empty() {
                of_edits(&path, &edits)
            } else {
                of_patches(patches, cwd)
            });
            row("edit", "Update", path, body, Hidden, true)
        }
        Action::Patch { files } => {
            let told = if patches.is_empty() { &files } else { patches };
            let argument = match told {
                [one] => path_of(&one.path),
                several => plural(several.len() as u64, "file"),
            };
            let verb = match told.iter().map(|file| file.change).collect::<Vec<_>>().as_slice() {
                [first, rest @ ..]
                    if *first != FileChange::Update && rest.iter().all(|change| change == first) =>
                {
                    if *first == FileChange::Add { "Create" } else { "Delete" }
                }
                _ => "Update",
            };
            row("edit", verb, argument, Body::Diff(of_patches(told, cwd)), Hidden, true)
        }
        Action::Search { pattern, path } => row(
            "search",
            "Grep",
            pattern_words(&pattern, path.as_ref().map(path_of)),
            found(output),
            Hidden,
            false,
        ),
        Action::Find { pattern, path } => {
            let verb = if tool.name.to_ascii_lowercase().starts_with('l') { "List" } else { "Glob" };
            let within = path.as_ref().map(path_of);
            row("search", verb, within_words(path_of(&pattern), within), found(output), Hidden, false)
        }
        Action::Fetch { url } => {
            let mut view =
                row("web", "WebFetch", url.as_str().into_owned(), Body::Link { url }, Plain, false);
            view.facts.extend(output.and_then(|output| output.http_status).map(http_fact));
            let bytes = output.map(|output| output.bytes.unwrap_or_else(|| output_text(output).len() as u64));
            view.facts.extend(bytes.map(|bytes| Fact::plain(size(bytes))));
            view
        }
        Action::Query { query } => {
            row("web", "WebSearch", query.as_str().into_owned(), Body::Nothing, Plain, false)
        }
        Action::Delegate { description, prompt, agent } => {
            let argument = one_line(&description.as_str(), 160).into_owned();
            let mut view = row("agent", "Task", argument, Body::Nested { prompt }, Prose, true);
            view.facts.extend(agent.map(|agent| Fact::plain(agent.as_str().into_owned())));
            view
        }
        Action::Plan { todos } => {
            let finished = todos.iter().filter(|todo| todo.status == TodoStatus::Done).count();
            let argument = format!("{finished} of {}", todos.len());
            row("todo", "Todo", argument, Body::Todo(todos), Hidden, true)
        }
        Action::Message { to, summary, content } => {
            let mut argument = format!("to {}", to.as_str());
            if let Some(summary) = summary {
                let _ = write!(argument, " · {}", one_line(&summary.as_str(), 160));
            }
            row("message", "Message", argument, Body::Message { content }, Prose, true)
        }
        Action::Question { questions } => {
            let argument = plural(questions.len() as u64, "question");
            row("question", "Question", argument, Body::Questions(questions), Plain, true)
        }
        Action::Mcp { server, tool: name } => {
            let (argument, complete) = parameters(&tool.input);
            let body = if complete { Body::Nothing } else { Body::Input };
            let mut view = row("mcp", "", argument, body, Plain, false);
            view.verb = format!("{} - {} (MCP)", server.as_str(), name.as_str()).into();
            view
        }
        Action::Other => {
            other(tool, patches, cwd, row("tool", "", String::new(), Body::Nothing, Plain, false))
        }
    }
}

/// A tool that the table does not know: its name, what fits of its input, and everything behind a toggle.
fn other(tool: &Tool, patches: &[FilePatch], cwd: Option<&str>, mut view: View) -> View {
    view.verb = tool_name(tool).to_owned().into();
    view.icon = if tool.orphan { "tool-result" } else { "tool" };
    view.argument = argument_of_other(tool);
    if !patches.is_empty() {
        (view.body, view.open) = (Body::Diff(of_patches(patches, cwd)), true);
    } else if tool.title.is_some() || !parameters(&tool.input).1 {
        view.body = Body::Input;
    }
    view
}

impl Fact {
    fn plain(text: String) -> Fact {
        Fact { tone: Tone::Plain, text }
    }
}

fn http_fact(status: u16) -> Fact {
    let tone = if (200..400).contains(&status) { Tone::Plain } else { Tone::Bad };
    Fact { tone, text: status.to_string() }
}

fn line_range(offset: Option<u64>, limit: Option<u64>) -> Option<Fact> {
    let text = match (offset, limit) {
        (None, None) => return None,
        (Some(from), Some(count)) => format!("lines {from}–{}", from.saturating_add(count).saturating_sub(1)),
        (Some(from), None) => format!("from line {from}"),
        (None, Some(count)) => format!("first {}", plural(count, "line")),
    };
    Some(Fact::plain(text))
}

/// Facts that any tool may have, in the order in which they are read.
fn common_facts(entry: &Entry, tool: &Tool, facts: &mut Vec<Fact>) {
    let output = tool.output.as_deref();
    match tool.state {
        ToolState::Interrupted => facts.push(Fact { tone: Tone::Warn, text: "⚠ Interrupted".into() }),
        ToolState::Denied => facts.push(Fact { tone: Tone::Bad, text: "Denied".into() }),
        ToolState::Waiting => facts.push(Fact { tone: Tone::Warn, text: "Waiting".into() }),
        ToolState::Pending | ToolState::Running | ToolState::Done | ToolState::Failed => {}
    }
    match output.and_then(|output| output.exit_code) {
        Some(0) | None => {}
        Some(code) => facts.push(Fact { tone: Tone::Bad, text: format!("exit {code}") }),
    }
    if output.is_some_and(|output| output.truncated) {
        facts.push(Fact { tone: Tone::Warn, text: "⚠ truncated".into() });
    }
    if let Some(ms) = took_ms(entry, tool).filter(|ms| *ms >= 100) {
        facts.push(Fact { tone: Tone::Took, text: duration(ms) });
    }
}

/// How long a call took: as the tool says, or from its start to its end.
pub(crate) fn took_ms(entry: &Entry, tool: &Tool) -> Option<u64> {
    let told = tool.output.as_ref().and_then(|output| output.duration_ms);
    told.or_else(|| totals(tool).duration_ms).or_else(|| {
        let micros = entry.ended?.0.checked_sub(entry.at?.0)?;
        u64::try_from(micros / 1000).ok()
    })
}

/// A subagent's totals: by its own account, or as they were counted.
pub(crate) fn totals(tool: &Tool) -> Totals {
    let told = tool.output.as_ref().and_then(|output| output.totals.clone()).unwrap_or_default();
    let counted = tool.subagent.clone().unwrap_or_default();
    Totals {
        tools: told.tools.or(counted.tools),
        tokens: told.tokens.or(counted.tokens),
        duration_ms: told.duration_ms.or(counted.duration_ms),
        agent_id: told.agent_id.or(counted.agent_id),
    }
}

/// `5 tools · 12k tokens · 52 s`, for the foot of a subagent's card.
pub(crate) fn totals_line(entry: &Entry, tool: &Tool, counted: u64) -> String {
    let totals = totals(tool);
    let mut words = vec![plural(totals.tools.unwrap_or(counted), "tool")];
    words.extend(totals.tokens.map(|count| format!("{} tokens", tokens(count))));
    words.extend(took_ms(entry, tool).map(duration));
    words.join(" · ")
}

/// The classes of a call. Where it stands is one of four; the rest are properties, and combine with any of them.
fn classes(tool: &Tool, message: bool) -> Vec<&'static str> {
    let mut classes = match tool.state {
        ToolState::Pending => vec!["pending"],
        ToolState::Waiting => vec!["pending", "waiting"],
        ToolState::Running => vec!["pending", "running"],
        ToolState::Done => vec!["success"],
        ToolState::Failed => vec!["error"],
        ToolState::Denied => vec!["error", "denied"],
        ToolState::Interrupted => vec!["interrupted"],
    };
    if tool.output.as_ref().is_some_and(|output| output.truncated) {
        classes.push("truncated");
    }
    if tool.agent_callback || message {
        classes.push("agent-callback");
    }
    if tool.orphan {
        classes.push("orphan");
    }
    classes
}

fn of_edits(path: &str, edits: &[(Text, Text)]) -> Vec<FileDiff> {
    let one = |(old, new): &(Text, Text)| {
        let diff = Diff::between(&old.as_str(), &new.as_str());
        FileDiff { path: path.to_owned(), diff, missing: 0 }
    };
    edits.iter().map(one).collect()
}

fn of_patches(patches: &[FilePatch], cwd: Option<&str>) -> Vec<FileDiff> {
    patches.iter().map(|patch| FileDiff::of_patch(patch, cwd)).collect()
}

/// `+3 −1`; a sign without lines is left out, unless nothing changed at all.
pub(crate) fn change_facts(files: &[FileDiff]) -> Vec<Fact> {
    let (added, removed) = sums(files);
    let mut facts = Vec::new();
    if added > 0 || removed == 0 {
        facts.push(Fact { tone: Tone::Plus, text: format!("+{added}") });
    }
    if removed > 0 {
        facts.push(Fact { tone: Tone::Minus, text: format!("−{removed}") });
    }
    facts
}

/// Lines added and removed over all files.
fn sums(files: &[FileDiff]) -> (u64, u64) {
    files.iter().fold((0, 0), |(added, removed), file| {
        (file.diff.added.saturating_add(added), file.diff.removed.saturating_add(removed))
    })
}

impl FileDiff {
    /// The change that a patch tells.
    pub(crate) fn of_patch(patch: &FilePatch, cwd: Option<&str>) -> FileDiff {
        let path = relative(&patch.path.as_str(), cwd).into_owned();
        FileDiff { path, diff: Diff::of_hunks(&patch.hunks), missing: 0 }
    }

    /// Keeps the first lines and counts the rest.
    pub(crate) fn shorten(&mut self, most_lines: usize) {
        self.missing = self.diff.lines.len().saturating_sub(most_lines) as u64;
        self.diff.lines.truncate(most_lines);
    }
}

fn found(output: Option<&Output>) -> Body {
    match output {
        Some(output) if !output.files.is_empty() => Body::Files(output.files.clone()),
        _ => Body::Nothing,
    }
}

fn pattern_words(pattern: &Text, within: Option<String>) -> String {
    within_words(format!("\"{}\"", one_line(&pattern.as_str(), 160)), within)
}

fn within_words(what: String, within: Option<String>) -> String {
    match within {
        Some(within) => format!("{what} in {within}"),
        None => what,
    }
}

#[cfg(test)]
mod tests;
