//! Reads what an agent prints, line by line, and hands it over: never more than anyone takes, never a line without end,
//! never a turn without end. It does not understand the lines.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parlor_model::seen::{Level, Seen};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use crate::Said;
use crate::driver::Acts;
use crate::lines::{LINE_LIMIT, Line, Lines};
use crate::process::Engine;

/// The longest line of stderr that is kept whole.
const STDERR_LINE_LIMIT: usize = 1 << 20;
/// How much of what is said in one turn is kept.
const TURN_LIMIT: u64 = 256 << 20;
/// What a line costs besides its bytes: it becomes a record, perhaps an entry. Else a flood of empty lines had no limit.
const LINE_BYTES: u64 = 512;
/// After the agent's end its last words are in the pipe: a read that takes longer waits for somebody else.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// A pipe holds no more than this.
const LAST_WORDS_LIMIT: usize = 4 << 20;
/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pipe {
    /// The agent's lines.
    Stdout,
    /// Its warnings.
    Stderr,
}

/// Reads until the end of the pipe, or of the agent: a process that it left behind may hold the pipe open for ever.
pub(crate) async fn read(
    mut pipe: impl AsyncRead + Unpin,
    which: Pipe,
    engine: Arc<Engine>,
    said: Sender<Said>,
) {
    let mut lines = Lines::new(if which == Pipe::Stdout { LINE_LIMIT } else { STDERR_LINE_LIMIT });
    let mut buffer = vec![0; CHUNK];
    let (mut whole, mut last_words) = (Vec::new(), 0);
    loop {
        let read = if engine.state().dead {
            match timeout(LAST_WORDS, pipe.read(&mut buffer)).await {
                Ok(read) => read,
                Err(_) => break,
            }
        } else {
            tokio::select! {
                read = pipe.read(&mut buffer) => read,
                () = engine.died() => continue,
            }
        };
        let Ok(count @ 1..) = read else { break };
        if engine.state().dead {
            last_words += count;
            if last_words > LAST_WORDS_LIMIT {
                break;
            }
        }
        lines.push(&buffer[..count], &mut whole);
        for line in whole.drain(..) {
            forward(line, which, &engine, &said).await;
        }
    }
    if let Some(line) = lines.finish() {
        forward(line, which, &engine, &said).await;
    }
}

/// Hands a line over, and whatever the driver makes of it.
async fn forward(line: Line, which: Pipe, engine: &Engine, said: &Sender<Said>) {
    let is_readable = which == Pipe::Stdout && line.cut == 0;
    let mut acts = if is_readable { engine.saw(&line.bytes) } else { Acts::default() };
    let length = line.bytes.len() as u64 + LINE_BYTES;
    let before = engine.spoken.fetch_add(length, Ordering::Relaxed);
    if before + length <= TURN_LIMIT || acts.matters {
        let line = match which {
            Pipe::Stdout => Said::Line(line.bytes),
            Pipe::Stderr => Said::Stderr(line.bytes),
        };
        let _ = said.send(line).await;
    } else if before <= TURN_LIMIT {
        let (megabytes, lines) = (TURN_LIMIT >> 20, TURN_LIMIT / LINE_BYTES / 1000 * 1000);
        let text = format!(
            "The agent said more than {megabytes} MB or {lines} lines in this turn: the rest is left out"
        );
        let _ = said.send(Said::Seen(Seen::Note { level: Level::Warning, text })).await;
    }
    if line.cut > 0 {
        let text = format!("A line of the agent was too long: its last {} bytes are left out", line.cut);
        let _ = said.send(Said::Seen(Seen::Note { level: Level::Warning, text })).await;
    }
    if let Some(session) = acts.session.take() {
        let _ = said.send(Said::Session(session)).await;
    }
    for seen in acts.seen.drain(..) {
        let _ = said.send(Said::Seen(seen)).await;
    }
    engine.act(&mut acts);
    engine.sync();
}
