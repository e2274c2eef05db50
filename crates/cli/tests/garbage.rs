//! Damaged input: the program says something or nothing, but it never falls over.

mod common;

use common::{Home, call, result, talk};
use serde_json::json;

/// A fixed sequence that looks random: the same on each run, so that a failure can be looked at.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// The bytes with some of them changed, cut out, doubled or swapped for JSON's own signs.
fn damage(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.roll(20) {
        let at = dice.roll(bytes.len());
        let end = (at + dice.roll(40)).min(bytes.len());
        match dice.roll(5) {
            0 => bytes.truncate(at.max(1)),
            1 => drop(bytes.drain(at..end)),
            2 => bytes[at] = dice.roll(256) as u8,
            3 => bytes[at] = b"{}[]\",:\\\n\0"[dice.roll(10)],
            _ => {
                let doubled = bytes[at..end].to_vec();
                bytes.splice(at..at, doubled);
            }
        }
        if bytes.is_empty() {
            bytes.push(b'{');
        }
    }
    bytes
}

#[test]
fn no_damage_makes_it_panic() {
    let home = Home::new();
    let sound = talk("s", 3)
        + &call(
            "s",
            7,
            "toolu_1",
            "Edit",
            json!({"file_path": "/a", "old_string": "é\n", "new_string": "😀"}),
        )
        + &result("s", 8, "toolu_1", "done \x1b[31m red")
        + "{\"timestamp\":\"2026-11-15T14:02:03Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\"}}\n"
        + "{\"type\":\"session\",\"version\":3,\"id\":\"x\",\"timestamp\":\"2026-11-15T14:02:03Z\",\"cwd\":\"/\"}\n";
    let mut dice = Dice(7);
    let runs: [&[&str]; 7] = [
        &["show", "-", "--from", "claude-session", "--color", "always"],
        &["show", "-", "--from", "codex-rollout", "--format", "html"],
        &["show", "-", "--format", "markdown", "--thinking"],
        &["show", "-", "--last", "2", "--format", "text"],
        &["convert", "--to", "events"],
        &["convert", "--to", "legion", "--from", "pi-session"],
        &["doctor", "--json", "input.jsonl"],
    ];
    for round in 0..12 {
        let input = damage(sound.as_bytes(), &mut dice);
        home.write("input.jsonl", &input);
        for arguments in runs {
            let ran = home.pipe(arguments, &input);
            assert!(
                (0..=2).contains(&ran.code),
                "round {round}, {arguments:?}: {ran:?}\n{}",
                input.escape_ascii()
            );
        }
    }
}
