//! The pager: a program that a person reads long output with. The only place that starts a program.
#![allow(clippy::disallowed_methods, reason = "the shell starts the person's pager")]

use std::io::{self, BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// What is used when nobody chose a pager.
const DEFAULT: &str = "less -R";

/// A running pager. Dropping it closes its input and waits until the person has left it.
pub(crate) struct Pager {
    input: Option<BufWriter<ChildStdin>>,
    child: Child,
}

impl Pager {
    /// Starts the person's pager. `None` when none is wanted or none can be started: stdout does then.
    pub(crate) fn start() -> Option<Pager> {
        let chosen = ["PARLOR_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
        let command = chosen.unwrap_or_else(|| DEFAULT.to_owned());
        let mut words = command.split_whitespace();
        let program = words.next().filter(|program| *program != "cat")?;
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // Leave at once when all fits on one screen, show colours, leave the screen as it is.
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn().ok()?;
        ignore_interrupts();
        let input = child.stdin.take().map(|input| BufWriter::with_capacity(64 * 1024, input));
        Some(Pager { input, child })
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.input.as_mut().map_or(Ok(bytes.len()), |input| input.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.input.take();
        let _ = self.child.wait();
    }
}

/// Ctrl-C in the pager stops a search there; it must not take the terminal away from it.
#[cfg(unix)]
fn ignore_interrupts() {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, flag);
}

#[cfg(not(unix))]
fn ignore_interrupts() {}
