//! What a house costs: between an agent's stdout and a guest's socket, against `cat` of the same stream; for each session that
//! is live; and with fifty runs at once. It prints ratios in one run and asserts no time.
//!
//! `cargo bench -p parlor-cli`
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark runs the program and may panic"
)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use common::Home;
use common::house::{Guest, House, wait_long};
use serde_json::{Value, json};

/// An agent that speaks Claude's stream: told `feed`, it is `cat`; told `tick`, each line says when it was written.
const FEEDER: &str = r#"#!/usr/bin/env bash
[ "$1" = "--version" ] && { echo "9.9.9 (Claude Code)"; exit 0; }
while IFS= read -r line; do
  case "$line" in
    *end_session*) exit 0 ;;
    *'"text":"feed"'*) cat "$FEED" ;;
    *'"text":"tick"'*)
      for number in {1..400}; do
        printf '{"type":"stream_event","session_id":"feeder","parent_tool_use_id":null,"at":"at:%s:","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"tick "}}}\n' "$EPOCHREALTIME"
        sleep 0.004
      done
      printf '{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"feeder"}\n' ;;
    *'"type":"user"'*) printf '{"type":"result","subtype":"success","is_error":false,"result":"","session_id":"feeder"}\n' ;;
  esac
done
"#;

const DELTAS: usize = 40_000;
const SESSIONS: usize = 50;
/// How often `cat` is run, so that its share can be measured at all.
const CATS: u32 = 50;

fn main() {
    // `cargo test --all-targets` starts it too, and wants no figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let home = Home::new();
    let feeder = home.write("feeder.sh", FEEDER);
    fs::set_permissions(&feeder, fs::Permissions::from_mode(0o755)).unwrap();
    let feed = home.write("feed.jsonl", stream()).display().to_string();
    let work = home.path("work");
    fs::create_dir_all(&work).unwrap();
    let bench = Bench {
        house: House::open_with(&home, &[("PARLOR_CLAUDE", feeder.to_str().unwrap()), ("FEED", &feed)]),
        feeder: feeder.display().to_string(),
        size: fs::metadata(&feed).unwrap().len(),
        feed,
        work: work.display().to_string(),
    };
    // Memory first, in a house that has seen nothing yet.
    bench.memory();
    bench.many();
    bench.latency();
    bench.throughput();
}

struct Bench {
    house: House,
    feeder: String,
    feed: String,
    size: u64,
    work: String,
}

impl Bench {
    /// A whole stream: from the prompt until its last line is with the guest, and from the same program through a pipe.
    fn throughput(&self) {
        let (mut guest, session) = self.follow();
        say(&mut guest, &session, "warm", "hello");
        until(&mut guest, "\"type\":\"result\"", |_| {});
        let (before, begun) = (cpu(self.house.pid()), Instant::now());
        say(&mut guest, &session, "feed", "feed");
        let mut lines = 0;
        until(&mut guest, "\"type\":\"result\"", |_| lines += 1);
        let (through, used) = (begun.elapsed(), cpu(self.house.pid()) - before);

        let (mut child, mut stdout) = self.direct("feed");
        let (begun, mut line, mut read) = (Instant::now(), String::new(), 0);
        while !line.contains("\"type\":\"result\"") {
            line.clear();
            stdout.read_line(&mut line).unwrap();
            read += 1;
        }
        let direct = begun.elapsed();
        child.kill().unwrap();
        child.wait().unwrap();
        let before = children();
        for _ in 0..CATS {
            let pipe = format!("cat '{}' | cat >/dev/null", self.feed);
            Command::new("sh").args(["-c", &pipe]).status().unwrap();
        }
        let cat = (children() - before) / CATS;
        let megabytes = self.size as f64 / 1e6;
        println!("stream of {megabytes:.1} MB in {read} lines ({lines} records with the guest):");
        println!(
            "  through the house {through:.1?}, read from the pipe {direct:.1?}: {:.1} times",
            ratio(through, direct)
        );
        println!(
            "  processor: house {:.1} ms a MB, `cat` of it {:.2} ms a MB: {:.0} times",
            used.as_secs_f64() * 1e3 / megabytes,
            cat.as_secs_f64() * 1e3 / megabytes,
            ratio(used, cat)
        );
    }

    /// One line: from the moment before it is written until it is read.
    fn latency(&self) {
        let (mut guest, session) = self.follow();
        say(&mut guest, &session, "tick", "tick");
        let mut house = Vec::new();
        until(&mut guest, "\"type\":\"result\"", |body| house.extend(age(body)));
        let (mut child, stdout) = self.direct("tick");
        let lines =
            stdout.lines().map_while(Result::ok).take_while(|line| !line.contains("\"type\":\"result\""));
        let mut pipe: Vec<Duration> = lines.filter_map(|line| age(&line)).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        house.sort();
        pipe.sort();
        let at = |all: &[Duration], hundredths: usize| all[(all.len() - 1) * hundredths / 100];
        println!("latency of {} lines, 4 ms apart:", house.len());
        for hundredths in [50, 99] {
            let (house, pipe) = (at(&house, hundredths), at(&pipe, hundredths));
            println!(
                "  p{hundredths}: on disk and with the guest {house:.0?}, through a pipe {pipe:.0?}: {:?} more",
                house - pipe.min(house)
            );
        }
    }

