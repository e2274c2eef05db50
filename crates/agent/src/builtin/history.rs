//! What was said before becomes the messages of a request, such that every request is valid: after each call comes its
//! result, invented where there is none. A pure function of the entries.

use parlor_model::Key;
use parlor_model::block::{Attachment, Author, Block, Notice, NoticeKind, Prompt, Source};
use parlor_model::entry::Entry;
use parlor_model::tool::{Piece, Tool, ToolState};

use super::message::{Call, Message};
use super::tool::shorten;

/// What the model is told of a call whose end nobody saw.
pub(crate) const INTERRUPTED: &str =
    "Interrupted: the call was cut off before it had a result; what it does may be done in part.";

/// The messages of a conversation.
pub(crate) fn messages(entries: &[Entry]) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut open = Open::default();
    for entry in entries.iter().filter(|entry| entry.parent.is_none() && !entry.overtaken) {
        match &entry.block {
            Block::Prompt(prompt) if !prompt.queued => {
                open.close(&mut messages);
                messages.push(user(prompt));
            }
            Block::Reply(reply) if !reply.text.is_blank() => {
                open.turn_to(entry.message.as_ref(), &mut messages);
                open.say(&reply.text.as_str(), &mut messages);
            }
            Block::Tool(tool) if !tool.name.is_empty() => {
                open.turn_to(entry.message.as_ref(), &mut messages);
                open.call(entry.id.clone(), tool);
            }
            Block::Notice(Notice { kind: NoticeKind::Compaction { .. }, text }) if !text.is_blank() => {
                open = Open::default();
                messages = vec![Message::user(text.as_str())];
            }
            Block::Prompt(_)
            | Block::Reply(_)
            | Block::Tool(_)
            | Block::Thought(_)
            | Block::Notice(_)
            | Block::Unknown(_) => {}
        }
    }
    open.close(&mut messages);
    messages
}

/// An assistant's message as far as it has been read.
#[derive(Default)]
struct Open {
    message: Option<Key>,
    text: String,
    calls: Vec<Call>,
    results: Vec<Message>,
}

impl Open {
    fn turn_to(&mut self, message: Option<&Key>, messages: &mut Vec<Message>) {
        if self.message.as_ref() != message {
            self.close(messages);
            self.message = message.cloned();
        }
    }

