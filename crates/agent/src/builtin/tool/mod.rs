//! The built-in agent's tools: what the model is told of them, and how a call is read and carried out. One file each. They
//! must not ask for permission: that was done before.

mod address;
mod agents;
mod bash;
mod edit;
mod fetch;
mod glob;
mod grep;
mod html;
mod lenient;
mod output;
mod patch;
mod read;
mod served;
mod todo;
mod write;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parlor_model::Key;
use parlor_model::seen::Ended;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::builtin::mcp::ServedTool;
use crate::builtin::reap::Target;
use crate::{Mcp, Said};
pub(crate) use bash::Bash;
pub(crate) use edit::Edit;
pub(crate) use fetch::WebFetch;
pub(crate) use write::Write;

/// How much of a result the model is told; the middle of a longer one is left out.
pub(crate) const RESULT_BYTES: usize = 30_000;

/// What tools work with.
pub(crate) struct Bench {
    /// Where the agent works.
    pub(crate) cwd: PathBuf,
    /// The run whose mark every process carries.
    pub(crate) run: Key,
    /// Where output goes while a tool runs.
    pub(crate) said: mpsc::Sender<Said>,
    /// Whether this machine and its networks may be fetched from.
    pub(crate) allow_private: bool,
    /// The way to other agents.
    pub(crate) mcp: Option<Mcp>,
    /// The commands that run.
    commands: Mutex<Vec<Running>>,
    /// The tools of MCP servers, by the names that the model knows, and the groups of the servers' processes.
    served: Mutex<(BTreeMap<String, ServedTool>, Vec<u32>)>,
}

/// A command that runs.
#[derive(Clone)]
struct Running {
    call: Key,
    /// The leader of its group.
    group: u32,
    printed: Arc<Mutex<output::Ends>>,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) state: Ended,
    /// What the model is told.
    pub(crate) text: String,
    pub(crate) exit_code: Option<i64>,
    /// True when the model is told less than there was.
    pub(crate) truncated: bool,
    /// The change to a file.
    pub(crate) diff: Option<String>,
}

/// A call that was understood.
#[derive(Debug)]
pub(crate) enum Tool {
    Bash(Bash),
    Read(read::Read),
    Write(Write),
    Edit(Edit),
    Glob(glob::Glob),
    Grep(grep::Grep),
    TodoWrite(todo::TodoWrite),
    WebFetch(WebFetch),
    Agents(agents::Agents),
    Served(served::Served),
}

impl Tool {
    /// Reads a call. The error is what the model is told.
    pub(crate) fn parse(name: &str, arguments: &str) -> Result<Tool, String> {
        if let Some(call) = agents::Agents::parse(name, arguments) {
            return call.map(Tool::Agents);
        }
        if let Some(call) = served::Served::parse(name, arguments) {
            return call.map(Tool::Served);
        }
        Ok(match name {
            "Bash" => Tool::Bash(read_input(name, arguments)?),
            "Read" => Tool::Read(read_input(name, arguments)?),
            "Write" => Tool::Write(read_input(name, arguments)?),
            "Edit" => Tool::Edit(read_input(name, arguments)?),
            "Glob" => Tool::Glob(read_input(name, arguments)?),
            "Grep" => Tool::Grep(read_input(name, arguments)?),
            "TodoWrite" => Tool::TodoWrite(read_input(name, arguments)?),
            "WebFetch" => Tool::WebFetch(read_input(name, arguments)?),
            _ => {
                return Err(format!(
                    "There is no tool `{name}`. The tools are Bash, Read, Write, Edit, Glob, Grep, TodoWrite and WebFetch."
                ));
            }
        })
    }

    /// True when it changes nothing, so that several can run at once and none has to be allowed.
    pub(crate) fn only_looks(&self) -> bool {
        match self {
            Tool::Read(_) | Tool::Glob(_) | Tool::Grep(_) | Tool::TodoWrite(_) => true,
            // Here nothing changes; the house asks where it must.
            Tool::Agents(_) => true,
            Tool::Bash(_) | Tool::Write(_) | Tool::Edit(_) | Tool::WebFetch(_) | Tool::Served(_) => false,
        }
    }

    /// Carries the call out.
    pub(crate) async fn run(self, call: Key, bench: Arc<Bench>) -> Outcome {
        match self {
            Tool::Bash(bash) => bash.run(call, &bench).await,
            Tool::WebFetch(fetch) => fetch.run(&bench).await,
            Tool::Agents(agents) => agents.run(&call, &bench).await,
            Tool::Served(served) => served.run(call, &bench).await,
            Tool::TodoWrite(todo) => todo.run(),
            Tool::Read(read) => apart(move || read.run(&bench.cwd)).await,
            Tool::Write(write) => apart(move || write.run(&bench.cwd)).await,
            Tool::Edit(edit) => apart(move || edit.run(&bench.cwd)).await,
            Tool::Glob(glob) => apart(move || glob.run(&bench.cwd)).await,
            Tool::Grep(grep) => apart(move || grep.run(&bench.cwd)).await,
        }
    }
}

