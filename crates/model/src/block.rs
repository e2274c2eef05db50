//! The six kinds of block a conversation is made of.

use serde::Serialize;

use crate::Key;
use crate::json::Json;
use crate::text::Text;
use crate::tool::Tool;

/// One thing in a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// What someone told the agent.
    Prompt(Prompt),
    /// What the agent said.
    Reply(Reply),
    /// What the agent thought.
    Thought(Thought),
    /// What the agent did, with what came back.
    Tool(Box<Tool>),
    /// What happened around the conversation.
    Notice(Notice),
    /// What nobody understands yet: kept as it is.
    Unknown(Unknown),
}

/// What someone told the agent. Only an author who is a person has the role "User".
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prompt {
    /// The words.
    pub text: Text,
    /// Who said it.
    pub author: Author,
    /// Pictures and documents that came with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// True while it waits for the agent to be free.
    #[serde(skip_serializing_if = "is_false")]
    pub queued: bool,
    /// True when it was put into a turn that was already running.
    #[serde(skip_serializing_if = "is_false")]
    pub steered: bool,
    /// The exchange it came in, where another agent of this house sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Box<Exchange>>,
}

/// The exchange between two agents that a block is part of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// Its id, the same in both sessions.
    pub id: Key,
    /// The other session.
    pub session: Key,
}

/// Who said something to the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "author", rename_all = "snake_case")]
pub enum Author {
    /// A human being.
    #[default]
    Person,
    /// Another agent, in an exchange.
    Peer {
        /// What it is called.
        name: Text,
    },
    /// The agent that gave this subagent its task.
    Caller,
    /// The agent's own machinery: a continuation, a notification, a skill's body.
    Machine,
}

/// What the agent said.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reply {
    /// Markdown, as the model wrote it.
    pub text: Text,
    /// True while it is being written.
    #[serde(skip_serializing_if = "is_false")]
    pub streaming: bool,
    /// True when it was cut off.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
}

/// What the agent thought.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Thought {
    /// The text; empty when the provider keeps it to itself.
    pub text: Text,
    /// True when the provider says that it hides the text.
    #[serde(skip_serializing_if = "is_false")]
    pub redacted: bool,
    /// True while it is being written.
    #[serde(skip_serializing_if = "is_false")]
    pub streaming: bool,
    /// True when it was cut off.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// How long it took, where the record says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A remark about the conversation that is nobody's words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    /// What it is about.
    #[serde(flatten)]
    pub kind: NoticeKind,
    /// What it says.
    pub text: Text,
}

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum NoticeKind {
    /// Worth knowing.
    Info,
    /// Worth a look.
    Warning,
    /// Something failed: an API error, an exit code.
    Error,
    /// The agent tries again.
    Retry,
    /// A person stopped the turn.
    Interrupted,
    /// The context was compacted; the text is the summary.
    Compaction {
        /// Tokens before.
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// Tokens after.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
    /// A slash command or a shell command of the person's, with what it printed.
    Command {
        /// As typed, slash or `!` included.
        command: Text,
    },
    /// A hook ran and had something to say.
    Hook {
        /// Its event and name.
        name: Text,
    },
    /// A background task ended or reported.
    Task,
    /// The working tree changed: a unified diff.
    Diff,
    /// A final result that differs from the last reply.
    Result,
    /// Session bookkeeping that some clients show: a mode, a link, a status. The name is the agent's.
    Status {
        /// The record's own type.
        name: Key,
    },
}

/// A record nobody understands, kept whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unknown {
    /// Its type, as far as one can tell.
    pub kind: Key,
    /// Its bytes.
    pub raw: Json,
}

/// A picture or document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attachment {
    /// `image/png`, `application/pdf`, …; empty when not said.
    pub media_type: Key,
    /// What it is called, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Where it is.
    pub source: Source,
}

/// Where an attachment's bytes are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// In the record, in base64.
    Base64(Text),
    /// Somewhere else.
    Url(Text),
    /// Plain text in the record.
    Text(Text),
    /// Not in the record.
    Missing,
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}
