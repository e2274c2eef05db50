//! Many sessions: how soon the list can be used and all can be found, what a restart takes, and what a search takes,
//! against ripgrep over the same files. `PARLOR_BENCH_TREE_MB` says how much; `PARLOR_BENCH_AGENTSVIEW` names an
//! agentsview to time beside it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
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
    let searches = searches(&home, &house)?;
    drop(house);
    peers(&home, &Ours { listed, searchable, again, searches })
}

fn searches(home: &Home, house: &House) -> io::Result<Vec<(&'static str, Duration)>> {
    let mut all = Vec::new();
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
        all.push((what, ours));
    }
    Ok(all)
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

/// What ours took, to hold against another.
struct Ours {
    listed: Duration,
    searchable: Duration,
    again: Duration,
    searches: Vec<(&'static str, Duration)>,
}

/// The same of agentsview over the same files, where it is there.
fn peers(home: &Home, ours: &Ours) -> io::Result<()> {
    let Some(program) = std::env::var_os("PARLOR_BENCH_AGENTSVIEW") else { return Ok(()) };
    let other = Home::new()?;
    let claude = home.sessions();
    let command = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).env("HOME", other.data());
        command.env("CLAUDE_PROJECTS_DIR", claude.parent().unwrap_or(&claude));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let timed = |words: &[&str]| -> io::Result<Duration> {
        let begun = Instant::now();
        command(words).status()?;
        Ok(begun.elapsed())
    };
    let first = timed(&["sync"])?;
    println!(
        "agentsview's first sync ({first:?}): {:.1}x of our list (goal: at least 60), {:.1}x of our text (goal: at least 7)",
        times(first, ours.listed),
        times(first, ours.searchable)
    );
    let same = best(3, || timed(&["sync"]))?;
    // The first sync leaves a server behind.
    timed(&["serve", "stop"])?;
    let port = free_port()?;
    let begun = Instant::now();
    let mut server =
        command(&["serve", "--no-browser", "--no-update-check", "--port", &port.to_string()]).spawn()?;
    while !get(port, "/api/v1/sessions").is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200")) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let ready = begun.elapsed();
    println!(
        "agentsview with nothing changed: its sync ({same:?}) {:.0}x of our restart (goal: at least 20), its server ({ready:?}) {:.0}x (goal: at least 25)",
        times(same, ours.again),
        times(ready, ours.again)
    );
    for (what, path) in [
        ("a rare term", format!("search?limit=50&q={NEEDLE}")),
        ("a common term", "search?limit=50&q=transcript".to_owned()),
        ("a rare substring", format!("search/content?limit=50&pattern={}", &NEEDLE[2..])),
    ] {
        let theirs = best(5, || {
            let begun = Instant::now();
            get(port, &format!("/api/v1/{path}"))?;
            io::Result::Ok(begun.elapsed())
        })?;
        let mine =
            ours.searches.iter().find(|(name, _)| *name == what).map_or(Duration::MAX, |(_, time)| *time);
        println!(
            "search, {what}: agentsview takes {:.1}x as long (goal: at least 10 for terms, 8 for the rest); {theirs:?}",
            times(theirs, mine)
        );
    }
    server.kill()?;
    server.wait().map(drop)
}

fn free_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn get(port: u16, path: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
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
