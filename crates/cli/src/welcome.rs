//! Bare `parlor`: what is on this machine, or an example of what it could be.

use std::process::ExitCode;

use anyhow::Result;
use bytes::Bytes;
use parlor_dialect::Format;

use crate::args::ShowFormat;
use crate::conversation::Conversation;
use crate::form::{self, Look};
use crate::output::{Output, remark};
use crate::source::Source;
use crate::terminal::Terminal;
use crate::{find, ls};

/// A short session of our own making, for machines without any.
const EXAMPLE: &[u8] = include_bytes!("../example/garden.jsonl");

/// Lists the sessions there are; where there are none, shows the example and says what to do next.
pub(crate) fn run(terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    let rows = ls::rows(&find::sessions());
    if !rows.is_empty() {
        ls::table(&rows, terminal, no_pager)?;
        if terminal.is_terminal {
            remark("\nshow one with `parlor show ID`; more in `parlor --help`");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let source = Source { name: "the example".into(), path: None, bytes: Bytes::from_static(EXAMPLE) };
    let conversation = Conversation::whole(&source, Format::ClaudeSession);
    let look =
        Look { form: ShowFormat::Terminal, thinking: false, color: terminal.color, width: terminal.width };
    let mut output = Output::stdout();
    form::write(&conversation, look, &mut output)?;
    output.finish()?;
    remark(
        "\nThis is an example: no sessions of Claude Code, Codex or Pi were found on this machine.\n\
         Next: work with one of them and run `parlor` again, or show a file with `parlor show FILE`.\n\
         `parlor doctor` says where Parlor looks.",
    );
    Ok(ExitCode::SUCCESS)
}
