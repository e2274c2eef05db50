//! The program on files that real agents wrote, where such files lie beside the workspace.
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod common;

use std::path::{Path, PathBuf};

use common::Home;
use serde_json::Value;

/// The folder of that name beside the workspace.
fn beside(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if !folder.is_dir() {
        println!("skipped: there is no `{}`", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn every_line_of_every_real_file_is_accounted_for() {
    let home = Home::new();
    for name in ["recordings", "corpus"] {
        let Some(folder) = beside(name) else { continue };
        let report = home.run(&["doctor", "--json", folder.to_str().unwrap_or_default()]).json();
        let total = &report["total"];
        println!("{name}: {total}");
        assert_eq!(total["unaccounted"], 0);
        assert_eq!(total["unreadable"], 0);
        assert!(total["lines"].as_u64() > Some(1000), "{total}");
        assert!(total["shown"].as_u64() > Some(1000), "{total}");
    }
}

#[test]
fn every_real_file_shows_in_every_form() {
    let home = Home::new();
    for name in ["recordings/claude", "recordings/codex", "recordings/pi"] {
        let Some(folder) = beside(name) else { continue };
        for (index, item) in std::fs::read_dir(folder).into_iter().flatten().flatten().step_by(3).enumerate()
        {
            let path = item.path();
            let Some(file) =
                path.to_str().filter(|file| file.ends_with(".jsonl") && !file.ends_with(".stdin.jsonl"))
            else {
                continue;
            };
            let form = ["terminal", "html", "markdown", "text", "json"][index % 5];
            let ran = home.run(&["show", file, "--format", form]);
            let unknown = ran.code == 2 && ran.err.contains("no format that Parlor knows");
            assert!(ran.code == 0 || unknown, "{file}: {ran:?}");
            let last = home.run(&["show", file, "--last", "2", "--format", form]);
            assert_eq!(last.code, ran.code, "{file}");
        }
    }
}

#[test]
fn the_work_of_a_real_subagent_lies_under_its_call() {
    let Some(folder) = beside("recordings/claude") else { return };
    for name in ["task", "task-fg"] {
        let home = Home::new();
        let read =
            |end: &str| std::fs::read_to_string(folder.join(format!("{name}.{end}"))).unwrap_or_default();
        let (session, subagent) = (read("session.jsonl"), read("session1.jsonl"));
        let field = |text: &str, key: &str| {
            let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            values.filter_map(|record| record[key].as_str().map(str::to_owned)).next().unwrap_or_default()
        };
        let (id, agent) = (field(&session, "sessionId"), field(&subagent, "agentId"));
        let file = home.session(&id, &session);
        home.write(&format!(".claude/projects/-w/{id}/subagents/agent-{agent}.jsonl"), &subagent);
        let shown =
            home.run(&["show", file.to_str().unwrap_or_default(), "--format", "json"]).exits(0).json();
        let entries = shown["entries"].as_array().cloned().unwrap_or_default();
        let call = entries.iter().find(|entry| entry["name"] == "Agent" || entry["name"] == "Task");
        let call = call.map(|call| call["id"].clone()).unwrap_or_default();
        let under = entries.iter().filter(|entry| entry["parent"].is_string()).count();
        assert!(under >= 3, "{name}: {under} of {}", entries.len());
        assert!(entries.iter().all(|entry| entry["parent"].is_null() || entry["parent"] == call), "{name}");
        assert_eq!(home.run(&["ls", "--json"]).exits(0).json().as_array().map(Vec::len), Some(1));
    }
}
