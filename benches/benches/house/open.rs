//! The newest entries of a session that nobody has opened yet, by the size of its file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parlor_bench::claude_session;
use parlor_bench::house::{Home, House};
use parlor_bench::ratio::{percentile, times};
use parlor_bench::socket::Socket;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_model::outline::Outline;
use parlor_render::{Context, Html, Options, entry_html};
use parlor_transcript::Transcript;
use tokio::runtime::Runtime;

use crate::amount;

const MEGABYTE: u64 = 1_000_000;
const TIMES: usize = 7;
const ENTRIES: usize = 100;

/// At least as long as a house rests ([`House::rest`]).
const REST: Duration = Duration::from_millis(1_200);

/// Sessions that are opened before, as in a house that somebody uses: then its code is in memory.
const BEFORE: usize = 4;

pub(crate) fn run(runtime: &Runtime) -> io::Result<()> {
    let largest = amount("PARLOR_BENCH_OPEN_MB", 1_000);
    let mut first = None;
    for size in [10, 100, 1_000].into_iter().filter(|size| *size <= largest) {
        let home = Home::new()?;
        write(&home, "large", size * MEGABYTE, 1)?;
        for number in 0..BEFORE {
            write(&home, &format!("before{number}"), 5 * MEGABYTE, 100 + number as u64)?;
        }
        let reference = rendered(&home)?;
        let opened = opened(runtime, &home)?;
        let base = *first.get_or_insert(opened.shown);
        println!(
            "newest {ENTRIES} entries of {size} MB: {:.2}x of 10 MB (goal: at most 1.2), {:.1}x of rendering them alone (goal: at most 2); {:?} and {:?}; whole after {:?}, {:.2}x of the file in memory",
            times(opened.shown, base),
            times(opened.shown, reference),
            opened.shown,
            reference,
            opened.whole,
            opened.memory as f64 / (size * MEGABYTE) as f64,
        );
    }
    Ok(())
}

struct Opened {
    /// Until the newest entries were there.
    shown: Duration,
    /// Until all of the file was read.
    whole: Duration,
    memory: u64,
}

/// Opens the session in houses that have not opened it, and takes the median.
fn opened(runtime: &Runtime, home: &Home) -> io::Result<Opened> {
    let (mut shown, mut whole, mut memory) = (Vec::new(), Vec::new(), 0);
    for _ in 0..TIMES {
        let house = home.open()?;
        house.until("/api/sessions", |list| memchr::memmem::find(list, b"\"id\":\"large\"").is_some())?;
        house.rest()?;
        for number in 0..BEFORE {
            open(runtime, &house, &format!("before{number}"))?;
        }
        house.rest()?;
        let before = house.memory()?;
        let begun = Instant::now();
        shown.push(open(runtime, &house, "large")?);
        house.get("/api/sessions/large/records?count=1")?;
        whole.push(begun.elapsed());
        // The first house has made the session searchable before, and uses that memory again.
        memory = house.memory()?.saturating_sub(before);
    }
    Ok(Opened { shown: percentile(&mut shown, 0.5), whole: percentile(&mut whole, 0.5), memory })
}

fn open(runtime: &Runtime, house: &House, session: &str) -> io::Result<Duration> {
    let mut socket = runtime.block_on(Socket::open(house.port, &house.token))?;
    let ask = format!(r#"{{"type":"subscribe","ref":1,"session":"{session}","window":{ENTRIES}}}"#);
    let begun = Instant::now();
    runtime.block_on(async {
        socket.send(&ask).await?;
        while !socket.next().await?.starts_with(b"{\"type\":\"entries\"") {}
        Ok(begun.elapsed())
    })
}

/// The same work without a house, on the same sessions in the same order, after the same rests: a processor that was idle is
/// slow at first. The last lines of a file are read, folded and rendered, by a new thread.
fn rendered(home: &Home) -> io::Result<Duration> {
    let before = (0..BEFORE).map(|number| format!("before{number}"));
    let ends: Vec<(PathBuf, u64)> = before
        .chain(["large".to_owned()])
        .map(|session| end_of(home.file(&session)))
        .collect::<io::Result<_>>()?;
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let mut last = Duration::ZERO;
        for (number, (path, start)) in ends.iter().cloned().enumerate() {
            let rest = if number == 0 || number == BEFORE { REST } else { Duration::ZERO };
            let work = move || {
                std::thread::sleep(rest);
                // Memory that was freed before the rest goes back to the system now, and not within the work.
                drop(std::hint::black_box(Vec::<u8>::with_capacity(16 << 20)));
                let begun = Instant::now();
                let mut file = File::open(&path)?;
                file.seek(SeekFrom::Start(start))?;
                let mut lines = Vec::new();
                file.read_to_end(&mut lines)?;
                assert!(render(&Bytes::from(lines)) > 0);
                io::Result::Ok(begun.elapsed())
            };
            last = std::thread::spawn(work).join().map_err(|_| io::Error::other("a panic"))??;
        }
        times.push(last);
    }
    Ok(percentile(&mut times, 0.5))
}

/// A file, and where its last lines begin that hold the newest entries.
fn end_of(path: PathBuf) -> io::Result<(PathBuf, u64)> {
    let mut file = File::open(&path)?;
    let size = file.metadata()?.len();
    let from = size.saturating_sub(4 * MEGABYTE);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let end = Bytes::from(end);
    let starts: Vec<usize> = memchr::memchr_iter(b'\n', &end).map(|end| end + 1).collect();
    let start_of = |lines: usize| starts[starts.len() - 1 - lines];
    let enough = |lines: &usize| fold(&end.slice(start_of(*lines)..)).1.roots().count() >= ENTRIES;
    let start = start_of((1..starts.len()).find(enough).unwrap_or(starts.len() - 1));
    Ok((path, from + start as u64))
}

/// Files of many seeds one after the other, since one generator's text would not vary for a gigabyte.
fn write(home: &Home, session: &str, size: u64, first: u64) -> io::Result<()> {
    let mut file = File::create(home.file(session))?;
    let mut written = 0;
    for seed in first.. {
        let piece = claude_session((size - written).min(50 * MEGABYTE) as usize, seed);
        file.write_all(&piece)?;
        written += piece.len() as u64;
        if written >= size {
            break;
        }
    }
    Ok(())
}

fn fold(bytes: &Bytes) -> (Transcript, Outline) {
    let mut decoder = Decoder::new(Some(Format::ClaudeSession));
    let (mut transcript, mut events) = (Transcript::default(), Vec::new());
    for (seq, line) in (0..).zip(Splitter::split(bytes)) {
        let reading = decoder.read(&line, &mut events);
        transcript.fold(seq, &line, &reading, events.drain(..));
    }
    let outline = Outline::of(transcript.entries());
    (transcript, outline)
}

fn render(bytes: &Bytes) -> usize {
    let (transcript, outline) = fold(bytes);
    let (session, entries) = (transcript.session(), transcript.entries());
    let options = Options::default();
    let context = Context { session, entries, outline: &outline, options: &options };
    let mut html = Html::with_capacity(1 << 20);
    let roots: Vec<usize> = outline.roots().collect();
    for index in roots[roots.len().saturating_sub(ENTRIES)..].iter().copied() {
        entry_html::entry(&context, index, &mut html);
    }
    html.into_string().len()
}
