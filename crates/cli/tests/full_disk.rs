//! A house whose disk is full: it says so, shows what it has, and goes on where it was once there is room. Nothing that an agent
//! said meanwhile is lost. It runs only for root, who can mount a small disk; for others it says that it is skipped.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::Home;
use common::house::{House, puppet, story};
use common::page::{Page, exported};
use serde_json::{Value, json};

/// A disk of a few megabytes, until it is dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(path: PathBuf) -> Option<Disk> {
        fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"]).arg(&path).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Disk(path))
    }

    /// Fills it to the last byte; gives the file that does.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::create(&path).unwrap();
        for size in [1 << 16, 1] {
            let piece = vec![b'x'; size];
            while file.write_all(&piece).is_ok() {}
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn open(home: &Home, disk: &Path, agent: &str) -> House {
    House::open_with(home, &[("PARLOR_DATA", &disk.to_string_lossy()), ("PARLOR_CLAUDE", agent)])
}

#[test]
fn a_house_on_a_full_disk_says_so_and_goes_on_when_there_is_room() {
    let home = Home::new();
    let Some(disk) = Disk::mount(home.path("disk")) else {
        println!("skipped: a small disk can be mounted only by root");
        return;
    };
    let agent = puppet(&home);
    let house = open(&home, &disk.0, &agent);
    let work = home.path("work");
    fs::create_dir_all(&work).unwrap();
    let session = house.guest().create("claude", &work.to_string_lossy());
    let mut talk = house.guest().follow(&session);
    let mut page = Page::open(&house, &session);
    talk.turn("one", "say one");
    talk.prompt("work", "work");
    talk.until("its work", |view| story(view).ends_with("working"));

    let filler = disk.fill();
    let refused = talk.order("late", json!({"order": "prompt", "text": "say late"}));
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("is full") && message.contains("make room"), "{refused}");
    // What is there can still be read, and a newcomer let in.
    assert!(exported(&house, &session).contains("working"));
    Page::open(&house, &session).until("the state", |state| state["phase"]["phase"] == "replying");
    // The agent goes on: its words find no room, and wait.
    fs::write(work.join("go"), "").unwrap();
    let is_full = |state: &Value| state["trouble"].as_str().is_some_and(|why| why.contains("is full"));
    page.until("the trouble", is_full);

    fs::remove_file(filler).unwrap();
    talk.until("what was said meanwhile", |view| story(view).ends_with("gone") && view.is_idle());
    page.until("the end of the trouble", |state| state["trouble"].is_null());
    // Who was refused says it again; it comes once.
    talk.turn("late", "say late");
    let told = talk.story();
    assert_eq!(told.matches("late").count(), 2, "one prompt and one reply: {told}");
    page.becomes(&exported(&house, &session), "the page that was live");

    house.kill();
    let house = open(&home, &disk.0, &agent);
    let mut again = house.guest().follow(&session);
    again.until("the history", |view| story(view).starts_with(&told));
}
