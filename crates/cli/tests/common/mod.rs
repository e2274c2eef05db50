//! A home of its own for each test, and the real program in it.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

pub(crate) mod house;
pub(crate) mod page;
pub(crate) mod stage;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// A temporary home.
pub(crate) struct Home {
    folder: tempfile::TempDir,
}

/// What a run of the program left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with its folders.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a session of Claude Code into a project.
    pub(crate) fn session(&self, id: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.write(&format!(".claude/projects/-w/{id}.jsonl"), content)
    }

    /// The program, with an environment that knows only this home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_parlor"));
        command.args(arguments).env_clear().env("HOME", self.folder.path()).env("PATH", self.path("bin"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs it with bytes on stdin.
    pub(crate) fn pipe(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join();
        output.into()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Asserts the exit code, with all that was said when it differs.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, word: &str) -> Ran {
        assert!(self.out.contains(word), "no {word:?} in {self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn complains(self, word: &str) -> Ran {
        assert!(self.err.contains(word), "no {word:?} in {self:#?}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// One line of a Claude Code session.
pub(crate) fn record(session: &str, number: u32, kind: &str, message: Value, more: Value) -> String {
    let mut record = json!({
        "parentUuid": (number > 1).then(|| format!("u-{session}-{}", number - 1)),
        "isSidechain": false,
        "userType": "external",
        "cwd": "/home/kit/garden",
        "sessionId": session,
        "version": "2.1.0",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": format!("u-{session}-{number}"),
        "timestamp": format!("2026-11-15T14:{:02}:{:02}.000Z", number / 60 % 60, number % 60),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        record[key] = value.clone();
    }
    format!("{record}\n")
}

pub(crate) fn prompt(session: &str, number: u32, text: &str) -> String {
    record(session, number, "user", json!({"role": "user", "content": text}), json!({}))
}

pub(crate) fn reply(session: &str, number: u32, text: &str) -> String {
    assistant(session, number, json!({"type": "text", "text": text}))
}

pub(crate) fn call(session: &str, number: u32, id: &str, name: &str, input: Value) -> String {
    assistant(session, number, json!({"type": "tool_use", "id": id, "name": name, "input": input}))
}

pub(crate) fn result(session: &str, number: u32, id: &str, text: &str) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    record(session, number, "user", json!({"role": "user", "content": content}), json!({}))
}

/// Each message uses 10 tokens of input and 5 of output.
fn assistant(session: &str, number: u32, block: Value) -> String {
    let message = json!({
        "id": format!("msg-{session}-{number}"), "type": "message", "role": "assistant", "model": "claude-x",
        "content": [block], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    });
    record(session, number, "assistant", message, json!({}))
}

/// A session of `turns` prompts and replies.
pub(crate) fn talk(session: &str, turns: u32) -> String {
    (0..turns)
        .map(|turn| {
            let number = turn * 2 + 1;
            prompt(session, number, &format!("question {turn}"))
                + &reply(session, number + 1, &format!("answer {turn}"))
        })
        .collect()
}

/// Makes every record of a file a subagent's.
pub(crate) fn sidechain(lines: &str, agent: &str) -> String {
    let side = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record["isSidechain"] = true.into();
        record["agentId"] = agent.into();
        format!("{record}\n")
    };
    lines.lines().map(side).collect()
}

/// True when the file at `path` exists.
pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}
