//! One session, many sockets: how much is delivered, how late, and what one who does not read does to the others.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use parlor_bench::claude_session;
use parlor_bench::house::{Home, House};
use parlor_bench::ratio::{percentile, times};
use parlor_bench::socket::{Socket, number};
use tokio::task::JoinSet;

use crate::{amount, raw};

const MESSAGES: usize = 2_000;
const PACE: Duration = Duration::from_millis(50);
const PACED: u64 = 100;

/// Each figure is the best of so many.
const ROUNDS: usize = 3;

pub(crate) async fn run() -> io::Result<()> {
    for sockets in [1_000, amount("PARLOR_BENCH_SOCKETS", 5_000) as usize] {
        backlog(sockets).await?;
    }
    Ok(())
}

/// Lines that come at once, to sockets that are there already.
async fn backlog(sockets: usize) -> io::Result<()> {
    let (mut ours, mut bare, mut cpu) = (Duration::MAX, Duration::MAX, Duration::MAX);
    // In turns, so that a busy neighbour disturbs both alike.
    for _ in 0..ROUNDS {
        let (took, used) = house_backlog(sockets).await?;
        (ours, cpu) = (ours.min(took), cpu.min(used));
        bare = bare.min(raw_backlog(sockets).await?);
    }
    let deliveries = (sockets * MESSAGES) as f64;
    println!(
        "fan-out, {sockets} sockets, {MESSAGES} lines at once: {:.2}x of a raw batched loop (goal: at least 0.7); {:.2} M/s, {:.2} µs of processor each",
        times(bare, ours),
        deliveries / ours.as_secs_f64() / 1e6,
        cpu.as_secs_f64() * 1e6 / deliveries,
    );
    Ok(())
}

async fn house_backlog(sockets: usize) -> io::Result<(Duration, Duration)> {
    let home = Home::new()?;
    let path = home.file("fan");
    write_lines(&path, 0..1, "")?;
    let house = home.open()?;
    let guests = subscribe(&house, "fan", "raw", sockets).await?;
    let cpu = house.cpu()?;
    let begun = Instant::now();
    let mut reading = read_until(guests, MESSAGES as u64);
    write_lines(&path, 1..MESSAGES + 1, "")?;
    while reading.join_next().await.is_some() {}
    Ok((begun.elapsed(), house.cpu()? - cpu))
}

async fn raw_backlog(sockets: usize) -> io::Result<Duration> {
    let (mut writers, readers) = raw::pairs(sockets).await?;
    let begun = Instant::now();
    let mut reading = read_until(readers, 0);
    let writing =
        std::thread::spawn(move || raw::write_batches(&mut writers, MESSAGES, 200).map(|()| writers));
    while reading.join_next().await.is_some() {}
    let took = begun.elapsed();
    drop(writing.join());
    Ok(took)
}

/// Lines that come one by one.
pub(crate) async fn paced(sockets: usize) -> io::Result<()> {
    let (mut ours, mut bare, mut cpu) = ([Duration::MAX; 2], [Duration::MAX; 2], Duration::MAX);
    for _ in 0..ROUNDS {
        let (mut late, used) = house_paced(sockets, PACE, Stuck::Nobody).await?;
        ours = least(ours, &mut late);
        cpu = cpu.min(used);
        bare = least(bare, &mut raw_paced(sockets).await?);
    }
    println!(
        "fan-out, {sockets} sockets, {} lines a second: p50 {:.2}x, p99 {:.2}x of a raw write loop (goals: at most 1.2 and 1.5); {:.1} µs of processor each; p50 and p99 {ours:.1?}, raw {bare:.1?}",
        1_000 / PACE.as_millis(),
        times(ours[0], bare[0]),
        times(ours[1], bare[1]),
        cpu.as_secs_f64() * 1e6 / (sockets as f64 * PACED as f64),
    );
    Ok(())
}

async fn raw_paced(sockets: usize) -> io::Result<Vec<Duration>> {
    let (mut writers, readers) = raw::pairs(sockets).await?;
    let reading = read_times(readers, 0, PACED);
    let writing = tokio::task::spawn_blocking(move || {
        raw::write_paced(&mut writers, PACED, PACE, 700).map(|at| (at, writers))
    });
    let (at, _writers) = writing.await.map_err(io::Error::other)??;
    Ok(late(reading, &at).await)
}

/// The least p50 and p99 that any round had: what a neighbour adds is nobody's.
fn least(known: [Duration; 2], late: &mut [Duration]) -> [Duration; 2] {
    [known[0].min(percentile(late, 0.5)), known[1].min(percentile(late, 0.99))]
}

/// One socket that reads nothing, among others.
pub(crate) async fn stalled() -> io::Result<()> {
    let sockets = amount("PARLOR_BENCH_SOCKETS", 5_000) as usize;
    // As many deliveries a second as 1,000 sockets have with the usual pace.
    let pace = PACE * (sockets / 1_000).max(1) as u32;
    let (mut with, mut without) = ([Duration::MAX; 2], [Duration::MAX; 2]);
    for _ in 0..ROUNDS {
        without = least(without, &mut house_paced(sockets, pace, Stuck::Nobody).await?.0);
        with = least(with, &mut house_paced(sockets, pace, Stuck::One).await?.0);
    }
    println!(
        "{sockets} sockets, one of them stalled: p50 {:.2}x, p99 {:.2}x of the same without (goal: at most 1.1)",
        times(with[0], without[0]),
        times(with[1], without[1]),
    );
    Ok(())
}

