//! Where a command writes: stdout, or a pager when a person looks at a terminal.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};

use crate::pager::Pager;
use crate::terminal::Terminal;

/// The place a command writes to. Dropping it waits for the pager.
pub(crate) enum Output {
    /// Stdout.
    Stdout(BufWriter<io::Stdout>),
    /// A pager.
    Pager(Pager),
}

impl Output {
    /// Stdout, whoever reads it.
    pub(crate) fn stdout() -> Output {
        Output::Stdout(BufWriter::with_capacity(64 * 1024, io::stdout()))
    }

    /// A pager when stdout is a terminal, one is wanted and one can be started; else stdout.
    pub(crate) fn paged(terminal: &Terminal, no_pager: bool) -> Output {
        let pager = (terminal.is_terminal && !no_pager).then(Pager::start).flatten();
        pager.map_or_else(Output::stdout, Output::Pager)
    }

    /// Writes out what is left and waits for the reader.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Stdout(stdout) => stdout.write(bytes),
            Output::Pager(pager) => pager.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stdout(stdout) => stdout.flush(),
            Output::Pager(pager) => pager.flush(),
        }
    }
}

/// Writes values to stdout, one a line, at once.
pub(crate) fn print_lines(values: impl Iterator<Item = impl Display>) -> anyhow::Result<()> {
    let mut output = Output::stdout();
    for value in values {
        writeln!(output, "{value}")?;
    }
    Ok(output.finish()?)
}

/// True when the reader went away: no reason to complain, the user has seen enough.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
            || cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind)
                == Some(io::ErrorKind::BrokenPipe)
    })
}

/// Prints a remark on stderr. A stderr that is gone is nobody's concern.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
