//! Clients that stand in one room: what one is told is right for the other, or is not repeated.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use parlor_dialect::Agent;
use parlor_found::Folder;
use parlor_hub::{Hub, Options, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::room::Rooms;

/// A session of Claude Code that grows, and the room in which it is looked at.
struct Place {
    _folder: TempDir,
    path: PathBuf,
    lines: u64,
    room: Arc<Room>,
}

impl Place {
    async fn new(first: &Value) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let found = Folder { agent: Agent::Claude, path: folder.path().join("claude") };
        let path = found.path.join("project/one.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{first}\n")).unwrap();
        let options = Options {
            data: folder.path().join("data"),
            archive: false,
            settings: Settings::from_variables(BTreeMap::new()),
            folders: Some(vec![found]),
        };
        let hub = Hub::start(options).await.unwrap();
        let room = Rooms::default().enter(&hub, "one").await.unwrap();
        Place { _folder: folder, path, lines: 1, room }
    }

    /// Appends a line, and waits until it is there to be told.
    async fn append(&mut self, line: &Value) {
        let mut bell = self.room.bell();
        append(&self.path, line);
        self.lines += 1;
        loop {
            bell.changed().await.unwrap();
            if self.room.open().view().end() == self.lines {
                return;
            }
        }
    }
}

fn append(path: &Path, line: &Value) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// A client, and what it holds.
struct Client {
    html: HtmlSub,
    held: BTreeMap<u64, String>,
}

impl Client {
    fn new(room: &Arc<Room>, window: usize, offset_s: i32) -> Client {
        let wanted = Wanted { window: Some(window), offset_s, ..Wanted::default() };
        let (html, frames) = HtmlSub::begin(1, room.clone(), &wanted);
        let mut client = Client { html, held: BTreeMap::new() };
        client.take(&frames);
        client
    }

    /// What a socket does when the bell has rung.
    fn hear(&mut self) -> Vec<Frame> {
        let frames = self.html.short_news().unwrap_or_else(|| self.html.news());
        self.take(&frames);
        frames
    }

    fn ask(&mut self, from: usize, count: usize) {
        let ask = WindowAsk { reference: None, place: super::Place::From(from), count };
        let frames = self.html.window(&ask);
        self.take(&frames);
    }

    fn take(&mut self, frames: &[Frame]) {
        for frame in frames {
            let frame: Value = serde_json::from_str(frame).unwrap();
            for entry in frame["entries"].as_array().into_iter().flatten() {
                let (n, html) = (entry["n"].as_u64().unwrap(), entry["html"].as_str().unwrap());
                let keep = entry["keep"].as_u64().unwrap_or(0) as usize;
                let known = self.held.get(&n).map_or("", String::as_str);
                let kept: Vec<u16> = known.encode_utf16().take(keep).collect();
                assert_eq!(kept.len(), keep, "a patch is for what the client has");
                self.held.insert(n, String::from_utf16(&kept).unwrap() + html);
            }
        }
    }
}

/// A call of a tool, or what came of it: then an entry of long ago changes.
fn line(random: &mut u64, number: u64, open: &mut Vec<u64>) -> Value {
    let at = format!("2026-11-01T10:00:{:02}.000Z", number % 60);
    let (kind, content) = if next(random, 2) == 0 || open.is_empty() {
        open.push(number);
        let input = json!({"command": format!("wc -l {number}")});
        let call = json!({"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": input});
        ("assistant", json!([{"type": "text", "text": format!("Line **{number}**")}, call]))
    } else {
        let call = open.swap_remove(next(random, open.len()));
        let result = json!({"type": "tool_result", "tool_use_id": format!("t{call}"), "content": "7"});
        ("user", json!([result]))
    };
    let message = json!({"id": format!("m{number}"), "role": kind, "content": content});
    json!({"type": kind, "uuid": format!("u{number}"), "sessionId": "one", "timestamp": at, "message": message})
}

fn next(random: &mut u64, below: usize) -> usize {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*random >> 33) as usize % below
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stands_where_another_stood_is_told_the_same_words() {
    let (mut random, mut open) = (1, Vec::new());
    let mut place = Place::new(&line(&mut random, 0, &mut open)).await;
    let mut clients: Vec<Client> = (0..3).map(|_| Client::new(&place.room, 10, 0)).collect();
    let mut late = Client::new(&place.room, 10, 3_600);
    let (mut number, mut told) = (1, Vec::new());
    loop {
        place.append(&line(&mut random, number, &mut open)).await;
        let ring = place.room.ring();
        told.clear();
        told.extend(clients.iter_mut().map(Client::hear));
        // What is true besides the lines may change at any time.
        if place.room.ring() == ring {
            break;
        }
        number += 1;
    }
    let address = |frames: &[Frame]| frames.iter().map(|frame| frame.as_ptr()).collect::<Vec<_>>();
    assert!(!told[0].is_empty());
    assert_eq!(address(&told[1]), address(&told[0]));
    assert_eq!(address(&told[2]), address(&told[0]));
    let other = late.hear();
    assert_ne!(address(&other), address(&told[0]), "another clock");
}

/// Clients hear at random moments, and ask for windows at others, so that they differ in what they have of an entry.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_others_were_told_each_client_holds_what_a_new_one_is_shown() {
    for seed in 1..=20 {
        let (mut random, mut open) = (seed, Vec::new());
        let mut place = Place::new(&line(&mut random, 0, &mut open)).await;
        let mut clients: Vec<Client> =
            (0..4).map(|number| Client::new(&place.room, 10, if number < 3 { 0 } else { 3_600 })).collect();
        for number in 1..40 {
            place.append(&line(&mut random, number, &mut open)).await;
            if number.is_multiple_of(16) {
                clients.insert(0, Client::new(&place.room, 10, 0));
            }
            if next(&mut random, 2) == 0 {
                let (client, from) = (next(&mut random, clients.len()), next(&mut random, 20));
                clients[client].ask(from, 1 + next(&mut random, 20));
            }
            // Mostly all of them, so that they stand where the others stood.
            let deaf = next(&mut random, clients.len() * 2);
            for client in clients.iter_mut().enumerate().filter(|(client, _)| *client != deaf) {
                client.1.hear();
            }
        }
        for (number, client) in clients.iter_mut().enumerate() {
            while !client.hear().is_empty() {}
            let new = Client::new(&place.room, 100, client.html.at.offset_s);
            for (n, html) in &client.held {
                assert_eq!(html, &new.held[n], "seed {seed}, client {number}, entry {n}");
            }
            let newest = client.held.keys().next_back();
            assert_eq!(newest, new.held.keys().next_back(), "seed {seed}, client {number}");
        }
    }
}
