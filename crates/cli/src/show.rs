//! `parlor show`: a session, in the form that is asked for.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use bytes::Bytes;

use crate::args::{Show, ShowFormat};
use crate::conversation::{Conversation, last_lines};
use crate::form::{self, Look};
use crate::input::Meant;
use crate::output::{Output, remark};
use crate::terminal::{Terminal, plain};
use crate::{input, ls};

/// Shows a session, or lists those of a folder.
pub(crate) fn run(args: &Show, terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    if Path::new(&args.session).is_dir() {
        return list(Path::new(&args.session), terminal, no_pager);
    }
    let meant = input::meant(&args.session, &args.house)?;
    if let Meant::Source(source) = &meant
        && source.is_blank()
    {
        remark(&format!("`{}` is empty: there is nothing to show", source.name));
        return Ok(ExitCode::SUCCESS);
    }
    if args.raw {
        let bytes = match meant {
            Meant::Source(source) => source.bytes,
            Meant::Kept(kept, id) => kept.raw(&id)?.into(),
        };
        return raw(&bytes, args.last, terminal, no_pager);
    }
    let conversation = match (&meant, args.last) {
        (Meant::Kept(kept, id), None) => kept.conversation(id)?,
        (Meant::Kept(kept, id), Some(wanted)) => kept.conversation(id)?.end(wanted),
        (Meant::Source(source), None) => Conversation::whole(source, input::format(source, args.from.input)?),
        (Meant::Source(source), Some(wanted)) => {
            Conversation::last(source, input::format(source, args.from.input)?, wanted)
        }
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
fn raw(bytes: &Bytes, last: Option<usize>, terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    let mut output = Output::paged(terminal, no_pager);
    let bytes = last.map_or_else(|| bytes.clone(), |lines| last_lines(bytes, lines));
    output.write_all(&bytes)?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The sessions in a folder.
fn list(folder: &Path, terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    let rows = ls::rows_uncached(&parlor_found::sessions_in(folder));
    if rows.is_empty() {
        bail!("`{}` is a folder without sessions; name a session's file", plain(&folder.to_string_lossy()));
    }
    ls::table(&rows, terminal, no_pager)?;
    Ok(ExitCode::SUCCESS)
}
