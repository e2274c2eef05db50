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
  CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR  where the agents keep their sessions
  PARLOR_PAGER, PAGER   the pager, `less -R` when neither is set; empty or `cat` for none
  NO_COLOR, COLUMNS     no colours; the width in characters";

/// Reads, shows and converts the sessions of coding agents: Claude Code, Codex, Pi and others.
#[derive(Debug, Parser)]
#[command(name = "parlor", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct Typed {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Write to the terminal at once instead of through a pager.
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// What to do; without it, the sessions on this machine are listed.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a session.
    Show(Show),
    /// Write a session to a file that can be kept and passed on.
    Export(Export),
    /// Convert a stream of records, line by line, from stdin to stdout.
    Convert(Convert),
    /// List the sessions that the agents wrote on this machine, newest first.
    Ls(Ls),
    /// Account for every line of session files: shown, hidden by which rule, unknown, damaged.
    Doctor(Doctor),
    /// Print the completions for a shell.
    #[command(
        after_help = "Example:\n  parlor completions bash > ~/.local/share/bash-completion/completions/parlor"
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
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
