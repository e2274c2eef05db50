//! From a request to what is answered: the script's step with its texts filled in and its actions mapped to tools. It
//! must not know wire formats.

use crate::conversation::{Conversation, Cue};
use crate::offer::Offer;
use crate::script::{Block, Fault, Pace, Step, Stop};
use crate::scripts::Script;
use crate::tools::{self, Call, Mapped};

/// What a wire format read out of a request.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) conversation: Conversation,
    pub(crate) offer: Offer,
    pub(crate) model: String,
    pub(crate) wants_stream: bool,
    pub(crate) wants_thoughts: bool,
    /// The last chunk of a chat completion counts tokens only where it is asked to.
    pub(crate) wants_usage: bool,
    /// A guess at the tokens of the request.
    pub(crate) input_tokens: usize,
}

/// An answer, ready to be written.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
    pub(crate) stop: Stop,
    pub(crate) pace: Pace,
}

/// One part of an answer.
#[derive(Debug)]
pub(crate) enum Part {
    Thought(String),
    Reply(String),
    Call(Call),
}

/// The answer to a request with all that the server needs to know of it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) answer: Answer,
    pub(crate) fault: Option<Fault>,
    /// Tells apart what faults count for.
    pub(crate) fault_key: String,
    pub(crate) script: Option<String>,
    pub(crate) step: usize,
}

/// A result is quoted up to this many characters.
const QUOTED_CHARACTERS: usize = 500;
const QUOTED_WORDS: usize = 12;

/// Decides what to answer, or says why the marker cannot be played.
pub(crate) fn plan(asked: &Asked) -> Result<Plan, String> {
    let Some(cue) = asked.conversation.cue() else { return Ok(unscripted(&asked.conversation)) };
    let script = Script::named(&cue.marker.name)?;
    let parameters = &cue.marker.parameters;
    let mut number = cue.step;
    let left_running = number > 0 && script.step(parameters, number - 1)?.leaves_command_running();
    if !left_running
        && let Some(call) = tools::wait_for_command(&asked.conversation.last_result(), &asked.offer)
    {
        return Ok(Plan::detour(call, script, &cue));
    }
    let (step, parts) = loop {
        let step = script.step(parameters, number)?;
        let parts = parts(&step, asked, &cue);
        // A step that this agent has no need of gives its place to the next one.
        if !parts.is_empty() || step.blocks.is_empty() {
            break (step, parts);
        }
        number += 1;
    };
    let fault_key = match parameters.get("id") {
        Some(id) => id.to_owned(),
        None => cue.marker.text(),
    };
    Ok(Plan {
        answer: Answer { parts, stop: step.stop, pace: script.pace(parameters) },
        fault: step.fault,
        fault_key,
        script: Some(script.name.to_owned()),
        step: cue.step,
    })
}

impl Plan {
    /// A call that no script names, before the script goes on.
    fn detour(call: Call, script: &Script, cue: &Cue) -> Self {
        Self {
            answer: Answer { parts: vec![Part::Call(call)], stop: Stop::default(), pace: Pace::default() },
            fault: None,
            fault_key: String::new(),
            script: Some(script.name.to_owned()),
            step: cue.step,
        }
    }
}

impl Answer {
    /// Whether a tool is called.
    pub(crate) fn calls_tools(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call(_)))
    }

    /// A guess at the tokens of the answer.
    pub(crate) fn tokens(&self) -> usize {
        let characters: usize = self
            .parts
            .iter()
            .map(|part| match part {
                Part::Thought(text) | Part::Reply(text) => text.len(),
                Part::Call(call) => call.input_text().len(),
            })
            .sum();
        characters / 4 + 1
    }
}

