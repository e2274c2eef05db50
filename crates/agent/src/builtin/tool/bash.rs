//! Runs a command in a group of its own, with the mark of its run and call, and shows what it prints while it prints it.

use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use parlor_model::Key;
use parlor_model::seen::Ended;
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use super::output::{Ends, Output};
use super::{Bench, Outcome, Running, lenient};
use crate::builtin::reap::{self, Target};

/// How long a command may run unless the model says otherwise.
const TIMEOUT_MS: u64 = 120_000;
/// How long it may run at most.
const LONGEST_MS: u64 = 600_000;
/// How often output is shown.
const PAUSE: Duration = Duration::from_millis(200);
/// How long output is waited for after a command has ended: what it left running may still hold the pipe.
const AFTER: Duration = Duration::from_millis(300);

/// The input.
#[derive(Debug, Deserialize)]
pub(crate) struct Bash {
    pub(crate) command: String,
    #[serde(default, deserialize_with = "lenient::count")]
    timeout_ms: Option<u64>,
}

/// How a command ended.
enum End {
    Exited(std::process::ExitStatus),
    TimedOut(u64),
    Lost(std::io::Error),
}

impl Bash {
    pub(crate) async fn run(self, call: Key, bench: &Bench) -> Outcome {
        let (mut child, mut pipe) = match self.start(&call, bench) {
            Ok(started) => started,
            Err(error) => return Outcome::failed(format!("The shell could not be started: {error}")),
        };
        let group = child.id().unwrap_or_default();
        let printed = Arc::<Mutex<Ends>>::default();
        bench.commands().push(Running { call: call.clone(), group, printed: printed.clone() });
        let mut output = Output::new(call.clone(), bench.said.clone(), printed);
        let end = self.follow(&mut child, &mut pipe, &mut output).await;
        if let End::TimedOut(_) = end {
            let mark = format!("PARLOR_CALL={}", mark(&call, bench));
            reap::end(Target { mark, groups: vec![group] }).await;
            let _ = child.wait().await;
        }
        drain(&mut pipe, &mut output, AFTER).await;
        if let Some(remark) = remark(&end) {
            output.remark(&remark);
        }
        output.flush(true).await;
        outcome(end, bench.forget(&call).unwrap_or_default())
    }

    /// Starts the shell. Both streams go into one pipe, so that their lines stay in order.
    fn start(&self, call: &Key, bench: &Bench) -> std::io::Result<(Child, pipe::Receiver)> {
        let (reader, writer) = std::io::pipe()?;
        let mut command = Command::new(if which::which("bash").is_ok() { "bash" } else { "sh" });
        bench.equip(&mut command);
        command.arg("-c").arg(&self.command);
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        command.env("PARLOR_CALL", mark(call, bench));
        command.envs([("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat")]);
        command.envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")]);
        let child = command.spawn()?;
        // The writer's ends in this process go with the command.
        drop(command);
        Ok((child, pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?))
    }

    async fn follow(&self, child: &mut Child, pipe: &mut pipe::Receiver, output: &mut Output) -> End {
        let limit = self.timeout_ms.unwrap_or(TIMEOUT_MS).clamp(1, LONGEST_MS);
        let deadline = Instant::now() + Duration::from_millis(limit);
        let mut buffer = vec![0; 16 << 10];
        let mut open = true;
        let mut due = Instant::now();
        loop {
            tokio::select! {
                read = pipe.read(&mut buffer), if open => match read {
                    Ok(count) if count > 0 => {
                        if !output.waits() {
                            due = Instant::now() + PAUSE;
                        }
                        if output.push(&buffer[..count]) {
                            output.flush(false).await;
                        }
                    }
                    _ => open = false,
                },
                () = tokio::time::sleep_until(due), if output.waits() => {
                    output.flush(false).await;
                    due = Instant::now() + PAUSE;
                }
                status = child.wait() => return match status {
                    Ok(status) => End::Exited(status),
                    Err(error) => End::Lost(error),
                },
                () = tokio::time::sleep_until(deadline) => return End::TimedOut(limit),
            }
        }
    }
}

/// What tells the processes of this call from all others: servers count their calls from zero in every session.
fn mark(call: &Key, bench: &Bench) -> String {
    format!("{}/{call}", bench.run)
}

/// Reads what is still in the pipe.
async fn drain(pipe: &mut pipe::Receiver, output: &mut Output, patience: Duration) {
    let deadline = Instant::now() + patience;
    let mut buffer = vec![0; 16 << 10];
    while let Ok(Ok(count)) = tokio::time::timeout_at(deadline, pipe.read(&mut buffer)).await {
        if count == 0 {
            return;
        }
        if output.push(&buffer[..count]) {
            output.flush(false).await;
        }
    }
}

/// What the last line says of a command that did not end well.
fn remark(end: &End) -> Option<String> {
    match end {
        End::Exited(status) => match status.code() {
            Some(0) => None,
            Some(code) => Some(format!("[exit code {code}]")),
            None => Some(format!("[{status}]")),
        },
        End::TimedOut(limit) => Some(format!(
            "[timed out: it was ended after {limit} ms; give it a longer `timeout_ms`, or start it with `&`]"
        )),
        End::Lost(error) => Some(format!("[the command has ended, but its exit code was lost: {error}]")),
    }
}

fn outcome(end: End, (mut text, truncated): (String, bool)) -> Outcome {
    let exit_code = match end {
        End::Exited(status) => status.code().map(i64::from),
        End::TimedOut(_) | End::Lost(_) => None,
    };
    let state = if exit_code == Some(0) { Ended::Done } else { Ended::Failed };
    if text.is_empty() {
        text.push_str("(no output)");
    }
    Outcome { state, text, exit_code, truncated, diff: None }
}
