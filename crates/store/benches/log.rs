//! Measures the log against the bare engine under it, in one run and on one disk: only the ratios mean something.
//!
//! `cargo bench -p parlor-store [--bench log -- batches|durable|lone|read]`; without a word, all of them. Each figure is the
//! best of five.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, prints, and may panic"
)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parlor_model::record::Origin;
use parlor_model::time::Time;
use parlor_store::{Created, Draft, Safety, Store};
use rusqlite::{Connection, params};

const ROWS: usize = 20_000;
const BATCH: usize = 1000;
const PRODUCERS: usize = 64;
const PER_PRODUCER: usize = 150;
const LONE: usize = 400;

fn main() {
    // `cargo test --all-targets` starts it too, and wants no figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let bodies = bodies();
    let bytes: usize = bodies.iter().map(Bytes::len).sum();
    println!("{ROWS} records, {} bytes each on average; best of five", bytes / ROWS);

    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if wants("batches") {
        batches(&bodies);
    }
    if wants("durable") {
        durable(&bodies[..PRODUCERS * PER_PRODUCER]);
    }
    if wants("lone") {
        let (ours, bare, sqlite) = lone(&bodies);
        println!("one durable append, median: {ours:?}; bare fdatasync: {bare:?}; bare SQLite: {sqlite:?}");
        ratio("one durable append / fdatasync (goal: at most 1.3)", ours, bare);
        ratio("one durable append / bare SQLite", ours, sqlite);
    }
    if wants("read") {
        let (ours, bare) = read(&bodies);
        report("read, pages of 1000", ROWS, ours);
        report("  bare scan", ROWS, bare);
        ratio("read / bare (goal: at least 0.5)", bare, ours);
    }
}

fn batches(bodies: &[Bytes]) {
    let [ours, raw, small] = best([
        &mut || append_batched(bodies),
        &mut || raw_append(bodies, 16384, "NORMAL", BATCH, 1),
        &mut || raw_append(bodies, 4096, "NORMAL", BATCH, 1),
    ]);
    report("append, batches of 1000", ROWS, ours);
    report("  bare SQLite, 16 KB pages", ROWS, raw);
    report("  bare SQLite, 4 KB pages", ROWS, small);
    ratio("append / bare (goal: at least 0.8)", raw, ours);
    ratio("append / bare with 4 KB pages (goal: at least 1.7)", small, ours);
}

fn durable(bodies: &[Bytes]) {
    for sessions in [1, PRODUCERS] {
        // No group of ours can be larger than there are producers, who all wait for it.
        let [raw, equal, ours] = best([
            &mut || raw_append(bodies, 16384, "FULL", 100, sessions),
            &mut || raw_append(bodies, 16384, "FULL", PRODUCERS, sessions),
            &mut || append_durably(bodies, sessions),
        ]);
        report(&format!("durable, {PRODUCERS} producers, {sessions} sessions"), bodies.len(), ours);
        report("  bare SQLite, batches of 100", bodies.len(), raw);
        ratio("  durable / bare (goal: at least 0.7)", raw, ours);
        ratio(&format!("  durable / bare in batches of {PRODUCERS}"), equal, ours);
    }
}

/// Bodies of 0.3 to 4 KB, always the same.
fn bodies() -> Vec<Bytes> {
    let mut random = 1_u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random >> 33
    };
    (0..ROWS)
        .map(|_| {
            let length = 300 + next() as usize % 3700;
            (0..length).map(|index| b' ' + ((next() as usize ^ index) % 90) as u8).collect()
        })
        .collect()
}

fn append_batched(bodies: &[Bytes]) -> Duration {
    let (_folder, store) = store(1);
    let batches: Vec<Vec<Draft>> =
        bodies.chunks(BATCH).map(|chunk| chunk.iter().map(|body| draft(body.clone())).collect()).collect();
    let start = Instant::now();
    let tickets: Vec<_> = batches.into_iter().map(|drafts| store.append("0", drafts, Safety::Soon)).collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    start.elapsed()
}

/// Producers that each wait for their last append before the next one: tasks, as the sessions of a house are.
fn append_durably(bodies: &[Bytes], sessions: usize) -> Duration {
    let (_folder, store) = store(sessions);
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let start = Instant::now();
    let produce = |(producer, chunk): (usize, &[Bytes])| {
        let (store, session, chunk) = (store.clone(), (producer % sessions).to_string(), chunk.to_vec());
        runtime.spawn(async move {
            for body in chunk {
                let (done, told) = tokio::sync::oneshot::channel();
                let ticket = store.append(&session, vec![draft(body)], Safety::Durable);
                ticket.on_done(Box::new(move |outcome| done.send(outcome).unwrap()));
                told.await.unwrap().unwrap();
            }
        })
    };
    let producers: Vec<_> = bodies.chunks(PER_PRODUCER).enumerate().map(produce).collect();
    for producer in producers {
        runtime.block_on(producer).unwrap();
    }
    start.elapsed()
}

