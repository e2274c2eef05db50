//! Writes a session to stdout: `make-session BYTES SEED`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (size, seed) = (arguments.next().unwrap_or(10_000_000), arguments.next().unwrap_or(1));
    std::io::stdout().write_all(&parlor_bench::claude_session(size as usize, seed))
}