fn parts(step: &Step, asked: &Asked, cue: &Cue) -> Vec<Part> {
    let result = asked.conversation.last_result();
    let agents = agent_ids(&asked.conversation);
    let mut parts = Vec::new();
    for block in &step.blocks {
        match block {
            Block::Thought(text) if asked.wants_thoughts => parts.push(Part::Thought(filled(text, &result))),
            Block::Thought(_) => {}
            Block::Reply(text) => parts.push(Part::Reply(filled(text, &result))),
            Block::Action(action) => match tools::map(action, &asked.offer, &agents) {
                Mapped::Call(call) => parts.push(Part::Call(call)),
                Mapped::Needless => {}
                Mapped::Missing(text) => match tools::search(action, &asked.offer) {
                    Some(call) if !cue.searched => return vec![Part::Call(call)],
                    _ => parts.push(Part::Reply(text.to_owned())),
                },
            },
        }
    }
    parts
}

fn unscripted(conversation: &Conversation) -> Plan {
    let prompt = conversation.last_prompt().unwrap_or_default();
    let words: Vec<&str> = prompt.split_whitespace().take(QUOTED_WORDS).collect();
    let text = if words.is_empty() {
        "I am a scripted model, and nothing was asked of me.".to_owned()
    } else {
        format!("You said “{}”. I am a scripted model and glad to hear from you.", words.join(" "))
    };
    Plan {
        answer: Answer { parts: vec![Part::Reply(text)], stop: Stop::default(), pace: Pace::default() },
        fault: None,
        fault_key: String::new(),
        script: None,
        step: 0,
    }
}

fn filled(text: &str, result: &str) -> String {
    if !text.contains("{result}") {
        return text.to_owned();
    }
    let mut quoted = output_of(result);
    if let Some((end, _)) = quoted.char_indices().nth(QUOTED_CHARACTERS) {
        quoted.truncate(end);
        quoted.push('…');
    }
    text.replace("{result}", &quoted)
}

/// Codex puts lines about the process before each output; only the output is worth quoting.
fn output_of(result: &str) -> String {
    let mut kept = String::new();
    let mut is_output = !result.contains("\nOutput:\n");
    let only_output = is_output;
    for line in result.lines() {
        if !only_output && line.starts_with("Chunk ID: ") {
            is_output = false;
        } else if !only_output && !is_output && line == "Output:" {
            is_output = true;
        } else if is_output {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.trim().to_owned()
}

/// Finds the ids that Codex gave to subagents in the results of its tool.
fn agent_ids(conversation: &Conversation) -> Vec<String> {
    let mut ids = Vec::new();
    for result in conversation.results() {
        for after in result.split("\"agent_id\":").skip(1) {
            if let Some(id) = after.trim_start().strip_prefix('"').and_then(|text| text.split('"').next()) {
                ids.push(id.to_owned());
            }
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::{QUOTED_CHARACTERS, agent_ids, filled, output_of};
    use crate::conversation::Conversation;

    #[test]
    fn only_the_output_of_a_command_is_quoted() {
        let codex = "Chunk ID: 1\nWall time: 0.1\nProcess exited with code 0\nOutput:\none\n\nChunk ID: 2\nOutput:\ntwo\n";
        assert_eq!(output_of(codex), "one\n\ntwo");
        assert_eq!(output_of("plain\nOutput: no"), "plain\nOutput: no");
    }

    #[test]
    fn a_long_result_is_quoted_with_a_mark_where_it_ends() {
        let text = filled("It said: {result}", &"é".repeat(QUOTED_CHARACTERS + 1));
        assert_eq!(text, format!("It said: {}…", "é".repeat(QUOTED_CHARACTERS)));
        assert_eq!(filled("Nothing.", "result"), "Nothing.");
    }

    #[test]
    fn the_ids_of_subagents_are_found_in_results() {
        let mut conversation = Conversation::default();
        conversation.result(r#"{"agent_id":"first","nickname":"Z"}"#.into());
        conversation.result(r#"{"agent_id": "second"}"#.into());
        assert_eq!(agent_ids(&conversation), ["second", "first"]);
    }
}
