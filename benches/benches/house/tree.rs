//! Many sessions: how soon the list can be used and all can be found, what a restart takes, and what a search takes,
//! against ripgrep over the same files. `PARLOR_BENCH_TREE_MB` says how much; `PARLOR_BENCH_AGENTSVIEW` names an
//! agentsview to time beside it.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use parlor_bench::claude_session;
use parlor_bench::house::{Home, House};
use parlor_bench::ratio::{best, times};

use crate::amount;

/// A word that stands in one session alone, the oldest: it is made searchable last.
const NEEDLE: &str = "quetzalcoatlus";

pub(crate) fn run() -> io::Result<()> {
    let home = Home::new()?;
    let (files, bytes) = write(&home, amount("PARLOR_BENCH_TREE_MB", 200) * 1_000_000)?;
    println!("a tree of {files} sessions, {:.0} MB", bytes as f64 / 1e6);
    let begun = Instant::now();
    let house = home.open()?;
    let door = begun.elapsed();
    house.until("/api/sessions", |list| memchr::memmem::find(list, b"\"complete\":true").is_some())?;
    let listed = begun.elapsed();
    let found = |answer: &[u8]| memchr::memmem::find(answer, b"\"session\"").is_some();
    house.until(&format!("/api/search?q={NEEDLE}"), found)?;
    let searchable = begun.elapsed();
    house.rest()?;
    let memory = house.settled_memory()?;
    let speed = |time: Duration| bytes as f64 / time.as_secs_f64() / 1e6;
    println!(
        "cold: door {door:?}, list {listed:?} ({:.0} MB/s), text {searchable:?} ({:.0} MB/s)",
        speed(listed),
        speed(searchable)
    );
    println!(
        "index: {:.3}x of the files (goal: at most 0.25); memory after it {:.1} MB",
        size(&home.data())? as f64 / bytes as f64,
        memory as f64 / 1e6
    );
    drop(house);
    let again = best(3, || {
        let begun = Instant::now();
        let house = home.open()?;
        house.until("/api/sessions", |list| memchr::memmem::find(list, b"\"complete\":true").is_some())?;
        io::Result::Ok(begun.elapsed())
    })?;
    let house = home.open()?;
    house.rest()?;
    println!(
        "restart, nothing changed: list after {again:?}; idle house {:.1} MB (goal: at most 20)",
        house.settled_memory()? as f64 / 1e6
    );
    searches(&home, &house)?;
    peers(&home, listed, searchable)
}

fn searches(home: &Home, house: &House) -> io::Result<()> {
    for (what, query, pattern) in [
        ("a rare term", format!("q={NEEDLE}"), NEEDLE),
        ("a common term", "q=transcript".to_owned(), "transcript"),
        ("a rare substring", format!("kind=substring&q={}", &NEEDLE[2..]), &NEEDLE[2..]),
        ("a rare regex", "kind=regex&q=quetzal%5Ba-z%5D%2Btlus".to_owned(), "quetzal[a-z]+tlus"),
    ] {
        let path = format!("/api/search?limit=50&{query}");
        let ours = best(5, || {
            let begun = Instant::now();
            let answer = house.get(&path)?;
            assert!(memchr::memmem::find(&answer, b"\"session\"").is_some(), "{what}");
            io::Result::Ok(begun.elapsed())
        })?;
        match ripgrep(&home.sessions(), pattern)? {
            Some(theirs) => println!(
                "search, {what}: ripgrep takes {:.1}x as long (goal: at least 8 for substring and regex); {ours:?}",
                times(theirs, ours)
            ),
            None => println!("search, {what}: {ours:?}; no ripgrep to compare with"),
        }
    }
    Ok(())
}

fn ripgrep(folder: &Path, pattern: &str) -> io::Result<Option<Duration>> {
    let run = || {
        let begun = Instant::now();
        let status =
            Command::new("rg").args(["-j1", "-c", pattern]).arg(folder).stdout(Stdio::null()).status();
        status.map(|_| begun.elapsed())
    };
    match best(3, run) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        timed => timed.map(Some),
    }
}

/// agentsview's first look over the same files, where it is there.
fn peers(home: &Home, listed: Duration, searchable: Duration) -> io::Result<()> {
    let Some(program) = std::env::var_os("PARLOR_BENCH_AGENTSVIEW") else { return Ok(()) };
    let other = Home::new()?;
    let claude = home.sessions();
    let run = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).env("HOME", other.data());
        command.env("CLAUDE_PROJECTS_DIR", claude.parent().unwrap_or(&claude));
        command.stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    let begun = Instant::now();
    let status = run(&["sync"])?;
    let theirs = begun.elapsed();
    // The first sync leaves a server behind.
    run(&["serve", "stop"])?;
    println!(
        "agentsview's first sync ({theirs:?}, {status}): {:.1}x of our list (goal: at least 60), {:.1}x of our text (goal: at least 7)",
        times(theirs, listed),
        times(theirs, searchable)
    );
    Ok(())
}

/// Sessions of half a megabyte to ten, as they are; the first is the oldest.
fn write(home: &Home, total: u64) -> io::Result<(u64, u64)> {
    let (mut written, mut seed) = (0, 0);
    while written < total {
        seed += 1;
        let mut text = claude_session((seed % 10 * 1_000_000 + 500_000) as usize / 3, seed);
        if seed == 1 {
            text.extend_from_slice(crate::fan::line(0, NEEDLE).as_bytes());
        }
        written += text.len() as u64;
        std::fs::write(home.file(&format!("{seed:08x}-0000-4000-8000-000000000000")), text)?;
    }
    Ok((seed, written))
}

/// The files of the log and its indexes.
fn size(folder: &Path) -> io::Result<u64> {
    let mut size = 0;
    for file in std::fs::read_dir(folder)? {
        size += file?.metadata()?.len();
    }
    Ok(size)
}
