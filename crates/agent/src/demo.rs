//! The demo agent: a recording that is played in Claude Code's language, by a program of its own, through the same
//! runner as every other agent. It reads prompts and control requests on stdin and touches nothing.

mod script;

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use script::{Frame, Open, Voice};

/// The variable that makes the recording faster: `10` for ten times as fast.
pub(crate) const SPEED: &str = "PARLOR_DEMO_SPEED";
/// How much of a prompt is quoted.
const QUOTE: usize = 300;

/// What came in on stdin.
enum Heard {
    Prompt(String),
    Interrupt(Value),
    End(Value),
    /// Any other request: granted.
    Request(Value),
}

/// Plays until stdin ends. Parlor's own program calls this when it is started as `demo-agent`.
pub fn main() -> ExitCode {
    let speed = std::env::var(SPEED).ok().and_then(|speed| speed.parse::<f64>().ok());
    let speed = speed.filter(|speed| speed.is_finite() && *speed > 0.0).unwrap_or(1.0);
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if listen(&line).is_some_and(|heard| sender.send(heard).is_err()) {
                break;
            }
        }
    });
    let cwd = std::env::current_dir().unwrap_or_default().display().to_string();
    let mut player =
        Player { voice: Voice::new(cwd), speed, waiting: VecDeque::new(), out: std::io::stdout() };
    // Whoever listened is gone: there is nobody to tell.
    let _ = player.serve(&heard);
    ExitCode::SUCCESS
}

struct Player<W> {
    voice: Voice,
    speed: f64,
    /// Prompts that came while a turn ran.
    waiting: VecDeque<String>,
    out: W,
}

/// How a turn came to its end.
enum Ended {
    Done,
    Interrupted,
    /// Nobody will say anything any more.
    Alone,
}

impl<W: Write> Player<W> {
    fn serve(&mut self, heard: &Receiver<Heard>) -> std::io::Result<()> {
        loop {
            let prompt = match self.waiting.pop_front() {
                Some(prompt) => prompt,
                None => match heard.recv() {
                    Ok(Heard::Prompt(prompt)) => prompt,
                    Ok(Heard::End(id)) => return self.grant(&id),
                    Ok(Heard::Interrupt(id) | Heard::Request(id)) => {
                        self.grant(&id)?;
                        continue;
                    }
                    Err(_) => return Ok(()),
                },
            };
            if let Ended::Alone = self.turn(&quote(&prompt), heard)? {
                return Ok(());
            }
        }
    }

    fn turn(&mut self, prompt: &str, heard: &Receiver<Heard>) -> std::io::Result<Ended> {
        let mut open = Open::Nothing;
        let frames = self.voice.turn(prompt);
        for Frame { ms, line, leaves } in frames {
            match self.pause(ms, heard)? {
                Ended::Done => {}
                Ended::Interrupted => {
                    for line in self.voice.interrupted(&open) {
                        self.say(&line)?;
                    }
                    return Ok(Ended::Interrupted);
                }
                Ended::Alone => return Ok(Ended::Alone),
            }
            self.say(&line)?;
            open = leaves;
        }
        Ok(Ended::Done)
    }

    /// Waits as long as the recording did, and listens meanwhile.
    fn pause(&mut self, ms: f64, heard: &Receiver<Heard>) -> std::io::Result<Ended> {
        loop {
            match heard.recv_timeout(Duration::from_secs_f64(ms / 1000.0 / self.speed)) {
                Ok(Heard::Prompt(prompt)) => self.waiting.push_back(prompt),
                Ok(Heard::Interrupt(id)) => {
                    self.grant(&id)?;
                    return Ok(Ended::Interrupted);
                }
                Ok(Heard::End(id)) => {
                    self.grant(&id)?;
                    return Ok(Ended::Alone);
                }
                Ok(Heard::Request(id)) => self.grant(&id)?,
                Err(RecvTimeoutError::Timeout) => return Ok(Ended::Done),
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Alone),
            }
        }
    }

    fn grant(&mut self, id: &Value) -> std::io::Result<()> {
        self.say(
            &json!({ "type": "control_response", "response": { "subtype": "success", "request_id": id } }),
        )
    }

    fn say(&mut self, line: &Value) -> std::io::Result<()> {
        let mut line = line.to_string();
        line.push('\n');
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}

fn listen(line: &str) -> Option<Heard> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    let id = line["request_id"].take();
    match (line["type"].as_str()?, line["request"]["subtype"].as_str()) {
        ("user", _) => {
            let content = &line["message"]["content"];
            let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
            let words = blocks.iter().filter_map(|block| block["text"].as_str());
            let words = words.chain(content.as_str()).collect::<Vec<_>>();
            Some(Heard::Prompt(words.join("\n")))
        }
        ("control_request", Some("interrupt")) => Some(Heard::Interrupt(id)),
        ("control_request", Some("end_session")) => Some(Heard::End(id)),
        ("control_request", _) => Some(Heard::Request(id)),
        _ => None,
    }
}

/// The beginning of a prompt, as a quotation in Markdown.
fn quote(prompt: &str) -> String {
    let mut quote: String = prompt.trim().chars().take(QUOTE).collect();
    if quote.len() < prompt.trim().len() {
        quote.push('…');
    }
    quote.lines().collect::<Vec<_>>().join("\n> ")
}

#[cfg(test)]
mod tests;
