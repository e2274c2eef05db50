//! The named rules by which profiles leave records and messages out. Each is a function of what it is given (and of
//! what was delivered before), so that applying it twice is applying it once. Left out never means deleted.

use parlor_model::block::{Author, NoticeKind, Prompt};
use parlor_model::json::Reader;
use parlor_model::line::Line;
use parlor_model::rule::{Rule, is_caveat};
use serde_json::Value;

/// The rule that keeps a record from clients of `raw`: summaries, system records, and the work of subagents, by the
/// record's own words.
pub fn internal(line: &Line) -> Option<Rule> {
    let mut rule = None;
    let mut sidechain = false;
    Reader::new(line.bytes()).object(|reader, key| match key {
        b"type" => {
            rule = match reader.text().map(|span| line.word(span)) {
                Some(b"summary") => Some(Rule::Summary),
                Some(b"system") => Some(Rule::Status),
                _ => None,
            }
        }
        b"isSidechain" => sidechain = reader.bool() == Some(true),
        _ => {}
    });
    rule.or_else(|| sidechain.then_some(Rule::Sidechain))
}

/// The rule that keeps the caveat before local commands from being shown as a person's words.
pub fn caveat(prompt: &Prompt) -> Option<Rule> {
    let caveat = prompt.author == Author::Person && is_caveat(&prompt.text.as_str());
    caveat.then_some(Rule::Caveat)
}

/// The rule that keeps reports of starting up from readers.
pub fn start_up(kind: &NoticeKind) -> Option<Rule> {
    match kind {
        NoticeKind::Status { name } if name == "init" => Some(Rule::Init),
        NoticeKind::Status { name } if name == "client_launched" => Some(Rule::ClientLaunched),
        _ => None,
    }
}

/// The rules of the `bridge` profile, over the messages it delivers. A client may lay the same sieve over what it
/// receives: it then leaves nothing more out.
#[derive(Clone, Debug, Default)]
pub struct BridgeSieve {
    last_reply: Option<String>,
    idle: bool,
}

impl BridgeSieve {
    /// The rule that leaves this message (inside its envelope) out, if there is one.
    pub fn hides(&mut self, message: &Value) -> Option<Rule> {
        let field = |name: &str| message.get(name).and_then(Value::as_str);
        let content = field("content");
        match (field("type")?, field("subtype"), field("state")) {
            ("assistant", _, _) if message.get("delta") == Some(&Value::Bool(true)) => Some(Rule::Step),
            ("assistant", _, _) => {
                // A subagent's words are not what the final result repeats.
                if message.get("parentId").is_none() {
                    self.last_reply = content.map(str::to_owned);
                }
                None
            }
            ("system", Some("init"), _) => Some(Rule::Init),
            ("system", Some("client_launched"), _) => Some(Rule::ClientLaunched),
            ("system", Some("result"), _) => {
                (content.is_some() && content == self.last_reply.as_deref()).then_some(Rule::SameResult)
            }
            ("state", _, Some("idle")) => std::mem::replace(&mut self.idle, true).then_some(Rule::SameIdle),
            ("state", _, _) => {
                self.idle = false;
                None
            }
            ("user", _, _) if content.is_some_and(is_caveat) => Some(Rule::Caveat),
            _ => None,
        }
    }
}