/// The records of a session lie side by side, as in the log: many sessions at once write many pages.
fn raw_append(bodies: &[Bytes], page: u32, synchronous: &str, batch: usize, sessions: usize) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let connection = raw(&folder.path().join("raw.db"), page, synchronous);
    let start = Instant::now();
    let mut count = 0;
    for chunk in bodies.chunks(batch) {
        connection.execute_batch("BEGIN").unwrap();
        let mut insert = connection.prepare_cached("INSERT INTO record VALUES (?1, ?2, ?3, ?4)").unwrap();
        for body in chunk {
            let place = ((count % sessions) << 40 | (count / sessions)) as i64;
            insert.execute(params![place, 0, 0, &body[..]]).unwrap();
            count += 1;
        }
        connection.execute_batch("COMMIT").unwrap();
    }
    start.elapsed()
}

/// The medians of one append at a time: ours, a bare file's, and bare SQLite's, taken in turns.
fn lone(bodies: &[Bytes]) -> (Duration, Duration, Duration) {
    let (folder, store) = store(1);
    let mut file = File::create(folder.path().join("bare")).unwrap();
    let connection = raw(&folder.path().join("raw.db"), 16384, "FULL");
    // Both logs are written over from their beginning once they were full, which is how they are most of the time.
    let warm: Vec<Draft> = bodies.iter().map(|body| draft(body.clone())).collect();
    store.append("0", warm, Safety::Soon).wait().unwrap();
    let _ = store.append("0", vec![draft(Bytes::new())], Safety::Soon).wait().unwrap();
    connection.execute_batch("BEGIN").unwrap();
    for (place, body) in (-(ROWS as i64)..).zip(bodies) {
        let mut insert = connection.prepare_cached("INSERT INTO record VALUES (?1, 0, 0, ?2)").unwrap();
        insert.execute(params![place, &body[..]]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for (place, body) in bodies.iter().take(LONE).enumerate() {
        let start = Instant::now();
        store.append("0", vec![draft(body.clone())], Safety::Durable).wait().unwrap();
        times[0].push(start.elapsed());
        let start = Instant::now();
        file.write_all(body).unwrap();
        file.sync_data().unwrap();
        times[1].push(start.elapsed());
        let start = Instant::now();
        let mut insert = connection.prepare_cached("INSERT INTO record VALUES (?1, ?2, ?3, ?4)").unwrap();
        insert.execute(params![place as i64, 0, 0, &body[..]]).unwrap();
        times[2].push(start.elapsed());
    }
    let [ours, bare, sqlite] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    (ours, bare, sqlite)
}

fn read(bodies: &[Bytes]) -> (Duration, Duration) {
    let (folder, store) = store(1);
    let drafts = bodies.iter().map(|body| draft(body.clone())).collect();
    store.append("0", drafts, Safety::Soon).wait().unwrap();
    let expected: usize = bodies.iter().map(Bytes::len).sum();
    let mut ours = || {
        let start = Instant::now();
        let (mut from, mut bytes) = (0, 0);
        loop {
            let records = store.read("0", from, 1000).unwrap();
            if records.is_empty() {
                break;
            }
            from += records.len() as u64;
            bytes += records.iter().map(|record| record.body.len()).sum::<usize>();
        }
        assert_eq!(bytes, expected);
        start.elapsed()
    };
    let connection = Connection::open(folder.path().join("log.db")).unwrap();
    let mut bare = || {
        let start = Instant::now();
        let mut statement =
            connection.prepare_cached("SELECT place, at, origin, body FROM record ORDER BY place").unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut bytes = 0;
        while let Some(row) = rows.next().unwrap() {
            bytes += row.get_ref(3).unwrap().as_blob().unwrap().len();
        }
        assert_eq!(bytes, expected);
        start.elapsed()
    };
    let [ours, bare] = best([&mut ours, &mut bare]);
    (ours, bare)
}

fn store(sessions: usize) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for session in 0..sessions {
        let id = session.to_string().into();
        store.create(&Created { id, agent: "demo".into(), cwd: "/".into(), at: Time(0) }).unwrap();
    }
    (folder, store)
}

fn raw(path: &Path, page: u32, synchronous: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {page}; PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};
             CREATE TABLE record (place INTEGER PRIMARY KEY, at INTEGER NOT NULL, origin INTEGER NOT NULL,
             body BLOB NOT NULL) STRICT"
        ))
        .unwrap();
    connection
}

fn draft(body: Bytes) -> Draft {
    Draft { at: Time(0), origin: Origin::Agent, body }
}

/// The best of five of each, taken in turns, so that a busy neighbour disturbs all alike.
fn best<const N: usize>(mut runs: [&mut dyn FnMut() -> Duration; N]) -> [Duration; N] {
    let mut times = [Duration::MAX; N];
    for _ in 0..5 {
        for (time, run) in times.iter_mut().zip(&mut runs) {
            *time = run().min(*time);
        }
    }
    times
}

fn report(what: &str, rows: usize, time: Duration) {
    println!("{what}: {:.0} records/s", rows as f64 / time.as_secs_f64());
}

fn ratio(what: &str, above: Duration, below: Duration) {
    println!("{what}: {:.2}", above.as_secs_f64() / below.as_secs_f64());
}
