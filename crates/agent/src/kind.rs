//! What the agents are called. It starts nothing.

use parlor_dialect::Format;

use crate::Kind;

impl Kind {
    /// All agents, in the order in which they are offered.
    pub const ALL: [Kind; 5] = [Kind::Claude, Kind::Codex, Kind::Pi, Kind::Builtin, Kind::Demo];

    /// The name in orders and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Claude => "claude",
            Kind::Codex => "codex",
            Kind::Pi => "pi",
            Kind::Builtin => "builtin",
            Kind::Demo => "demo",
        }
    }

    /// The agent of that name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name as people read it.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Claude => "Claude Code",
            Kind::Codex => "Codex",
            Kind::Pi => "Pi",
            Kind::Builtin => "Parlor's own agent",
            Kind::Demo => "Demo",
        }
    }

    /// The format of its lines, as it is usually run; [`Seen::Started`](parlor_model::seen::Seen::Started) says how it
    /// was run this time.
    pub fn format(self) -> Format {
        match self {
            Kind::Claude | Kind::Demo => Format::ClaudeStream,
            Kind::Codex => Format::CodexApp,
            Kind::Pi => Format::PiEvents,
            Kind::Builtin => Format::OpenaiChat,
        }
    }
}
