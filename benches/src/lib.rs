//! Sessions to measure with, made here and always the same; and what measures a house.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the clock and starts programs")]

pub mod house;
pub mod ratio;
pub mod socket;

use std::time::Duration;

use serde_json::{Value, json};

/// Text of the kind that fills sessions: source code and prose.
const SOURCES: [&str; 4] = [
    include_str!("../../crates/model/src/json.rs"),
    include_str!("../../crates/model/src/action.rs"),
    include_str!("../../crates/transcript/src/transcript.rs"),
    include_str!("../../crates/dialect/src/claude/words.rs"),
];

/// A Claude Code session file of at least `size` bytes: prompts, thoughts, replies, and calls whose results are some
/// seven tenths of it, as in real ones. The same seed gives the same session on every machine.
pub fn claude_session(size: usize, seed: u64) -> Vec<u8> {
    let mut writer =
        Writer { dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, seed, count: 0, out: Vec::new() };
    while writer.out.len() < size {
        writer.step();
    }
    writer.out
}

/// The processor time this thread has used: on a busy machine it tells what the clock on the wall does not.
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

struct Writer {
    dice: u64,
    seed: u64,
    count: u64,
    out: Vec<u8>,
}

impl Writer {
    fn step(&mut self) {
        match self.roll(9) {
            0 => {
                let prompt = self.text(3);
                self.line(json!({"type": "user", "message": {"role": "user", "content": prompt}}));
            }
            1 => {
                let thought = self.text(12);
                self.assistant(
                    json!({"type": "thinking", "thinking": thought, "signature": "Ab9+".repeat(60)}),
                );
            }
            2 | 3 => {
                let reply = self.text(18);
                self.assistant(json!({"type": "text", "text": reply}));
            }
            kind => self.call(kind),
        }
    }

    fn call(&mut self, kind: usize) {
        let id = format!("toolu_{:08x}{:012x}", self.seed, self.count);
        let (name, input) = match kind {
            4 => ("Read", json!({"file_path": "/home/dev/ferry/src/sync/backoff.rs"})),
            5 => (
                "Edit",
                json!({"file_path": "/home/dev/ferry/src/a.rs", "old_string": self.text(3), "new_string": self.text(4)}),
            ),
            _ => ("Bash", json!({"command": self.text(2), "description": "Look around"})),
        };
        self.assistant(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        let lines = match self.roll(100) {
            0 => 1500,
            1..=9 => 300,
            _ => 5 + self.roll(60),
        };
        let output = self.text(lines);
        let block = json!({"tool_use_id": id, "type": "tool_result", "content": output, "is_error": false});
        self.line(json!({
            "type": "user",
            "message": {"role": "user", "content": [block]},
            "toolUseResult": {"stdout": output, "stderr": "", "interrupted": false, "isImage": false},
        }));
    }

    fn assistant(&mut self, block: Value) {
        let id = format!("msg_{:08x}{:012x}", self.seed, self.count);
        let usage = json!({"input_tokens": 4, "cache_creation_input_tokens": 310, "cache_read_input_tokens": 18211, "output_tokens": 212});
        self.line(json!({
            "type": "assistant",
            "requestId": format!("req_{}", self.count),
            "message": {"id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": [block],
                "stop_reason": "tool_use", "stop_sequence": null, "usage": usage},
        }));
    }

    /// Writes a record with the fields that every record has, in the order of the real ones.
    fn line(&mut self, record: Value) {
        let uuid = |count: u64| format!("{:08x}-1111-4111-8111-{count:012x}", self.seed);
        let second = self.count;
        let mut whole = json!({
            "parentUuid": uuid(self.count), "isSidechain": false, "userType": "external", "cwd": "/home/dev/ferry",
            "sessionId": format!("{:08x}-0000-4000-8000-000000000000", self.seed), "version": "2.1.88", "gitBranch": "main",
        });
        self.count += 1;
        let uuid = uuid(self.count);
        let day = 1 + second / 86_400 % 28;
        let at = format!(
            "2025-10-{day:02}T{:02}:{:02}:{:02}.120Z",
            second / 3600 % 24,
            second / 60 % 60,
            second % 60
        );
        if let (Value::Object(whole), Value::Object(record)) = (&mut whole, record) {
            whole.extend(record);
            whole.insert("uuid".into(), uuid.into());
            whole.insert("timestamp".into(), at.into());
        }
        self.out.extend_from_slice(whole.to_string().as_bytes());
        self.out.push(b'\n');
    }

    fn text(&mut self, lines: usize) -> String {
        let index = self.roll(SOURCES.len());
        let source: Vec<&str> = SOURCES[index].lines().collect();
        let start = self.roll(source.len());
        source.iter().cycle().skip(start).take(lines).copied().collect::<Vec<_>>().join("\n")
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice % sides as u64) as usize
    }
}
