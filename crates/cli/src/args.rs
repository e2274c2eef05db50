//! The command line as it is typed. It only names things; the commands give them their meaning.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Exit codes, as the help tells them.
const EXIT_CODES: &str = "\
Exit codes:
  0  all went well; also when the reader of a pipe went away
  1  `doctor` found damaged lines, an unknown format, or lines that nothing accounts for
  2  wrong usage, or an input or output that cannot be read or written

Environment:
  PARLOR_DATA                                where the house keeps everything
  PARLOR_CLAUDE, PARLOR_CODEX, PARLOR_PI     programs that are not on the PATH
  PARLOR_MODEL_URL, _NAME, _KEY              the built-in agent's model
                                             (or OPENAI_BASE_URL, …)
  CLAUDE_CONFIG_DIR, CODEX_HOME,
  PI_CODING_AGENT_DIR                        where the agents keep their sessions
  PARLOR_PAGER, PAGER                        the pager, or `cat` for none
  NO_COLOR, COLUMNS                          no colours; the width in characters";

/// Where people and their coding agents talk: runs Claude Code, Codex, Pi and a built-in agent, and shows every session.
#[derive(Debug, Parser)]
#[command(name = "parlor", version, after_help = EXIT_CODES)]
pub(crate) struct Typed {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Write to the terminal at once instead of through a pager.
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// What to do; without it, the house is opened: `serve`.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Open the house: a page with every session on this machine, and the agents to talk to. This is what bare `parlor` does.
    Serve(Serve),
    /// Talk to an agent in this terminal.
    Run(Run),
    /// Look at a session as it goes on.
    Tail(Tail),
    /// Print a new link to the page of the house that is open.
    Link(House),
    /// Stop every agent that is at work.
    StopAll(House),
    /// List what was allowed for good, by folder; give a permit, or take one back.
    Permits(Permits),
    /// Search all sessions.
    Search(Search),
    /// Show a session.
    Show(Show),
    /// Write a session to a file that can be kept and passed on.
    Export(Export),
    /// Convert a stream of records, line by line, from stdin to stdout.
    Convert(Convert),
    /// List the sessions on this machine, newest first.
    Ls(Ls),
    /// Account for every line of session files: shown, hidden by which rule, unknown, damaged.
    Doctor(Doctor),
    /// The house's tools for agents, over stdin and stdout: for an agent that the house runs.
    #[command(
        after_help = "Environment:\n  PARLOR_MCP_URL, PARLOR_MCP_TOKEN   where the tools are, and the token of the run; the house sets them"
    )]
    Mcp,
    /// The demo agent, as the house starts it.
    #[command(hide = true)]
    DemoAgent,
    /// Print the completions for a shell.
    #[command(
        after_help = "Example:\n  parlor completions bash > ~/.local/share/bash-completion/completions/parlor"
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Where a house keeps everything.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct House {
    /// The data folder, instead of `PARLOR_DATA` or the usual one.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// `parlor permits`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parlor permits
  parlor permits --remove 'Bash(cargo test *)'
  parlor permits --allow 'Mcp(docs: npx -y docs-server)' --folder ~/project

They are for Parlor's own agent; the others keep theirs.")]
pub(crate) struct Permits {
    #[command(flatten)]
    pub(crate) house: House,
    /// Allow this in the folder from now on.
    #[arg(long, value_name = "PERMIT", conflicts_with = "remove")]
    pub(crate) allow: Option<String>,
    /// Ask again before this is done in the folder.
    #[arg(long, value_name = "PERMIT")]
    pub(crate) remove: Option<String>,
    /// The folder, instead of the one where the command is run.
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// `parlor serve`
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  parlor serve
  parlor serve --port 7275 --no-open
  parlor serve --port 0 --json          one line with url, token, port and data, for programs

The page is for this machine alone. To reach it from elsewhere, use `ssh -L` or a tunnel of your own.")]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) house: House,
    /// The address to listen on.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) bind: std::net::IpAddr,
    /// The port; 0 for any that is free. Without it 7275, or any free one when that is taken.
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Listen on an address that other machines reach. They still need the token.
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Do not open a browser.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Do not keep copies of the sessions that agents wrote.
    #[arg(long)]
    pub(crate) no_archive: bool,
    /// Print one line of JSON when ready, and open no browser.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Default for Serve {
    fn default() -> Self {
        Serve {
            house: House::default(),
            bind: std::net::Ipv4Addr::LOCALHOST.into(),
            port: None,
            allow_remote: false,
            no_open: false,
            no_archive: false,
            json: false,
        }
    }
}

/// `parlor run`
#[derive(Debug, Args)]
#[command(after_help = "\
Ctrl-C stops the turn; a second one leaves. What was said stays in the house.

Examples:
  parlor run --agent claude 'why does the test flake?'
  parlor run --agent codex --mode allow-all 'fix the build'
  parlor run --session 0199 'and now the docs'
  git diff | parlor run --agent codex -          the prompt from stdin
  parlor run --agent demo --json 'hello'         events, one JSON object a line")]
pub(crate) struct Run {
    /// What to say; `-` reads it from stdin.
    pub(crate) prompt: String,
    /// The agent: claude, codex, pi, builtin or demo.
    #[arg(long, default_value = "claude", conflicts_with = "session")]
    pub(crate) agent: String,
    /// Go on with this session, by the start of its id.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The model, as the agent names it.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// What the agent may do without asking.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: RunMode,
    /// A picture or document to go with the prompt.
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Where the agent works, instead of here.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Events of the `events` profile instead of text, one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) house: House,
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunMode {
    /// Look; everything else is asked.
    #[default]
    Ask,
    /// Look, and change files in its folder.
    AcceptEdits,
    /// Everything.
    AllowAll,
}

/// `parlor tail`
#[derive(Debug, Args)]
#[command(after_help = "\
Ctrl-C leaves; the session goes on.

Examples:
  parlor tail                     the session that changed last
  parlor tail 3f2a --last 3       the one whose id starts with 3f2a
  parlor tail 3f2a --json         what happens from now on, one JSON object a line")]
pub(crate) struct Tail {
    /// A session's id or the start of it; without it, the session that changed last.
    #[arg(value_name = "ID")]
    pub(crate) session: Option<String>,
    /// How many entries are shown of what was said before.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) last: usize,
    /// Events of the `events` profile instead of text, one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) house: House,
}

/// `parlor search`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parlor search retry budget
  parlor search --regex 'panicked at .*unwrap'")]
pub(crate) struct Search {
    /// The words to look for.
    #[arg(required = true)]
    pub(crate) words: Vec<String>,
    /// Find the text as it stands, also within words.
    #[arg(long, conflicts_with = "regex")]
    pub(crate) exact: bool,
    /// A regular expression.
    #[arg(long)]
    pub(crate) regex: bool,
    /// How many hits at most.
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub(crate) limit: usize,
    /// One JSON array instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) house: House,
}

/// `parlor show`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parlor show 3f2a                    the session whose id starts with 3f2a
  parlor show session.jsonl --last 20
  parlor show rollout.jsonl.zst --format markdown
  claude -p --output-format stream-json --verbose 'hello' | parlor show -")]
pub(crate) struct Show {
    /// A file, `-` for stdin, a session's id or the start of it, or a folder to list.
    #[arg(value_name = "FILE|ID")]
    pub(crate) session: String,
    /// The form to show it in.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ShowFormat,
    /// The records as they were written, byte for byte.
    #[arg(long, conflicts_with_all = ["format", "thinking"])]
    pub(crate) raw: bool,
    /// Show what the agent thought in full.
    #[arg(long)]
    pub(crate) thinking: bool,
    /// Only the last N entries; with `--raw`, the last N lines. Reads the file from its end.
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<usize>,
    #[command(flatten)]
    pub(crate) from: From,
    #[command(flatten)]
    pub(crate) house: House,
}

/// `parlor export`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parlor export 3f2a -o session.html
  parlor export session.jsonl -o notes.md
  parlor export session.jsonl -o - --format text | grep -n error")]
pub(crate) struct Export {
    /// A file, `-` for stdin, or a session's id or the start of it.
    #[arg(value_name = "FILE|ID")]
    pub(crate) session: String,
    /// Where to write: its extension says the format; `-` is stdout.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The format, when the extension does not say it.
    #[arg(long, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    #[command(flatten)]
    pub(crate) from: From,
    #[command(flatten)]
    pub(crate) house: House,
}

/// `parlor convert`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  codex exec --json 'fix the test' | parlor convert --to events
  parlor convert --to elements < session.jsonl
  parlor convert --from claude-stream --to bridge < recorded.jsonl")]
pub(crate) struct Convert {
    /// The messages to write.
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    pub(crate) to: parlor_profile::Profile,
    #[command(flatten)]
    pub(crate) from: From,
}

/// Which format the input has.
#[derive(Debug, Args)]
pub(crate) struct From {
    /// The input's format: `auto`, or a name such as `claude-session`.
    #[arg(long = "from", value_name = "FORMAT", default_value = "auto", value_parser = input)]
    pub(crate) input: Input,
}

/// The format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// To be found by looking.
    Auto,
    /// Known.
    Known(parlor_dialect::Format),
}

