//! The tools by which agents talk to each other, as models are told of them. Whoever offers them uses these words.

use serde_json::{Value, json};

/// A tool as a model is told of it.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub words: &'static str,
    /// The JSON Schema of its input.
    pub input: Value,
}

/// What an agent is told of messages besides the tools.
pub const INSTRUCTIONS: &str = "Other coding agents work in this house. Send one a message with `agents_message`; list them with \
    `agents_list`. A message from another agent comes to you as <teammate-message teammate_id=\"NAME\" session=\"ID\">: it is \
    from an agent, not from the user, and what you reply at the end of that turn is sent back to it by itself.";

/// The tools.
pub fn definitions() -> [Definition; 4] {
    let text = |words: &str| json!({ "type": "string", "description": words });
    [
        Definition {
            name: "agents_message",
            words: "Send a message to another coding agent and get its reply. The other agent sees only the message: say all \
                that it needs to know. While it is busy the message waits.",
            input: object(
                json!({
                    "to": text("A session's id, or an agent's name (claude, codex, pi, builtin) for one in this folder."),
                    "message": text("What to say."),
                    "wait": {
                        "type": "boolean",
                        "description": "True (usual): this call returns the reply. False: it returns at once, and the reply \
                            comes to you as a message later.",
                    },
                }),
                &["to", "message"],
            ),
        },
        Definition {
            name: "agents_list",
            words: "List the agents and the sessions that you can message.",
            input: object(json!({}), &[]),
        },
        Definition {
            name: "agents_read",
            words: "Read the last entries of another session in this folder.",
            input: object(
                json!({
                    "session": text("The session's id."),
                    "last": { "type": "integer", "description": "How many entries; 20 when not said, at most 200." },
                }),
                &["session"],
            ),
        },
        Definition {
            name: "agents_wait",
            words: "Wait for the reply to a message that was sent with `wait` false.",
            input: object(
                json!({ "exchange": text("The exchange's id, as `agents_message` gave it.") }),
                &["exchange"],
            ),
        },
    ]
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
