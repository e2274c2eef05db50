//! `parlor show`: a session, in the form that is asked for.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::{Show, ShowFormat};
use crate::conversation::{Conversation, last_lines};
use crate::form::{self, Look};
use crate::output::{Output, remark};
use crate::source::Source;
use crate::terminal::{Terminal, plain};
use crate::{find, ls};

/// Shows a session, or lists those of a folder.
pub(crate) fn run(args: &Show, terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    if Path::new(&args.session).is_dir() {
        return list(Path::new(&args.session), terminal, no_pager);
    }
    let source = Source::named(&args.session)?;
    if source.is_blank() {
        remark(&format!("`{}` is empty: there is nothing to show", source.name));
        return Ok(ExitCode::SUCCESS);
    }
    if args.raw {
        return raw(&source, args.last, terminal, no_pager);
    }
    let format = source.format(args.from.input)?;
    let conversation = match args.last {
        None => Conversation::whole(&source, format),
        Some(wanted) => Conversation::last(&source, format, wanted),
    };
    let look =
        Look { form: args.format, thinking: args.thinking, color: terminal.color, width: terminal.width };
    let mut output = match args.format {
        ShowFormat::Terminal | ShowFormat::Text | ShowFormat::Markdown => Output::paged(terminal, no_pager),
        ShowFormat::Html | ShowFormat::Json => Output::stdout(),
    };
    form::write(&conversation, look, &mut output)?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The records as they were written.
fn raw(source: &Source, last: Option<usize>, terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    let mut output = Output::paged(terminal, no_pager);
    let bytes = last.map_or_else(|| source.bytes.clone(), |lines| last_lines(&source.bytes, lines));
    output.write_all(&bytes)?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The sessions in a folder.
fn list(folder: &Path, terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    let rows = ls::rows_uncached(&find::sessions_in(folder));
    if rows.is_empty() {
        bail!("`{}` is a folder without sessions; name a session's file", plain(&folder.to_string_lossy()));
    }
    ls::table(&rows, terminal, no_pager)?;
    Ok(ExitCode::SUCCESS)
}