/// `parlor ls`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  parlor ls
  parlor ls --json | jq -r '.[0].path'")]
pub(crate) struct Ls {
    /// One JSON array instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) house: House,
}

/// `parlor doctor`
#[derive(Debug, Args)]
#[command(after_help = "\
Without arguments it looks at the agents on PATH and at all sessions they wrote.
A last line that is cut is reported and does not count as a finding: its writer may still be at work.

Examples:
  parlor doctor
  parlor doctor session.jsonl
  parlor doctor ~/.codex/sessions --json")]
pub(crate) struct Doctor {
    /// Files and folders to look at.
    #[arg(value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// One JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// When a terminal reads them and `NO_COLOR` is not set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form in which a session is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// For reading in the terminal.
    #[default]
    Terminal,
    /// A page that stands alone.
    Html,
    /// Markdown.
    Markdown,
    /// Plain text with a label per message.
    Text,
    /// The session and its entries.
    Json,
}

/// The form in which a session is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A page that stands alone.
    Html,
    /// Markdown.
    Markdown,
    /// Plain text with a label per message.
    Text,
    /// The session and its entries.
    Json,
}

impl std::convert::From<ExportFormat> for ShowFormat {
    fn from(format: ExportFormat) -> Self {
        match format {
            ExportFormat::Html => ShowFormat::Html,
            ExportFormat::Markdown => ShowFormat::Markdown,
            ExportFormat::Text => ShowFormat::Text,
            ExportFormat::Json => ShowFormat::Json,
        }
    }
}

fn profile(name: &str) -> Result<parlor_profile::Profile, String> {
    parlor_profile::Profile::named(name).ok_or_else(|| {
        format!("choose one of: {}", parlor_profile::Profile::ALL.map(|profile| profile.name()).join(", "))
    })
}

fn input(name: &str) -> Result<Input, String> {
    if name == "auto" {
        return Ok(Input::Auto);
    }
    parlor_dialect::Format::named(name).map(Input::Known).ok_or_else(|| {
        format!(
            "choose auto or one of: {}",
            parlor_dialect::Format::ALL.map(|format| format.name()).join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Typed::command().debug_assert();
    }
}
