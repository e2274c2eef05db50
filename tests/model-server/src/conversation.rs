//! What has been said, whatever the wire: enough to know the script and its step. It must not know wire formats.

use crate::marker::Marker;

/// The turns of a request, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    turns: Vec<Turn>,
}

/// One turn of the conversation.
#[derive(Debug)]
pub(crate) enum Turn {
    /// What a person, or the agent on its own behalf, told the model.
    Prompt(String),
    /// What the model answered, with the names of the tools it called.
    Answer(Vec<String>),
    /// What a tool gave back.
    Result(String),
}

/// Which script plays, and how far it has come.
#[derive(Debug)]
pub(crate) struct Cue {
    pub(crate) marker: Marker,
    pub(crate) step: usize,
    /// Whether the agent's search for hidden tools was used since the marker.
    pub(crate) searched: bool,
}

/// Calls that a script does not name: looking for a hidden tool, and waiting for a command that still runs.
pub(crate) const SEARCH_TOOLS: [&str; 2] = ["ToolSearch", "tool_search"];
pub(crate) const WAIT_TOOL: &str = "write_stdin";

impl Conversation {
    /// Adds what was told to the model.
    pub(crate) fn prompt(&mut self, text: String) {
        self.turns.push(Turn::Prompt(text));
    }

    /// Adds what the model said; items that follow each other are one answer.
    pub(crate) fn answer(&mut self, calls: impl IntoIterator<Item = String>) {
        if let Some(Turn::Answer(known)) = self.turns.last_mut() {
            known.extend(calls);
        } else {
            self.turns.push(Turn::Answer(calls.into_iter().collect()));
        }
    }

    /// Adds what a tool gave back.
    pub(crate) fn result(&mut self, text: String) {
        self.turns.push(Turn::Result(text));
    }

    /// The last marker and the number of answers after it.
    pub(crate) fn cue(&self) -> Option<Cue> {
        let mut cue: Option<Cue> = None;
        for turn in &self.turns {
            match turn {
                Turn::Prompt(text) => {
                    if let Some(marker) = Marker::last_in(text) {
                        cue = Some(Cue { marker, step: 0, searched: false });
                    }
                }
                Turn::Answer(calls) => {
                    if let Some(cue) = &mut cue {
                        cue.searched |= calls.iter().any(|name| SEARCH_TOOLS.contains(&name.as_str()));
                        cue.step += usize::from(!is_detour(calls));
                    }
                }
                Turn::Result(_) => {}
            }
        }
        cue
    }

    /// What the tools gave back since the last answer.
    pub(crate) fn last_result(&self) -> String {
        let mut results = Vec::new();
        for turn in self.turns.iter().rev() {
            match turn {
                Turn::Answer(_) => break,
                Turn::Result(text) => results.push(text.trim()),
                Turn::Prompt(_) => {}
            }
        }
        results.reverse();
        results.join("\n")
    }

    /// All that tools gave back, newest first.
    pub(crate) fn results(&self) -> impl Iterator<Item = &str> {
        self.turns.iter().rev().filter_map(|turn| match turn {
            Turn::Result(text) => Some(text.as_str()),
            Turn::Prompt(_) | Turn::Answer(_) => None,
        })
    }

    /// The last prompt that is a person's: agents put notes in angle brackets beside it.
    pub(crate) fn last_prompt(&self) -> Option<&str> {
        self.turns.iter().rev().find_map(|turn| match turn {
            Turn::Prompt(text) if !text.trim_start().starts_with('<') => Some(text.trim()),
            Turn::Prompt(_) | Turn::Answer(_) | Turn::Result(_) => None,
        })
    }
}

/// An answer that only looked for a tool or waited is no step of the script.
fn is_detour(calls: &[String]) -> bool {
    !calls.is_empty() && calls.iter().all(|name| name == WAIT_TOOL || SEARCH_TOOLS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::Conversation;

    #[test]
    fn the_step_is_the_number_of_answers_after_the_last_marker() {
        let mut conversation = Conversation::default();
        conversation.prompt("[[script one]]".into());
        conversation.answer(["Bash".into()]);
        conversation.result("first".into());
        conversation.prompt("[[script two]]".into());
        assert_eq!(conversation.cue().unwrap().step, 0);
        conversation.answer(None);
        conversation.answer(["Bash".into()]);
        conversation.result("a".into());
        conversation.result("b".into());
        conversation.prompt("no marker here".into());
        let cue = conversation.cue().unwrap();
        assert_eq!((cue.marker.name.as_str(), cue.step), ("two", 1));
        assert_eq!(conversation.last_result(), "a\nb");
        assert_eq!(conversation.last_prompt(), Some("no marker here"));
    }

    #[test]
    fn a_search_or_a_wait_is_no_step() {
        let mut conversation = Conversation::default();
        conversation.prompt("[[script one]]".into());
        conversation.answer(["tool_search".into()]);
        conversation.result("found".into());
        conversation.answer(["exec_command".into()]);
        conversation.result("running".into());
        conversation.answer(["write_stdin".into()]);
        let cue = conversation.cue().unwrap();
        assert_eq!((cue.step, cue.searched), (1, true));
    }
}
