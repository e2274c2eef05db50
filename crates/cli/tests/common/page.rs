//! A page that follows a session as the browser does: rendered entries, patched as they change. What it holds in the end must be
//! what an export says.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use super::house::{Guest, House, PATIENCE};

/// The page of one session.
pub(crate) struct Page {
    guest: Guest,
    /// The last state frame.
    pub(crate) state: Value,
    entries: BTreeMap<u64, (Option<String>, String)>,
}

impl Page {
    pub(crate) fn open(house: &House, session: &str) -> Page {
        let mut guest = house.guest();
        let answer = guest.ask(
            json!({"type": "subscribe", "session": session, "profile": "html", "window": 1000, "offset_s": 0}),
        );
        assert_eq!(answer["type"], "subscribed", "{answer}");
        Page { guest, state: Value::Null, entries: BTreeMap::new() }
    }

    /// Reads until the page is what the export is.
    #[track_caller]
    pub(crate) fn becomes(&mut self, main: &str, what: &str) {
        let end = Instant::now() + PATIENCE;
        while self.main() != main {
            match self.guest.next_until(end) {
                Some(frame) => self.take(&frame),
                None => panic!("{what} is not the export:\n{}\n-----\n{main}", self.main()),
            }
        }
    }

    /// Reads until it shows a text.
    #[track_caller]
    pub(crate) fn shows(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.main().contains(text) {
            match self.guest.next_until(end) {
                Some(frame) => self.take(&frame),
                None => panic!("waited in vain for `{text}` in:\n{}", self.main()),
            }
        }
    }

    /// Reads until its state is as wanted.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Value) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(&self.state) {
            match self.guest.next_until(end) {
                Some(frame) => self.take(&frame),
                None => panic!("waited in vain for {what}: {}", self.state),
            }
        }
    }

    fn take(&mut self, frame: &Value) {
        if frame["type"] == "state" {
            self.state = frame["session"].clone();
        }
        for entry in frame["entries"].as_array().into_iter().flatten() {
            let n = entry["n"].as_u64().unwrap();
            let known = self.entries.remove(&n);
            let (day, old) = known.unwrap_or_default();
            let kept: Vec<u16> =
                old.encode_utf16().take(entry["keep"].as_u64().unwrap_or(0) as usize).collect();
            let html = String::from_utf16(&kept).unwrap() + entry["html"].as_str().unwrap();
            self.entries.insert(n, (entry["day"].as_str().map(str::to_owned).or(day), html));
        }
    }

    fn main(&self) -> String {
        let show = |(day, html): &(Option<String>, String)| match day {
            Some(day) => format!("<div class=\"date\">{day}</div>\n{html}"),
            None => html.clone(),
        };
        self.entries.values().map(show).collect()
    }
}

/// What an export has between the tags of its `<main>`.
pub(crate) fn exported(house: &House, session: &str) -> String {
    let host = house.url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let path = format!("/api/sessions/{session}/export?format=html&offset_s=0");
    let token = &house.token;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    if let Err(error) = read {
        let (came, threads) = (answer.len(), house.threads());
        panic!("{path}: {error} after {came} bytes; the house's threads:\n{threads}");
    }
    let (_, main) =
        answer.split_once("<main class=\"talk\">\n").unwrap_or_else(|| panic!("no export: {answer}"));
    main.split_once("</main>").unwrap().0.to_owned()
}
