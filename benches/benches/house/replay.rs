//! A whole session of the log over one socket, against a bare scan of the same rows and a raw loop that writes as much.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parlor_bench::claude_session;
use parlor_bench::house::{Home, House};
use parlor_bench::ratio::{best, times};
use parlor_bench::socket::{Socket, number};
use parlor_dialect::Splitter;
use parlor_model::order::Mode;
use parlor_model::record::Origin;
use parlor_model::seen::Seen;
use parlor_model::time::Time;
use parlor_store::{Created, Draft, Safety, Store};
use tokio::runtime::Runtime;

use crate::fan::line;
use crate::raw;

pub(crate) fn run(runtime: &Runtime) -> io::Result<()> {
    let small = (0..100_000).map(|number| line(number, "")).collect::<String>();
    for (what, bytes) in [("200-byte records", small.into_bytes()), ("a talk", claude_session(60_000_000, 5))]
    {
        one(runtime, what, &Bytes::from(bytes))?;
    }
    Ok(())
}

fn one(runtime: &Runtime, what: &str, bytes: &Bytes) -> io::Result<()> {
    let home = Home::new()?;
    let records = fill(&home.data(), bytes).map_err(io::Error::other)?;
    let scan = best(3, || scan(&home.data().join("log.db")))?;
    let (mut writers, mut readers) = runtime.block_on(raw::pairs(1))?;
    let size = bytes.len() / records;
    let written = best(3, || {
        let begun = Instant::now();
        let mut writer = writers[0].try_clone()?;
        let writing =
            std::thread::spawn(move || raw::write_batches(std::slice::from_mut(&mut writer), records, size));
        runtime.block_on(async {
            while number(readers[0].next().await?, "seq") != Some(0) {}
            io::Result::Ok(())
        })?;
        let _ = writing.join();
        io::Result::Ok(begun.elapsed())
    })?;
    writers.clear();
    for profile in ["records", "raw", "events"] {
        let house = home.open()?;
        house.rest()?;
        let first = replay(runtime, &house, profile, records)?;
        // Somebody keeps it open, so that the next ones find it read.
        let mut guest = runtime.block_on(Socket::open(house.port, &house.token))?;
        runtime.block_on(ask(&mut guest, profile))?;
        runtime.block_on(async { guest.next().await.map(drop) })?;
        let again = best(3, || replay(runtime, &house, profile, records))?;
        println!(
            "replay of {what} ({size} bytes) as {profile}: first {:.2}x of a bare scan, {:.2}x of a raw loop; again {:.2}x of a raw loop (goal: at least 0.4); {:.0} records/s",
            times(scan, first),
            times(written, first),
            times(written, again),
            records as f64 / again.as_secs_f64(),
        );
    }
    Ok(())
}

/// Writes a log as the house would.
fn fill(data: &Path, bytes: &Bytes) -> Result<usize, parlor_store::StoreError> {
    let store = Store::open(data)?;
    store.create(&Created { id: "replay".into(), agent: "claude".into(), cwd: "/".into(), at: Time(0) })?;
    let draft = |origin, body| Draft { at: Time(0), origin, body };
    let host = |seen: &Seen| draft(Origin::Host, serde_json::to_vec(seen).unwrap_or_default().into());
    let mut drafts = vec![
        host(&Seen::Created { agent: "claude".into(), cwd: "/".into(), model: None, mode: Mode::Ask }),
        host(&Seen::Imported {
            format: "claude-session".into(),
            path: "/nowhere".into(),
            session: "fan".into(),
            from: 0,
        }),
    ];
    drafts.extend(Splitter::split(bytes).map(|line| draft(Origin::Agent, line.bytes().clone())));
    let count = drafts.len();
    for chunk in drafts.chunks(1_000) {
        store.append("replay", chunk.to_vec(), Safety::Soon).wait()?;
    }
    Ok(count)
}

fn scan(path: &Path) -> io::Result<Duration> {
    let work = || -> rusqlite::Result<Duration> {
        let connection = rusqlite::Connection::open(path)?;
        let begun = Instant::now();
        let mut statement =
            connection.prepare("SELECT place, at, origin, body FROM record ORDER BY place")?;
        let mut rows = statement.query([])?;
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            bytes += row.get_ref(3)?.as_blob()?.len();
        }
        assert!(bytes > 0);
        Ok(begun.elapsed())
    };
    work().map_err(io::Error::other)
}

fn replay(runtime: &Runtime, house: &House, profile: &str, records: usize) -> io::Result<Duration> {
    let mut socket = runtime.block_on(Socket::open(house.port, &house.token))?;
    let begun = Instant::now();
    runtime.block_on(async {
        ask(&mut socket, profile).await?;
        while number(socket.next().await?, "seq") != Some(records as u64 - 1) {}
        Ok(begun.elapsed())
    })
}

async fn ask(socket: &mut Socket, profile: &str) -> io::Result<()> {
    let ask = format!(r#"{{"type":"subscribe","ref":1,"session":"replay","profile":"{profile}"}}"#);
    socket.send(&ask).await
}