    /// Words after calls are another message, unless the same answer holds them.
    fn say(&mut self, text: &str, messages: &mut Vec<Message>) {
        if self.message.is_none() && !self.calls.is_empty() {
            self.close(messages);
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    fn call(&mut self, id: Key, tool: &Tool) {
        self.results.push(Message::Tool { call: id.clone(), text: result(tool) });
        self.calls.push(Call { id, name: tool.name.clone(), arguments: tool.input.lossy().into_owned() });
    }

    fn close(&mut self, messages: &mut Vec<Message>) {
        let Open { text, calls, results, .. } = std::mem::take(self);
        if !text.is_empty() || !calls.is_empty() {
            messages.push(Message::Assistant { text, thought: None, calls });
            messages.extend(results);
        }
    }
}

fn user(prompt: &Prompt) -> Message {
    let words = prompt.text.as_str();
    let mut text = match &prompt.author {
        Author::Peer { name } => format!("Message from the agent {}:\n{words}", name.as_str()),
        Author::Person | Author::Caller | Author::Machine => words.into_owned(),
    };
    let mut pictures = Vec::new();
    for attachment in &prompt.attachments {
        match picture(attachment) {
            Some(url) => pictures.push(url),
            None => text.push_str(&remark(attachment)),
        }
    }
    Message::User { text, pictures }
}

fn picture(attachment: &Attachment) -> Option<String> {
    if !attachment.media_type.starts_with("image/") {
        return None;
    }
    match &attachment.source {
        Source::Base64(data) => Some(format!("data:{};base64,{}", attachment.media_type, data.as_str())),
        Source::Url(url) => Some(url.as_str().into_owned()),
        Source::Text(_) | Source::Missing => None,
    }
}

fn remark(attachment: &Attachment) -> String {
    let name = attachment.name.as_ref().map_or_else(|| "a file".into(), |name| name.as_str());
    match &attachment.source {
        Source::Text(text) => format!("\n\n{name}:\n{}", text.as_str()),
        Source::Base64(_) | Source::Url(_) | Source::Missing => {
            format!("\n\n[{name} ({}) was attached]", attachment.media_type)
        }
    }
}

/// What a call gave back, as the model was told.
fn result(tool: &Tool) -> String {
    let output = tool.output.as_deref();
    let text = output.map(|output| output.joined()).unwrap_or_default();
    let pictures = output.map_or(0, |output| {
        output.parts.iter().filter(|part| matches!(part, Piece::Attachment { .. })).count()
    });
    let text = match tool.state {
        ToolState::Pending | ToolState::Waiting | ToolState::Running => INTERRUPTED.to_owned(),
        ToolState::Interrupted if text.is_empty() => INTERRUPTED.to_owned(),
        ToolState::Denied if text.is_empty() => "Denied by the user.".to_owned(),
        _ if text.is_empty() && pictures > 0 => format!("[{pictures} pictures]"),
        _ if text.is_empty() => "(no output)".to_owned(),
        _ => text,
    };
    shorten(&text).0.into_owned()
}

#[cfg(test)]
mod tests {
    use parlor_model::block::Reply;
    use parlor_model::json::Json;
    use parlor_model::tool::Output;

    use super::*;

    fn entry(id: &str, message: &str, block: Block) -> Entry {
        Entry {
            id: id.into(),
            parent: None,
            message: (!message.is_empty()).then(|| message.into()),
            seq: 0,
            at: None,
            ended: None,
            rev: 0,
            group: None,
            opens: false,
            overtaken: false,
            block,
        }
    }

    fn prompt(id: &str, text: &str) -> Entry {
        entry(id, "", Block::Prompt(Prompt { text: text.into(), ..Prompt::default() }))
    }

    fn reply(id: &str, message: &str, text: &str) -> Entry {
        entry(id, message, Block::Reply(Reply { text: text.into(), ..Reply::default() }))
    }

    fn tool(id: &str, message: &str, state: ToolState, output: Option<&str>) -> Entry {
        let input = Json::new(bytes::Bytes::from_static(b"{\"command\":\"ls\"}"));
        let output = output.map(|text| Box::new(Output::text(text)));
        entry(id, message, Block::Tool(Box::new(Tool { state, output, ..Tool::call("Bash", input) })))
    }

    fn compaction(text: &str) -> Entry {
        let kind = NoticeKind::Compaction { before: None, after: None };
        entry("compaction", "", Block::Notice(Notice { kind, text: text.into() }))
    }

    /// One word for each message.
    fn told(entries: &[Entry]) -> Vec<String> {
        let word = |message: &Message| match message {
            Message::User { text, pictures } => {
                format!("user {text} {}", pictures.join(" ")).trim().to_owned()
            }
            Message::Assistant { text, calls, .. } => {
                let ids = calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>().join(",");
                format!("assistant {text} [{ids}]")
            }
            Message::Tool { call, text } => format!("tool {call} {text}"),
        };
        messages(entries).iter().map(word).collect()
    }

    #[test]
    fn an_answer_is_one_message_and_its_results_follow_it() {
        let entries = [
            prompt("p", "go"),
            reply("a/0", "a", "I look."),
            tool("c", "a", ToolState::Done, Some("x")),
            tool("d", "a", ToolState::Failed, Some("no")),
            reply("b/0", "b", "Done."),
        ];
        assert_eq!(
            told(&entries),
            ["user go", "assistant I look. [c,d]", "tool c x", "tool d no", "assistant Done. []"]
        );
    }

    #[test]
    fn a_call_without_a_result_gets_one() {
        for state in [ToolState::Pending, ToolState::Waiting, ToolState::Running, ToolState::Interrupted] {
            let entries = [prompt("p", "go"), tool("c", "a", state, None), prompt("q", "again")];
            let interrupted = format!("tool c {INTERRUPTED}");
            assert_eq!(
                told(&entries),
                ["user go", "assistant  [c]", &interrupted, "user again"],
                "{state:?}"
            );
        }
    }

    #[test]
    fn a_compaction_starts_again_from_its_summary() {
        let entries = [prompt("p", "go"), reply("a", "a", "x"), compaction("so far: x"), prompt("q", "on")];
        assert_eq!(told(&entries), ["user so far: x", "user on"]);
        let entries = [prompt("p", "go"), compaction(""), prompt("q", "on")];
        assert_eq!(
            told(&entries),
            ["user go", "user on"],
            "a compaction that says nothing takes nothing away"
        );
    }

    #[test]
    fn what_was_overtaken_or_done_by_a_subagent_is_not_told() {
        let mut old = reply("a", "a", "old");
        old.overtaken = true;
        let mut under = tool("x", "s", ToolState::Done, Some("x"));
        under.parent = Some("task".into());
        assert_eq!(
            told(&[prompt("p", "go"), old, under, reply("b", "b", "new")]),
            ["user go", "assistant new []"]
        );
    }

    #[test]
    fn words_put_between_two_calls_split_the_answer_and_leave_it_valid() {
        let entries = [
            tool("c", "a", ToolState::Done, Some("x")),
            prompt("s", "stop that"),
            tool("d", "a", ToolState::Done, Some("y")),
        ];
        assert_eq!(
            told(&entries),
            ["assistant  [c]", "tool c x", "user stop that", "assistant  [d]", "tool d y"]
        );
    }

    #[test]
    fn pictures_come_back_as_pictures() {
        let attachments = vec![
            Attachment { media_type: "image/png".into(), name: None, source: Source::Base64("AAAA".into()) },
            Attachment { media_type: "a/b".into(), name: Some("x".into()), source: Source::Missing },
        ];
        let block = Block::Prompt(Prompt { text: "see".into(), attachments, ..Prompt::default() });
        assert_eq!(
            told(&[entry("p", "", block)]),
            ["user see\n\n[x (a/b) was attached] data:image/png;base64,AAAA"]
        );
    }
}
