//! What a script is made of: steps, blocks, actions, faults. It must not know wire formats or the names of tools.

use serde::Deserialize;
use serde_json::Value;

use crate::marker::Parameters;

/// One answer of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) blocks: Vec<Block>,
    pub(crate) stop: Stop,
    pub(crate) fault: Option<Fault>,
}

/// A part of an answer. `{result}` in a text stands for what the last tools gave back.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Block {
    Thought(String),
    Reply(String),
    Action(Action),
}

/// What a tool call does, whatever the agent calls the tool.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Run(String),
    /// A command that the agent should leave running, where it can.
    Background(String),
    Read(String),
    Write {
        path: String,
        content: String,
    },
    Edit {
        path: String,
        before: String,
        after: String,
    },
    Delegate {
        title: String,
        prompt: String,
        background: bool,
    },
    /// Waits for the subagents, where the agent has a tool for it.
    Await,
    Plan,
    Ask,
    /// Any tool whose name ends with this one.
    Named {
        name: String,
        input: Value,
    },
    /// A tool that nobody offers.
    Unknown,
    /// A command line tool with an input that does not fit.
    Malformed,
}

/// Why an answer ends, where it does not end by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stop {
    #[default]
    Natural,
    Length,
    Refusal,
}

/// What goes wrong with an answer.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// How often it goes wrong; always, where nothing is said.
    #[serde(default)]
    pub(crate) times: Option<u64>,
}

/// The ways in which an answer goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FaultKind {
    /// An HTTP status with the provider's error body.
    Refuse { status: u16, retry_after_s: Option<u64> },
    /// The connection breaks in the middle of the stream.
    Cut,
    /// An error event ends the stream in its middle.
    Break,
    /// The stream stands still in its middle until the client goes away.
    Stall,
    /// No answer at all until the client goes away.
    Hang,
}

/// How text is cut into streamed pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) piece: Piece,
    pub(crate) pause_ms: u64,
}

/// How long a streamed piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    Characters(usize),
    /// A word with the blanks after it.
    Word,
}

impl Step {
    /// A step of some blocks.
    pub(crate) fn of(blocks: impl Into<Vec<Block>>) -> Self {
        Self { blocks: blocks.into(), ..Self::default() }
    }

    /// Whether it starts a command that nobody should wait for.
    pub(crate) fn leaves_command_running(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Action(Action::Background(_))))
    }

    /// The same step, gone wrong.
    pub(crate) fn with_fault(mut self, kind: FaultKind, times: Option<u64>) -> Self {
        self.fault = Some(Fault { kind, times });
        self
    }
}

impl Pace {
    /// A pause longer than this is a script that hangs.
    const LONGEST_PAUSE_MS: u64 = 60_000;

    /// The pace that a marker asks for.
    pub(crate) fn of(parameters: &Parameters, otherwise: Self) -> Self {
        let size = parameters.optional_number("size").and_then(|size| usize::try_from(size).ok());
        Self {
            piece: size.map_or(otherwise.piece, |size| Piece::Characters(size.max(1))),
            pause_ms: parameters.number("ms", otherwise.pause_ms, Self::LONGEST_PAUSE_MS),
        }
    }

    /// Cuts a text into its pieces, between characters.
    pub(crate) fn pieces(self, text: &str) -> Vec<String> {
        match self.piece {
            Piece::Characters(size) => {
                let characters: Vec<char> = text.chars().collect();
                characters.chunks(size).map(|piece| piece.iter().collect()).collect()
            }
            Piece::Word => {
                let mut pieces: Vec<String> = Vec::new();
                for piece in text.split_inclusive(char::is_whitespace) {
                    match pieces.last_mut() {
                        Some(last) if piece.trim().is_empty() => last.push_str(piece),
                        _ => pieces.push(piece.to_owned()),
                    }
                }
                pieces
            }
        }
    }
}

impl Default for Pace {
    /// Several pieces for a short sentence, and no time lost.
    fn default() -> Self {
        Self { piece: Piece::Characters(12), pause_ms: 1 }
    }
}

/// A thought.
pub(crate) fn thought(text: impl Into<String>) -> Block {
    Block::Thought(text.into())
}

/// A reply.
pub(crate) fn reply(text: impl Into<String>) -> Block {
    Block::Reply(text.into())
}

/// A command line.
pub(crate) fn run(command: impl Into<String>) -> Block {
    Block::Action(Action::Run(command.into()))
}