impl Bench {
    pub(crate) fn new(
        cwd: PathBuf,
        run: Key,
        said: mpsc::Sender<Said>,
        allow_private: bool,
        mcp: Option<Mcp>,
    ) -> Bench {
        Bench { cwd, run, said, allow_private, mcp, commands: Mutex::default(), served: Mutex::default() }
    }

    /// Every process of this run, and the groups of the commands that run now.
    pub(crate) fn target(&self) -> Target {
        let commands: Vec<u32> = self.commands().iter().map(|running| running.group).collect();
        let groups = commands.into_iter().chain(self.servers().1.clone()).collect();
        Target { mark: format!("PARLOR_RUN={}", self.run), groups }
    }

    /// Gives a program what all programs of the run get: the folder, a group of its own, the mark, and none of Parlor's own
    /// variables, which hold keys and tokens.
    pub(crate) fn equip(&self, command: &mut Command) {
        command.current_dir(&self.cwd).process_group(0);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PARLOR_"))
        {
            command.env_remove(name);
        }
        command.env("PARLOR_RUN", self.run.as_str());
    }

    /// From now on these are the tools of MCP servers, and the groups of their processes.
    pub(crate) fn serve(&self, tools: BTreeMap<String, ServedTool>, groups: Vec<u32>) {
        *self.servers() = (tools, groups);
    }

    /// The tool of a server by the name that the model knows.
    pub(crate) fn served(&self, name: &str) -> Option<ServedTool> {
        self.servers().0.get(name).cloned()
    }

    fn servers(&self) -> MutexGuard<'_, (BTreeMap<String, ServedTool>, Vec<u32>)> {
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets a command that has ended, and says what it has printed.
    pub(crate) fn forget(&self, call: &Key) -> Option<(String, bool)> {
        let mut commands = self.commands();
        let index = commands.iter().position(|running| running.call == *call)?;
        let printed = commands.remove(index).printed;
        let told = printed.lock().unwrap_or_else(PoisonError::into_inner).told();
        Some(told)
    }

    fn commands(&self) -> MutexGuard<'_, Vec<Running>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outcome {
    pub(crate) fn done(text: impl Into<String>) -> Outcome {
        Outcome::new(Ended::Done, text.into())
    }

    pub(crate) fn failed(text: impl Into<String>) -> Outcome {
        Outcome::new(Ended::Failed, text.into())
    }

    pub(crate) fn new(state: Ended, text: String) -> Outcome {
        let (text, truncated) = match shorten(&text) {
            (Cow::Owned(short), _) => (short, true),
            (Cow::Borrowed(_), _) => (text, false),
        };
        Outcome { state, text, exit_code: None, truncated, diff: None }
    }
}

impl From<Result<Outcome, String>> for Outcome {
    fn from(result: Result<Outcome, String>) -> Outcome {
        result.unwrap_or_else(Outcome::failed)
    }
}

/// Leaves out the middle of a text that is too long for the model, with a mark that says how much. True when it did.
pub(crate) fn shorten(text: &str) -> (Cow<'_, str>, bool) {
    if text.len() <= RESULT_BYTES {
        return (Cow::Borrowed(text), false);
    }
    let head = &text[..text.floor_char_boundary(RESULT_BYTES / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - RESULT_BYTES / 2)..];
    (Cow::Owned(join(head, text.len() - head.len() - tail.len(), tail)), true)
}

/// The two ends of a text, with a mark between them.
fn join(head: &str, left_out: usize, tail: &str) -> String {
    format!("{head}\n[… {left_out} bytes are left out here …]\n{tail}")
}

