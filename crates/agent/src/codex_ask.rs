//! What Codex asks, and how it wants to be answered. Each kind of request has its own kind of answer.

use parlor_model::order::{Answer, Choice};
use serde_json::{Map, Value, json};

/// A request that waits for an answer.
pub(crate) struct Asked {
    id: Value,
    kind: Kind,
    params: Value,
}

#[derive(Clone, Copy)]
enum Kind {
    /// A command or a change to files.
    Approval,
    /// The same in the words of older versions.
    Legacy,
    /// More rights for a while.
    Permissions,
    /// Questions to the person.
    Questions,
    /// A question that an MCP server asks.
    Elicitation,
}

impl Asked {
    /// The request, where it is one that a person can answer.
    pub(crate) fn new(method: &str, id: &Value, params: Value) -> Option<Asked> {
        let kind = match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => Kind::Approval,
            "execCommandApproval" | "applyPatchApproval" => Kind::Legacy,
            "item/permissions/requestApproval" => Kind::Permissions,
            "item/tool/requestUserInput" => Kind::Questions,
            "mcpServer/elicitation/request" => Kind::Elicitation,
            _ => return None,
        };
        Some(Asked { id: id.clone(), kind, params })
    }

    /// The reason of a no, where the answer itself has no room for it, and the thread that it is for.
    pub(crate) fn reason<'a>(&'a self, answer: &'a Answer) -> Option<(&'a str, &'a str)> {
        let has_room = match self.kind {
            Kind::Approval | Kind::Legacy | Kind::Permissions => false,
            Kind::Questions | Kind::Elicitation => true,
        };
        let is_no = matches!(answer.choice, Choice::Deny | Choice::Reply);
        let reason = answer.reason.as_deref().filter(|reason| !reason.trim().is_empty());
        Some((self.params["threadId"].as_str()?, reason.filter(|_| is_no && !has_room)?))
    }
}

/// The id as the dialect tells it.
pub(crate) fn name(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// The answer as Codex wants it.
pub(crate) fn reply(Asked { id, kind, params }: Asked, answer: &Answer) -> Value {
    let result = match kind {
        Kind::Approval => json!({ "decision": decision(&params, answer.choice) }),
        Kind::Legacy => json!({ "decision": match answer.choice {
            Choice::Allow => "approved",
            Choice::AllowSession | Choice::AllowAlways => "approved_for_session",
            Choice::Deny | Choice::Reply => "denied",
        }}),
        Kind::Permissions => permissions(&params, answer.choice),
        Kind::Questions => json!({ "answers": answers(&params, answer) }),
        Kind::Elicitation => elicitation(&params, answer),
    };
    json!({ "id": id, "result": result })
}

/// "Always" is a rule for the command, where Codex offers one; else it is for the session.
fn decision(params: &Value, choice: Choice) -> Value {
    let rule = || {
        let offered = params["availableDecisions"].as_array()?;
        offered.iter().find(|decision| decision.get("acceptWithExecpolicyAmendment").is_some()).cloned()
    };
    match choice {
        Choice::Allow => json!("accept"),
        Choice::AllowSession => json!("acceptForSession"),
        Choice::AllowAlways => rule().unwrap_or_else(|| json!("acceptForSession")),
        Choice::Deny | Choice::Reply => json!("decline"),
    }
}

fn permissions(params: &Value, choice: Choice) -> Value {
    let (granted, scope) = match choice {
        Choice::Allow => (params["permissions"].clone(), "turn"),
        Choice::AllowSession | Choice::AllowAlways => (params["permissions"].clone(), "session"),
        Choice::Deny | Choice::Reply => (json!({}), "turn"),
    };
    json!({ "permissions": granted, "scope": scope })
}

/// Answers come by the question's words; Codex knows questions by their ids.
fn answers(params: &Value, answer: &Answer) -> Map<String, Value> {
    let questions = params["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut answers = Map::new();
    for (index, question) in questions.iter().enumerate() {
        let words = question["question"].as_str().unwrap_or_default();
        let id = question["id"].as_str().unwrap_or(words);
        let told =
            answer.answers.iter().find(|(asked, _)| asked == words || asked == id).map(|(_, told)| told);
        let told = told.or_else(|| answer.reason.as_ref().filter(|_| index == 0));
        let told: Vec<&String> = told.into_iter().collect();
        answers.insert(id.to_owned(), json!({ "answers": told }));
    }
    answers
}

/// An MCP server's form: answers by the names of its fields.
fn elicitation(params: &Value, answer: &Answer) -> Value {
    if matches!(answer.choice, Choice::Deny) {
        return json!({ "action": "decline", "content": null });
    }
    let mut content: Map<String, Value> =
        answer.answers.iter().map(|(field, told)| (field.clone(), json!(told))).collect();
    let field = params["requestedSchema"]["properties"].as_object().and_then(|fields| fields.keys().next());
    if let (true, Some(field), Some(told)) = (content.is_empty(), field, &answer.reason) {
        content.insert(field.clone(), json!(told));
    }
    json!({ "action": "accept", "content": content })
}
