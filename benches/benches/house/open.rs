//! The newest entries of a session that nobody has opened yet, by the size of its file.

use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parlor_bench::claude_session;
use parlor_bench::house::{Home, House};
use parlor_bench::ratio::{best, times};
use parlor_bench::socket::Socket;
use parlor_dialect::{Decoder, Format, Splitter};
use parlor_model::outline::Outline;
use parlor_render::{Context, Html, Options, entry_html};
use parlor_transcript::Transcript;
use tokio::runtime::Runtime;

use crate::amount;

const MEGABYTE: u64 = 1_000_000;
const TIMES: usize = 3;

pub(crate) fn run(runtime: &Runtime) -> io::Result<()> {
    let piece = Bytes::from(claude_session(300_000, 7));
    let reference = best::<io::Error>(20, || {
        let begun = Instant::now();
        assert!(render(&piece) > 0);
        Ok(begun.elapsed())
    })?;
    let largest = amount("PARLOR_BENCH_OPEN_MB", 1_000);
    let mut first = None;
    for size in [10, 100, 1_000].into_iter().filter(|size| *size <= largest) {
        let home = Home::new()?;
        write(&home, size * MEGABYTE)?;
        let house = home.open()?;
        house.until("/api/sessions", |list| memchr::memmem::find(list, b"\"id\":\"large\"").is_some())?;
        let opened = opened(runtime, &home, house)?;
        let base = *first.get_or_insert(opened.shown);
        println!(
            "newest 100 entries of {size} MB: {:.2}x of 10 MB (goal: at most 1.2), {:.1}x of rendering 300 KB (goal: at most 2); {:?}; whole after {:?}, {:.2}x of the file in memory",
            times(opened.shown, base),
            times(opened.shown, reference),
            opened.shown,
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

/// Opens the session in houses that have not opened it, and takes the best.
fn opened(runtime: &Runtime, home: &Home, first: House) -> io::Result<Opened> {
    first.rest()?;
    let mut house = first;
    let mut all = Opened { shown: Duration::MAX, whole: Duration::MAX, memory: 0 };
    for round in 0..TIMES {
        if round > 0 {
            drop(house);
            house = home.open()?;
            house.rest()?;
        }
        let before = house.memory()?;
        let mut socket = runtime.block_on(Socket::open(house.port, &house.token))?;
        let begun = Instant::now();
        let shown = runtime.block_on(async {
            socket.send(r#"{"type":"subscribe","ref":1,"session":"large","window":100}"#).await?;
            while !socket.next().await?.starts_with(b"{\"type\":\"entries\"") {}
            io::Result::Ok(begun.elapsed())
        })?;
        house.get("/api/sessions/large/records?count=1")?;
        let whole = begun.elapsed();
        all.shown = all.shown.min(shown);
        all.whole = all.whole.min(whole);
        // The first house has made the session searchable before, and uses that memory again.
        all.memory = house.memory()?.saturating_sub(before);
    }
    Ok(all)
}

/// Files of many seeds one after the other, since one generator's text would not vary for a gigabyte.
fn write(home: &Home, size: u64) -> io::Result<()> {
    let mut file = File::create(home.file("large"))?;
    let mut written = 0;
    for seed in 1.. {
        let piece = claude_session((size - written).min(50 * MEGABYTE) as usize, seed);
        file.write_all(&piece)?;
        written += piece.len() as u64;
        if written >= size {
            break;
        }
    }
    Ok(())
}

fn render(bytes: &Bytes) -> usize {
    let mut decoder = Decoder::new(Some(Format::ClaudeSession));
    let (mut transcript, mut events) = (Transcript::default(), Vec::new());
    for (seq, line) in (0..).zip(Splitter::split(bytes)) {
        let reading = decoder.read(&line, &mut events);
        transcript.fold(seq, &line, &reading, events.drain(..));
    }
    let entries = transcript.entries();
    let outline = Outline::of(entries);
    let options = Options::default();
    let context = Context { session: transcript.session(), entries, outline: &outline, options: &options };
    let mut html = Html::with_capacity(1 << 20);
    for index in outline.roots() {
        entry_html::entry(&context, index, &mut html);
    }
    html.into_string().len()
}
