//! What Parlor itself saw and did: the records in a session's log that neither the agent nor a person wrote.

use serde::{Deserialize, Serialize};

use crate::Key;
use crate::order::Mode;

/// One thing that Parlor saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "host", rename_all = "snake_case")]
pub enum Seen {
    /// The session was made.
    Created {
        /// The agent's name: `claude`, `codex`, `pi`, `builtin`, `demo`.
        agent: Key,
        /// Where it works.
        cwd: String,
        /// The model asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What it may do by itself.
        #[serde(default)]
        mode: Mode,
    },
    /// What follows, until the next `started`, are lines of a session that the agent wrote by itself.
    Imported {
        /// The format of those lines.
        format: Key,
        /// Where they were read.
        path: String,
        /// The agent's own id of the session.
        #[serde(default)]
        session: Key,
        /// From which byte of the file on.
        #[serde(default)]
        from: u64,
    },
    /// What follows, until `main` or another of these, are lines of a subagent's own file.
    Nested {
        /// The subagent.
        agent: Key,
        /// The call that started it, under which its work lies.
        call: Key,
    },
    /// What follows are the session's own lines again.
    Main,
    /// The agent was started; its lines have this format from here on.
    Started {
        /// The run's name.
        run: Key,
        /// The format of its lines.
        format: Key,
        /// The program.
        program: String,
        /// Its process, where it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
    },
    /// A prompt was handed to the agent.
    Delivered {
        /// The id of its order.
        prompt: Key,
        /// True when it went into a turn that was running.
        #[serde(default, skip_serializing_if = "crate::block::is_false")]
        steered: bool,
    },
    /// The queue waits until a person lets it go on.
    Held,
    /// The agent itself cannot ask, so Parlor asks for it: the call waits.
    Asked {
        /// The tool call.
        call: Key,
        /// The ask's id.
        ask: Key,
        /// What is wanted, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What is allowed in the session's folder from now on when the answer is "always".
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permit: Option<String>,
    },
    /// An ask is settled or given up.
    Settled {
        /// The ask's id.
        ask: Key,
    },
    /// A tool that Parlor runs has printed something.
    Output {
        /// The tool call.
        call: Key,
        /// What it printed.
        text: String,
    },
    /// A tool that Parlor runs has ended.
    Result {
        /// The tool call.
        call: Key,
        /// The tool's name, for a call that was never seen.
        name: Key,
        /// How it ended.
        state: Ended,
        /// What the model is told.
        text: String,
        /// The exit code of a command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// How long it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// True when the model is told less than there was.
        #[serde(default, skip_serializing_if = "crate::block::is_false")]
        truncated: bool,
        /// The change to a file, as a unified diff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    /// Worth knowing.
    Note {
        /// How grave it is.
        level: Level,
        /// What it says.
        text: String,
    },
    /// The conversation was made shorter for the model.
    Compacted {
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
        /// What the model is told instead.
        summary: String,
    },
    /// The agent's turn is over, told by Parlor where the agent's lines do not say it.
    TurnEnded {
        /// How.
        end: TurnEnd,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A stop was carried out, and nothing of the turn is left running.
    Stopped {
        /// The id of the order.
        order: Key,
        /// What was needed.
        needed: Force,
        /// Processes that could not be ended.
        left: u32,
        /// How long it took.
        duration_ms: u64,
    },
    /// The agent's process has ended.
    Exited {
        /// The run.
        run: Key,
        /// Its exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
        /// The signal that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
    },
    /// Parlor itself went away while the agent was at work.
    Lost {
        /// The run.
        run: Key,
        /// Processes of it that were found alive and ended.
        ended: u32,
    },
    /// The agent could not be started.
    Failed {
        /// Why, and what to do.
        text: String,
    },
    /// This session's agent has a message for another session: an exchange begins.
    Sent {
        /// The exchange's id, the same in both sessions.
        exchange: Key,
        /// The tool call that carries it, by its entry; none when no call was seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<Key>,
        /// The tool's name.
        name: Key,
        /// To whom.
        to: Peer,
        /// The message.
        text: String,
        /// True when the call waits for the reply; else the reply comes as a prompt.
        wait: bool,
        /// How many exchanges led to this one, itself included.
        depth: u32,
    },
    /// How far an exchange of this session's agent is.
    Receipt {
        /// The exchange.
        exchange: Key,
        /// How far it is.
        receipt: Receipt,
        /// The reply, or why there is none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// A tool call that the other agent made for an exchange, as the sender sees it.
    Work {
        /// The exchange.
        exchange: Key,
        /// The call's name in the other session.
        call: Key,
        /// The tool.
        name: Key,
        /// Its input, as JSON.
        input: String,
        /// How it ended; none while it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Ended>,
        /// What came back.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// True when input or result are longer in the other session.
        #[serde(default, skip_serializing_if = "crate::block::is_false")]
        truncated: bool,
    },
    /// Another session's agent has a message, or its reply, for this one: it waits as a prompt.
    Received {
        /// The exchange.
        exchange: Key,
        /// The prompt's id.
        prompt: Key,
        /// From whom.
        from: Peer,
        /// The message.
        text: String,
        /// How many exchanges led to it.
        depth: u32,
    },
    /// A message that waited was taken back by its sender.
    Withdrawn {
        /// The prompt's id.
        prompt: Key,
    },
}

/// The other side of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its session.
    pub session: Key,
    /// Its agent's name.
    pub agent: Key,
}

impl Peer {
    /// A message of this peer as the receiving agent is told it: in Claude Code's own words for such messages, so that
    /// its session file tells them from a person's too.
    pub fn words(&self, text: &str) -> String {
        let Peer { session, agent } = self;
        // What the message says must not look like the end of it.
        let text = text.replace("</teammate-message", "< /teammate-message");
        format!(
            "<teammate-message teammate_id=\"{agent}\" session=\"{session}\">\n{text}\n</teammate-message>"
        )
    }
}

/// How far an exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// The other agent is busy: the message waits.
    Queued,
    /// The other agent has it.
    Taken,
    /// The reply is there.
    Answered,
    /// There will be no reply.
    Failed,
    /// The sender was stopped, or no longer waits.
    Withdrawn,
}

impl Receipt {
    /// True when nothing comes after it.
    pub fn is_final(self) -> bool {
        matches!(self, Receipt::Answered | Receipt::Failed | Receipt::Withdrawn)
    }
}

/// How a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Well.
    Done,
    /// With an error.
    Failed,
    /// A person or a rule said no.
    Denied,
    /// Cut off.
    Interrupted,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// Well.
    Done,
    /// With an error.
    Failed,
    /// Stopped by a person.
    Interrupted,
}

/// How grave a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Worth a look.
    Warning,
    /// Something failed.
    Error,
    /// It is tried again.
    Retry,
}

/// What it took to stop an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Force {
    /// Nothing ran.
    Nothing,
    /// Its own protocol.
    Protocol,
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}
