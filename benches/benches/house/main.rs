//! A real house over real sockets, measured as ratios in one run. `cargo build --release && cargo bench -p parlor-bench
//! --bench house -- [replay|fan|paced|memory|stalled|follow|open|tree]`; without a word, all of them with little data.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark prints, reads the clock and starts programs"
)]

mod fan;
mod follow;
mod memory;
mod open;
mod raw;
mod replay;
mod tree;

use std::io;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> io::Result<()> {
    // `cargo test --all-targets` starts it too, and wants no figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    if wants("open") {
        open::run(&runtime)?;
    }
    if wants("follow") {
        follow::run(&runtime)?;
    }
    if wants("replay") {
        replay::run(&runtime)?;
    }
    if wants("fan") {
        runtime.block_on(fan::run())?;
    }
    if wants("paced") {
        runtime.block_on(fan::paced(1_000))?;
    }
    if wants("stalled") {
        runtime.block_on(fan::stalled())?;
    }
    if wants("memory") {
        runtime.block_on(memory::run())?;
    }
    if wants("tree") {
        tree::run()?;
    }
    Ok(())
}

/// A number from the environment: how much is measured.
fn amount(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