    /// Sessions whose agents run and rest.
    fn memory(&self) {
        let (mut first, session) = self.follow();
        say(&mut first, &session, "hello", "hello");
        until(&mut first, "\"type\":\"result\"", |_| {});
        let before = memory(self.house.pid());
        let mut guests: Vec<(Guest, String)> = (0..SESSIONS).map(|_| self.follow()).collect();
        for (guest, session) in &mut guests {
            say(guest, session, "hello", "hello");
            until(guest, "\"type\":\"result\"", |_| {});
        }
        let each = memory(self.house.pid()).saturating_sub(before) / SESSIONS as u64;
        println!(
            "memory: house {} MB before, {each} KB more for each of {SESSIONS} live sessions with a guest",
            before >> 10
        );
    }

    /// The demo alone, and many of it at once.
    fn many(&self) {
        let run = |count: usize| {
            let mut guests: Vec<(Guest, String)> = (0..count).map(|_| self.create("demo")).collect();
            let (before, begun) = (cpu(self.house.pid()), Instant::now());
            for (guest, session) in &mut guests {
                say(guest, session, "show", "Show me around");
            }
            wait_long("all of them", || {
                let list = self.house.guest().ask(json!({"type": "list"}));
                let rows = list["sessions"].as_array().unwrap();
                let done = |row: &Value| row["phase"] == "idle" && row["prompts"] == 1;
                guests.iter().all(|(_, id)| rows.iter().any(|row| row["id"] == json!(id) && done(row)))
            });
            (begun.elapsed(), cpu(self.house.pid()) - before)
        };
        let ((alone, _), (together, used)) = (run(1), run(SESSIONS));
        println!(
            "{SESSIONS} demos at once: {together:.1?}, one alone {alone:.1?}: {:.1} times; processor of the house {used:.1?}; at its peak {} MB",
            ratio(together, alone),
            peak(self.house.pid()) >> 10
        );
    }

    fn create(&self, agent: &str) -> (Guest, String) {
        let mut guest = self.house.guest();
        let session = guest.create(agent, &self.work);
        (guest, session)
    }

    /// A new session, and a guest who gets its records.
    fn follow(&self) -> (Guest, String) {
        let (mut guest, session) = self.create("claude");
        guest.ask(json!({"type": "subscribe", "session": session, "profile": "records"}));
        (guest, session)
    }

    /// The same program without a house.
    fn direct(&self, word: &str) -> (Child, BufReader<ChildStdout>) {
        let mut command = Command::new(&self.feeder);
        command.env("FEED", &self.feed).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        writeln!(child.stdin.as_mut().unwrap(), r#"{{"type":"user","text":"{word}"}}"#).unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        (child, stdout)
    }
}

/// An answer of many pieces, as Claude Code streams it.
fn stream() -> String {
    let line = |event: Value| {
        let uuid = "0a1b2c3d-0000-4000-8000-000000000000";
        json!({"type": "stream_event", "event": event, "session_id": "feeder", "parent_tool_use_id": null, "uuid": uuid}).to_string() + "\n"
    };
    let message = |text: &str| json!({"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": text}]});
    let mut stream =
        line(json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}));
    stream += &line(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    for _ in 0..DELTAS {
        stream += &line(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "some words "}}),
        );
    }
    let whole = json!({"type": "assistant", "message": message(&"some words ".repeat(DELTAS)), "session_id": "feeder", "parent_tool_use_id": null});
    stream += &format!("{whole}\n");
    stream += &line(json!({"type": "message_stop"}));
    stream
        + "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"\",\"session_id\":\"feeder\"}\n"
}

fn say(guest: &mut Guest, session: &str, id: &str, text: &str) {
    guest.prompt(session, id, text);
}

/// Reads an agent's records until one that holds these words.
fn until(guest: &mut Guest, words: &str, mut read: impl FnMut(&str)) {
    loop {
        let frame = guest.next();
        for message in frame["messages"].as_array().into_iter().flatten() {
            let body = message["body"].as_str().unwrap_or_default();
            if message["origin"] == "agent" {
                read(body);
                if body.contains(words) {
                    return;
                }
            }
        }
    }
}

/// How long ago a line was written.
fn age(line: &str) -> Option<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let written = line.split_once("at:")?.1.split_once(':')?.0;
    let written = Duration::from_secs_f64(written.replace(',', ".").parse().ok()?);
    Some(now.saturating_sub(written))
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(1e-6)
}

/// Processor time that a process has used, in hundredths of a second.
fn cpu(pid: u32) -> Duration {
    ticks(&format!("/proc/{pid}/stat"), 11)
}

/// The same of the children that were waited for.
fn children() -> Duration {
    ticks("/proc/self/stat", 13)
}

fn ticks(path: &str, first: usize) -> Duration {
    let stat = fs::read_to_string(path).unwrap();
    let fields: Vec<u64> = stat[stat.rfind(')').unwrap() + 2..]
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    Duration::from_millis(10 * (fields[first] + fields[first + 1]))
}

/// In KB.
fn memory(pid: u32) -> u64 {
    status(pid, "VmRSS:")
}

fn peak(pid: u32) -> u64 {
    status(pid, "VmHWM:")
}

fn status(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