/// What the model is told of the tools.
pub(crate) fn definitions(has_agents: bool) -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let number = |description: &str| json!({"type": "integer", "description": description});
    let tool = |name: &str, description: &str, properties: Value, required: Value| {
        let parameters = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    };
    let file_path = || text("The file, absolute or relative to the working directory.");
    let mut all = json!([
        tool(
            "Bash",
            "Runs a command in a new shell in the working directory and gives back what it prints on stdout and stderr.",
            json!({
                "command": text("The command."),
                "description": text("What it is for, in five to ten words."),
                "timeout_ms": number("After how many milliseconds it is ended: 120000 unless told, at most 600000."),
            }),
            json!(["command"])
        ),
        tool(
            "Read",
            "Reads a text file, with line numbers.",
            json!({
                "file_path": file_path(),
                "offset": number("The first line, from 1."),
                "limit": number("How many lines: 2000 unless told."),
            }),
            json!(["file_path"])
        ),
        tool(
            "Write",
            "Writes a whole file; makes it and its folders when they are not there.",
            json!({"file_path": file_path(), "content": text("The whole content.")}),
            json!(["file_path", "content"])
        ),
        tool(
            "Edit",
            "Replaces a text in a file. It must occur exactly once, unless all occurrences are to be replaced.",
            json!({
                "file_path": file_path(),
                "old_string": text("The text to replace, with its exact white space."),
                "new_string": text("What stands there afterwards."),
                "replace_all": {"type": "boolean", "description": "Replace every occurrence."},
            }),
            json!(["file_path", "old_string", "new_string"])
        ),
        tool(
            "Glob",
            "Finds files by a pattern of their path, such as `src/**/*.rs`. What git ignores is left out.",
            json!({"pattern": text("The pattern."), "path": text("The folder to look in.")}),
            json!(["pattern"])
        ),
        tool(
            "Grep",
            "Searches the lines of files for a regular expression. What git ignores is left out.",
            json!({
                "pattern": text("The regular expression, as in Rust's regex crate."),
                "path": text("The file or folder to look in."),
                "glob": text("Only files whose path fits this pattern, such as `*.rs`."),
                "output_mode": {
                    "type": "string",
                    "enum": ["content", "files_with_matches", "count"],
                    "description": "Lines with their numbers, only the files (unless told), or how many lines in each file.",
                },
                "ignore_case": {"type": "boolean", "description": "Take capital and small letters as the same."},
            }),
            json!(["pattern"])
        ),
        tool(
            "TodoWrite",
            "Writes the list of steps that the person sees. It replaces the list that was there.",
            json!({
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": text("The step."),
                            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                        },
                        "required": ["content", "status"],
                    },
                },
            }),
            json!(["todos"])
        ),
        tool(
            "WebFetch",
            "Gets a page from the web as text.",
            json!({"url": text("The address, with http:// or https://.")}),
            json!(["url"])
        ),
    ]);
    if let Value::Array(all) = &mut all
        && has_agents
    {
        all.extend(parlor_model::agents::definitions().map(|tool| {
            let function = json!({"name": tool.name, "description": tool.words, "parameters": tool.input});
            json!({"type": "function", "function": function})
        }));
    }
    all
}

/// A path as the model means it.
pub(crate) fn resolve(cwd: &Path, path: &str) -> PathBuf {
    cwd.join(path)
}

fn read_input<T: DeserializeOwned>(name: &str, arguments: &str) -> Result<T, String> {
    let value: Value = serde_json::from_str(arguments).map_err(|error| {
        let start: String = arguments.chars().take(200).collect();
        format!(
            "The arguments of `{name}` are not valid JSON: {error}. They begin with: {start}\nSend the whole call again with one JSON object."
        )
    })?;
    serde_json::from_value(value).map_err(|error| {
        format!("The arguments of `{name}` do not fit: {error}. Send the call again with all it needs.")
    })
}

/// Work that blocks is done beside the runtime.
async fn apart(work: impl FnOnce() -> Outcome + Send + 'static) -> Outcome {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => Outcome::failed(format!("The tool itself has failed: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_ends_and_says_what_is_missing() {
        let text = format!("begin{}ünd", "ä".repeat(RESULT_BYTES));
        let (short, cut) = shorten(&text);
        assert!(cut && short.starts_with("begin") && short.ends_with("ünd"));
        assert!(short.len() < RESULT_BYTES + 60);
        let left_out = text.len() - RESULT_BYTES;
        assert!(
            short.contains(&format!("[… {left_out} bytes"))
                || short.contains(&format!("[… {} bytes", left_out + 1))
                || short.contains(&format!("[… {} bytes", left_out + 2)),
        );
        assert_eq!(shorten("short"), (Cow::Borrowed("short"), false));
    }

    #[test]
    fn every_tool_that_is_offered_is_understood() {
        for tool in definitions(false).as_array().unwrap() {
            let name = tool["function"]["name"].as_str().unwrap();
            let error = Tool::parse(name, "{}").unwrap_err();
            assert!(error.contains("missing field"), "{name}: {error}");
            assert!(Tool::parse(name, "{\"x").unwrap_err().contains("not valid JSON"));
        }
        assert!(Tool::parse("Nope", "{}").unwrap_err().contains("no tool `Nope`"));
    }
}
