//! A line that an agent appends to its file, until a socket has it, against the least that the system takes for each step.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use parlor_bench::house::Home;
use parlor_bench::ratio::{percentile, times};
use parlor_bench::socket::{Socket, number};
use rustix::fs::inotify;
use tokio::runtime::Runtime;

use crate::fan::{line, subscribe};
use crate::raw;

const LINES: u64 = 300;

/// Longer than the whole way takes, so that each line goes it alone. The floors rest as long: a processor that was idle is
/// slow at first.
const PACE: Duration = Duration::from_millis(20);

pub(crate) fn run(runtime: &Runtime) -> io::Result<()> {
    let filler = "So it goes on and on. ".repeat(85);
    let home = Home::new()?;
    std::fs::write(home.file("grows"), line(0, &filler))?;
    let house = home.open()?;
    let mut guest = runtime.block_on(subscribe(&house, "grows", "html", 1))?.remove(0);
    house.rest()?;
    let mut file = OpenOptions::new().append(true).open(home.file("grows"))?;
    let mut ours = Vec::new();
    for number in 1..=LINES {
        let begun = Instant::now();
        file.write_all(line(number as usize, &filler).as_bytes())?;
        runtime.block_on(until_total(&mut guest, number + 1))?;
        ours.push(begun.elapsed());
        std::thread::sleep(PACE);
    }
    drop(house);
    let mut seen = seen_by_inotify(&home.data().join("floor"), &filler)?;
    let mut commits = committed(&home.data().join("floor.db"), &filler)?;
    let mut sent = sent_over_loopback(runtime, filler.len())?;
    let floor =
        |share: f64, all: [&mut Vec<Duration>; 3]| all.into_iter().map(|one| percentile(one, share)).sum();
    let (p50, p99): (Duration, Duration) =
        (floor(0.5, [&mut seen, &mut commits, &mut sent]), floor(0.99, [&mut seen, &mut commits, &mut sent]));
    println!(
        "a line appended until a socket has it: p50 {:.2}x, p99 {:.2}x of inotify + commit + loopback (goal: p50 at most 2.5); p50 {:?}, p99 {:?}",
        times(percentile(&mut ours, 0.5), p50),
        times(percentile(&mut ours, 0.99), p99),
        percentile(&mut ours, 0.5),
        percentile(&mut ours, 0.99),
    );
    println!(
        "  floors, p50: inotify {:?}, commit {:?}, loopback {:?}",
        percentile(&mut seen, 0.5),
        percentile(&mut commits, 0.5),
        percentile(&mut sent, 0.5)
    );
    Ok(())
}

async fn until_total(socket: &mut Socket, total: u64) -> io::Result<()> {
    while number(socket.next().await?, "total") != Some(total) {}
    Ok(())
}

/// From an append until another thread, woken by inotify, has read it.
fn seen_by_inotify(path: &Path, filler: &str) -> io::Result<Vec<Duration>> {
    let mut file = File::create(path)?;
    let watch = inotify::init(inotify::CreateFlags::empty())?;
    inotify::add_watch(&watch, path, inotify::WatchFlags::MODIFY)?;
    let (tell, told) = std::sync::mpsc::channel();
    let mut reader = File::open(path)?;
    let reading = std::thread::spawn(move || -> io::Result<()> {
        let (mut events, mut bytes) = ([0_u8; 4_096], Vec::new());
        loop {
            if rustix::io::read(&watch, &mut events)? == 0 {
                return Ok(());
            }
            bytes.clear();
            if reader.read_to_end(&mut bytes)? > 0 && tell.send(Instant::now()).is_err() {
                return Ok(());
            }
        }
    });
    let mut took = Vec::new();
    for number in 0..LINES {
        let begun = Instant::now();
        file.write_all(line(number as usize, filler).as_bytes())?;
        let Ok(at) = told.recv() else { break };
        took.push(at - begun);
        std::thread::sleep(PACE);
    }
    drop(told);
    file.write_all(b"\n")?;
    let _ = reading.join();
    Ok(took)
}

/// One commit each, not synced.
fn committed(path: &Path, filler: &str) -> io::Result<Vec<Duration>> {
    let work = || -> rusqlite::Result<Vec<Duration>> {
        let connection = rusqlite::Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             CREATE TABLE record (place INTEGER PRIMARY KEY, body BLOB NOT NULL)",
        )?;
        let mut took = Vec::new();
        for number in 0..LINES as usize {
            let begun = Instant::now();
            let mut insert = connection.prepare_cached("INSERT INTO record (body) VALUES (?1)")?;
            insert.execute([line(number, filler).as_bytes()])?;
            took.push(begun.elapsed());
            std::thread::sleep(PACE);
        }
        Ok(took)
    };
    work().map_err(io::Error::other)
}

/// From a write on one end of a loopback connection until another thread, which waits on the other end, has the frame.
fn sent_over_loopback(runtime: &Runtime, bytes: usize) -> io::Result<Vec<Duration>> {
    let (mut writers, mut readers) = runtime.block_on(raw::pairs(1))?;
    let frame = parlor_bench::socket::frame(&vec![b'x'; bytes]);
    let writing = std::thread::spawn(move || -> io::Result<Vec<Instant>> {
        let mut begun = Vec::new();
        for _ in 0..LINES {
            std::thread::sleep(PACE);
            begun.push(Instant::now());
            writers[0].write_all(&frame)?;
        }
        Ok(begun)
    });
    let mut came = Vec::new();
    runtime.block_on(async {
        for _ in 0..LINES {
            readers[0].next().await?;
            came.push(Instant::now());
        }
        io::Result::Ok(())
    })?;
    let begun = writing.join().map_err(|_| io::Error::other("a panic"))??;
    Ok(came.iter().zip(begun).map(|(came, begun)| *came - begun).collect())
}
