//! The formats Parlor reads, and which of them a line belongs to.

use parlor_model::line::Line;

use crate::{
    Claim, Dialect, acp, bridge, cdev, claude, codex_app, codex_exec, codex_rollout, legion, openai_chat,
    openai_responses, pi_events, pi_session,
};

/// A format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Claude Code's session file.
    ClaudeSession,
    /// `claude -p --output-format stream-json`, also bare Anthropic API events.
    ClaudeStream,
    /// Codex's rollout file.
    CodexRollout,
    /// `codex exec --json`.
    CodexExec,
    /// `codex app-server`: JSON-RPC.
    CodexApp,
    /// Pi's session file.
    PiSession,
    /// `pi --mode json` and `--mode rpc`.
    PiEvents,
    /// OpenAI-compatible chat completions, streamed.
    OpenaiChat,
    /// OpenAI's Responses API, streamed.
    OpenaiResponses,
    /// The Agent Client Protocol.
    Acp,
    /// cdev's `session/messages`.
    Cdev,
    /// cli-bridge's `stream` messages.
    Bridge,
    /// legion's `messages.jsonl`.
    Legion,
}

/// Who wrote a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Pi.
    Pi,
    /// A model behind an OpenAI-compatible API.
    Model,
    /// Any agent that speaks ACP.
    Acp,
}

impl Agent {
    /// The agent's name as people read it.
    pub fn name(self) -> &'static str {
        match self {
            Agent::Claude => "Claude",
            Agent::Codex => "Codex",
            Agent::Pi => "Pi",
            Agent::Model => "Model",
            Agent::Acp => "ACP agent",
        }
    }
}

impl Format {
    /// All formats. Of equal claims the first one wins.
    pub const ALL: [Format; 13] = [
        Format::ClaudeSession,
        Format::ClaudeStream,
        Format::CodexRollout,
        Format::CodexExec,
        Format::CodexApp,
        Format::PiSession,
        Format::PiEvents,
        Format::OpenaiChat,
        Format::OpenaiResponses,
        Format::Acp,
        Format::Cdev,
        Format::Bridge,
        Format::Legion,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::ClaudeSession => "claude-session",
            Format::ClaudeStream => "claude-stream",
            Format::CodexRollout => "codex-rollout",
            Format::CodexExec => "codex-exec",
            Format::CodexApp => "codex-app",
            Format::PiSession => "pi-session",
            Format::PiEvents => "pi-events",
            Format::OpenaiChat => "openai-chat",
            Format::OpenaiResponses => "openai-responses",
            Format::Acp => "acp",
            Format::Cdev => "cdev",
            Format::Bridge => "bridge",
            Format::Legion => "legion",
        }
    }

    /// Who writes it.
    pub fn agent(self) -> Agent {
        match self {
            Format::ClaudeSession | Format::ClaudeStream | Format::Cdev | Format::Bridge | Format::Legion => {
                Agent::Claude
            }
            Format::CodexRollout | Format::CodexExec | Format::CodexApp => Agent::Codex,
            Format::PiSession | Format::PiEvents => Agent::Pi,
            Format::OpenaiChat | Format::OpenaiResponses => Agent::Model,
            Format::Acp => Agent::Acp,
        }
    }

    /// A fresh reader.
    pub fn dialect(self) -> Box<dyn Dialect> {
        match self {
            Format::ClaudeSession => Box::<claude::session::ClaudeSession>::default(),
            Format::ClaudeStream => Box::<claude::stream::ClaudeStream>::default(),
            Format::CodexRollout => Box::<codex_rollout::CodexRollout>::default(),
            Format::CodexExec => Box::<codex_exec::CodexExec>::default(),
            Format::CodexApp => Box::<codex_app::CodexApp>::default(),
            Format::PiSession => Box::<pi_session::PiSession>::default(),
            Format::PiEvents => Box::<pi_events::PiEvents>::default(),
            Format::OpenaiChat => Box::<openai_chat::OpenaiChat>::default(),
            Format::OpenaiResponses => Box::<openai_responses::OpenaiResponses>::default(),
            Format::Acp => Box::<acp::Acp>::default(),
            Format::Cdev => Box::<cdev::Cdev>::default(),
            Format::Bridge => Box::<bridge::Bridge>::default(),
            Format::Legion => Box::<legion::Legion>::default(),
        }
    }

    /// How sure this format is that `line` is its own.
    pub fn claim(self, line: &Line) -> Claim {
        match self {
            Format::ClaudeSession => claude::session::claim(line),
            Format::ClaudeStream => claude::stream::claim(line),
            Format::CodexRollout => codex_rollout::claim(line),
            Format::CodexExec => codex_exec::claim(line),
            Format::CodexApp => codex_app::claim(line),
            Format::PiSession => pi_session::claim(line),
            Format::PiEvents => pi_events::claim(line),
            Format::OpenaiChat => openai_chat::claim(line),
            Format::OpenaiResponses => openai_responses::claim(line),
            Format::Acp => acp::claim(line),
            Format::Cdev => cdev::claim(line),
            Format::Bridge => bridge::claim(line),
            Format::Legion => legion::claim(line),
        }
    }

    /// The format of a stream by its first lines: the one that claims most of them. `None` when nobody claims any.
    pub fn detect<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Option<Format> {
        let mut scores = [0u32; Format::ALL.len()];
        for line in lines {
            for (score, format) in scores.iter_mut().zip(Format::ALL) {
                *score += match format.claim(line) {
                    Claim::No => 0,
                    Claim::Maybe => 1,
                    Claim::Yes => 4,
                };
            }
        }
        let best = scores.iter().copied().max().filter(|best| *best > 0)?;
        scores.iter().position(|score| *score == best).map(|index| Format::ALL[index])
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}