/// Whether somebody does not read.
#[derive(Clone, Copy, PartialEq)]
enum Stuck {
    Nobody,
    One,
}

async fn house_paced(sockets: usize, pace: Duration, stuck: Stuck) -> io::Result<(Vec<Duration>, Duration)> {
    let home = Home::new()?;
    let path = home.file("fan");
    write_lines(&path, 0..1, "")?;
    // More than any buffer on the way holds, so that the one who does not read is really stuck.
    std::fs::write(home.file("long"), claude_session(20_000_000, 3))?;
    let house = home.open()?;
    let guests = subscribe(&house, "fan", "html", sockets).await?;
    let mut idler = Socket::open_with(house.port, &house.token, Some(4 << 10)).await?;
    if stuck == Stuck::One {
        for session in ["fan\"", "long\",\"profile\":\"records\""] {
            idler.send(&format!("{{\"type\":\"subscribe\",\"ref\":1,\"session\":\"{session}}}")).await?;
        }
    }
    house.rest()?;
    let cpu = house.cpu()?;
    let reading = read_times(guests, 1, PACED + 1);
    let at = tokio::task::spawn_blocking(move || -> io::Result<Vec<Instant>> {
        let mut file = OpenOptions::new().append(true).open(&path)?;
        let begun = Instant::now();
        let mut at = Vec::new();
        for number in 1..=PACED as usize {
            std::thread::sleep((begun + pace * number as u32).saturating_duration_since(Instant::now()));
            let line = line(number, "");
            at.push(Instant::now());
            file.write_all(line.as_bytes())?;
        }
        Ok(at)
    });
    let at = at.await.map_err(io::Error::other)??;
    let late = late(reading, &at).await;
    Ok((late, house.cpu()? - cpu))
}

/// How late each frame was, over all sockets. State that was overtaken by newer state came with the newer one.
async fn late(mut reading: JoinSet<Vec<(u64, Instant)>>, at: &[Instant]) -> Vec<Duration> {
    let mut late = Vec::new();
    while let Some(Ok(came)) = reading.join_next().await {
        let mut next = 0;
        for (number, when) in came {
            while next < number && (next as usize) < at.len() {
                late.push(when.saturating_duration_since(at[next as usize]));
                next += 1;
            }
        }
    }
    late
}

/// Reads on every socket until its frames say `"seq":end`.
fn read_until(sockets: Vec<Socket>, end: u64) -> JoinSet<()> {
    let mut reading = JoinSet::new();
    for mut socket in sockets {
        reading.spawn(async move {
            while let Ok(frame) = socket.next().await {
                if number(frame, "seq") == Some(end) {
                    return;
                }
            }
        });
    }
    reading
}

/// Reads on every socket until its frames say `"total":end`, and notes when each number after `first` came.
fn read_times(sockets: Vec<Socket>, first: u64, end: u64) -> JoinSet<Vec<(u64, Instant)>> {
    let mut reading = JoinSet::new();
    for mut socket in sockets {
        reading.spawn(async move {
            let mut came = Vec::new();
            while let Ok(frame) = socket.next().await {
                let Some(total) = number(frame, "total") else { continue };
                came.push((total - first, Instant::now()));
                if total == end {
                    break;
                }
            }
            came
        });
    }
    reading
}

/// Sockets that follow a session and have all that is there.
pub(crate) async fn subscribe(
    house: &House,
    session: &str,
    profile: &str,
    count: usize,
) -> io::Result<Vec<Socket>> {
    let mut sockets = Vec::with_capacity(count);
    for _ in 0..count {
        let mut socket = Socket::open(house.port, &house.token).await?;
        let ask = format!(r#"{{"type":"subscribe","ref":1,"session":"{session}","profile":"{profile}"}}"#);
        socket.send(&ask).await?;
        loop {
            let frame = socket.next().await?;
            if frame.starts_with(b"{\"type\":\"entries\"") || frame.starts_with(b"{\"type\":\"messages\"") {
                break;
            }
            if frame.starts_with(b"{\"type\":\"error\"") {
                return Err(io::Error::other(String::from_utf8_lossy(frame).into_owned()));
            }
        }
        sockets.push(socket);
    }
    Ok(sockets)
}

fn write_lines(path: &Path, numbers: std::ops::Range<usize>, filler: &str) -> io::Result<()> {
    let text: String = numbers.map(|number| line(number, filler)).collect();
    let mut file: File = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// A reply of about 200 bytes, and the filler.
pub(crate) fn line(number: usize, filler: &str) -> String {
    format!(
        "{{\"type\":\"assistant\",\"uuid\":\"u{number}\",\"sessionId\":\"fan\",\"message\":{{\"id\":\"m{number}\",\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"Line {number} has been written here. {filler}\"}}]}}}}\n"
    )
}
