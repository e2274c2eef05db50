//! From what a script wants done to a call of a tool that the request offers. It must not know wire formats.

use serde_json::{Map, Value, json};

use crate::conversation::{SEARCH_TOOLS, WAIT_TOOL};
use crate::offer::{Offer, Tool};
use crate::script::Action;

/// A call as an agent wants it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) input: Input,
}

/// What a tool is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    Object(Value),
    Text(String),
}

impl Call {
    /// The input as it goes over the wire.
    pub(crate) fn input_text(&self) -> String {
        match &self.input {
            Input::Object(value) => value.to_string(),
            Input::Text(text) => text.clone(),
        }
    }
}

/// What became of an action under the tools on offer.
#[derive(Debug, PartialEq)]
pub(crate) enum Mapped {
    Call(Call),
    /// The agent has nothing of the kind; this is said instead.
    Missing(&'static str),
    /// Nothing needs to be done.
    Needless,
}

const COMMAND_TOOLS: [&str; 7] =
    ["Bash", "bash", "exec_command", "shell_command", "shell", "local_shell", "run_shell_command"];
const READ_TOOLS: [&str; 3] = ["Read", "read", "read_file"];
const WRITE_TOOLS: [&str; 3] = ["Write", "write", "write_file"];
const EDIT_TOOLS: [&str; 3] = ["Edit", "edit", "replace"];
const DELEGATE_TOOLS: [&str; 4] = ["Agent", "Task", "task", "spawn_agent"];
const AWAIT_TOOLS: [&str; 1] = ["wait_agent"];
const PLAN_TOOLS: [&str; 4] = ["TodoWrite", "update_plan", "todo_write", "TaskCreate"];
const ASK_TOOLS: [&str; 2] = ["AskUserQuestion", "request_user_input"];
const PATCH_TOOL: &str = "apply_patch";
/// Codex's tool that runs a program which calls the other tools.
const PROGRAM_TOOL: &str = "exec";

const PATH: [&str; 4] = ["file_path", "path", "filePath", "absolute_path"];
const COMMAND: [&str; 2] = ["command", "cmd"];
/// The longest that Codex lets a command run before it answers with a part of the output.
const LONGEST_YIELD_MS: u64 = 30_000;
const SHORTEST_YIELD_MS: u64 = 250;

/// Chooses the tool and writes its input. `agents` are the ids of subagents that earlier results name.
pub(crate) fn map(action: &Action, offer: &Offer, agents: &[String]) -> Mapped {
    match action {
        Action::Run(command) => run(command, offer, None),
        Action::Background(command) => run(command, offer, Some("run_in_background")),
        Action::Read(path) => read(path, offer),
        Action::Write { path, content } => write(path, content, offer),
        Action::Edit { path, before, after } => edit(path, before, after, offer),
        Action::Delegate { title, prompt, background } => delegate(title, prompt, *background, offer),
        Action::Await => wait_for_agents(offer, agents),
        Action::Plan => plan(offer),
        Action::Ask => ask(offer),
        Action::Named { name, input } => match offer.ending(name) {
            Some(tool) => call(tool, input.clone()),
            None => program_call(
                named_program(name, input),
                offer,
                "No tool with the wanted name is offered here.",
            ),
        },
        Action::Unknown => Mapped::Call(Call {
            name: "no_such_tool".into(),
            namespace: None,
            input: Input::Object(json!({"any": 1})),
        }),
        Action::Malformed => match offer.first(&COMMAND_TOOLS) {
            Some(tool) => call(tool, json!({"wrong": true})),
            None => Mapped::Missing("No command tool is offered here."),
        },
    }
}

/// Asks the agent's own search for the tools that an action needs, where there is such a search.
pub(crate) fn search(action: &Action, offer: &Offer) -> Option<Call> {
    let tool = offer.first(&SEARCH_TOOLS)?;
    let wanted = match action {
        Action::Named { name, .. } => name.as_str(),
        Action::Delegate { .. } | Action::Await => "spawn_agent wait_agent",
        Action::Plan => "TodoWrite",
        Action::Ask => "AskUserQuestion",
        _ => return None,
    };
    Some(Call {
        name: tool.name.clone(),
        namespace: tool.namespace.clone(),
        input: Input::Object(json!({"query": wanted})),
    })
}

/// Waits on for a command that Codex answered for before it ended.
pub(crate) fn wait_for_command(result: &str, offer: &Offer) -> Option<Call> {
    let tool = offer.first(&[WAIT_TOOL])?;
    let (_, after) = result.rsplit_once("running with session ID ")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    let session: u64 = digits.parse().ok()?;
    let input = json!({"session_id": session, "chars": "", "yield_time_ms": LONGEST_YIELD_MS});
    Some(Call { name: tool.name.clone(), namespace: tool.namespace.clone(), input: Input::Object(input) })
}

fn run(command: &str, offer: &Offer, flag: Option<&str>) -> Mapped {
    let Some(tool) = offer.first(&COMMAND_TOOLS) else {
        return program_call(command_program(command), offer, "No command tool is offered here.");
    };
    let key = tool.property(&COMMAND);
    let command = if tool.takes_list(key) { json!(["bash", "-lc", command]) } else { json!(command) };
    let mut input = Map::from_iter([(key.to_owned(), command)]);
    if tool.has("description") {
        input.insert("description".into(), json!("Run a command"));
    }
    if tool.has("yield_time_ms") {
        let yield_ms = if flag.is_some() { SHORTEST_YIELD_MS } else { LONGEST_YIELD_MS };
        input.insert("yield_time_ms".into(), json!(yield_ms));
    }
    if let Some(flag) = flag.filter(|flag| tool.has(flag)) {
        input.insert(flag.into(), json!(true));
    }
    call(tool, Value::Object(input))
}

fn read(path: &str, offer: &Offer) -> Mapped {
    match offer.first(&READ_TOOLS) {
        Some(tool) => call(tool, json!({(tool.property(&PATH)): path})),
        None => run(&format!("cat {}", quoted(path)), offer, None),
    }
}

fn write(path: &str, content: &str, offer: &Offer) -> Mapped {
    if let Some(tool) = offer.first(&WRITE_TOOLS) {
        return call(tool, json!({(tool.property(&PATH)): path, (tool.property(&["content"])): content}));
    }
    let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
    let patch = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch");
    patched(&patch, &format!("printf %s {} > {}", quoted(content), quoted(path)), offer)
}

fn edit(path: &str, before: &str, after: &str, offer: &Offer) -> Mapped {
    if let Some(tool) = offer.first(&EDIT_TOOLS) {
        let path_key = tool.property(&PATH);
        if tool.has("edits") {
            return call(tool, json!({path_key: path, "edits": [{"oldText": before, "newText": after}]}));
        }
        let (old, new) =
            (tool.property(&["old_string", "oldText"]), tool.property(&["new_string", "newText"]));
        return call(tool, json!({path_key: path, old: before, new: after}));
    }
    let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-{before}\n+{after}\n*** End Patch");
    let command = format!(
        "BEFORE={} AFTER={} perl -0pi -e 's/\\Q$ENV{{BEFORE}}\\E/$ENV{{AFTER}}/' {}",
        quoted(before),
        quoted(after),
        quoted(path)
    );
    patched(&patch, &command, offer)
}

/// A patch where the agent takes one, and otherwise a command that does the same.
fn patched(patch: &str, command: &str, offer: &Offer) -> Mapped {
    match offer.first(&[PATCH_TOOL]) {
        Some(tool) if tool.is_freeform => Mapped::Call(Call {
            name: tool.name.clone(),
            namespace: tool.namespace.clone(),
            input: Input::Text(patch.to_owned()),
        }),
        Some(tool) => call(tool, json!({(tool.property(&["input", "patch"])): patch})),
        None if offer.first(&COMMAND_TOOLS).is_some() => run(command, offer, None),
        None => {
            let program = format!(
                "const result = await tools.apply_patch({});\ntext(JSON.stringify(result));",
                Value::from(patch)
            );
            program_call(program, offer, "No tool that writes files is offered here.")
        }
    }
}

fn delegate(title: &str, prompt: &str, background: bool, offer: &Offer) -> Mapped {
    let Some(tool) = offer.first(&DELEGATE_TOOLS) else {
        return Mapped::Missing("No tool that starts a subagent is offered here.");
    };
    let mut input = Map::from_iter([(tool.property(&["prompt", "message"]).to_owned(), json!(prompt))]);
    let extras = [
        ("description", json!(title)),
        ("subagent_type", json!("general-purpose")),
        ("run_in_background", json!(background)),
        ("task_name", json!(title.to_lowercase().replace(' ', "_"))),
    ];
    for (key, value) in extras {
        if tool.has(key) {
            input.insert(key.into(), value);
        }
    }
    call(tool, Value::Object(input))
}

fn wait_for_agents(offer: &Offer, agents: &[String]) -> Mapped {
    let Some(tool) = offer.first(&AWAIT_TOOLS) else { return Mapped::Needless };
    let mut input = Map::from_iter([("timeout_ms".to_owned(), json!(LONGEST_YIELD_MS))]);
    for key in ["targets", "ids"] {
        if tool.has(key) {
            input.insert(key.into(), json!(agents));
        }
    }
    call(tool, Value::Object(input))
}

fn plan(offer: &Offer) -> Mapped {
    let Some(tool) = offer.first(&PLAN_TOOLS) else {
        return Mapped::Missing("No tool that keeps a plan is offered here.");
    };
    let steps = [("Look around", "completed"), ("Do the work", "in_progress"), ("Tell of it", "pending")];
    call(
        tool,
        if tool.has("plan") {
            json!({"plan": steps.map(|(step, status)| json!({"step": step, "status": status}))})
        } else if tool.has("subject") {
            json!({"subject": "Look around", "description": "Look at every file", "activeForm": "Looking around"})
        } else {
            json!({"todos": steps.map(|(step, status)| json!({"content": step, "status": status, "activeForm": step}))})
        },
    )
}

fn ask(offer: &Offer) -> Mapped {
    let Some(tool) = offer.first(&ASK_TOOLS) else {
        return Mapped::Missing("No tool that asks the person is offered here.");
    };
    let options = json!([{"label": "Red", "description": "The warm one"}, {"label": "Blue", "description": "The cold one"}]);
    let question = if tool.name == "AskUserQuestion" {
        json!({"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": options})
    } else {
        json!({"id": "colour", "question": "Which colour?", "header": "Colour", "options": options})
    };
    call(tool, json!({"questions": [question]}))
}

fn call(tool: &Tool, input: Value) -> Mapped {
    Mapped::Call(Call {
        name: tool.name.clone(),
        namespace: tool.namespace.clone(),
        input: Input::Object(input),
    })
}

/// A program that runs a command to its end, however often the tool answers before it.
fn command_program(command: &str) -> String {
    format!(
        "// @exec: {{\"yield_time_ms\": 600000}}
let part = await tools.exec_command({{cmd: {command}, yield_time_ms: {LONGEST_YIELD_MS}}});
let output = part.output ?? JSON.stringify(part);
while (part.session_id) {{
  part = await tools.write_stdin({{session_id: part.session_id, chars: '', yield_time_ms: {LONGEST_YIELD_MS}}});
  output += part.output ?? JSON.stringify(part);
}}
text(output);",
        command = Value::from(command)
    )
}

/// A program that finds a tool by the end of its name, as a request does not tell what a program may call.
fn named_program(name: &str, input: &Value) -> String {
    format!(
        "const found = ALL_TOOLS.find((tool) => tool.name.endsWith({name}));
const result = found ? await tools[found.name]({input}) : 'no such tool';
text(result.content?.map((part) => part.text).join('\\n') ?? JSON.stringify(result));",
        name = Value::from(name)
    )
}

fn program_call(program: String, offer: &Offer, otherwise: &'static str) -> Mapped {
    match offer.first(&[PROGRAM_TOOL]) {
        Some(tool) => Mapped::Call(Call {
            name: tool.name.clone(),
            namespace: tool.namespace.clone(),
            input: Input::Text(program),
        }),
        None => Mapped::Missing(otherwise),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{Call, Input, Mapped, map, search, wait_for_command};
    use crate::offer::Offer;
    use crate::script::Action;
    use serde_json::{Value, json};

    fn offer(tools: &Value) -> Offer {
        let mut offer = Offer::default();
        offer.add(tools);
        offer
    }

    fn function(name: &str, properties: &Value) -> Value {
        json!({"type": "function", "function": {"name": name, "parameters": {"properties": properties}}})
    }

    fn mapped(action: &Action, tools: &Value) -> (String, Input) {
        match map(action, &offer(tools), &[]) {
            Mapped::Call(Call { name, input, .. }) => (name, input),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_takes_the_shape_that_the_tool_wants() {
        let run = Action::Run("ls".into());
        let cases = [
            (
                json!([{"name": "Bash", "input_schema": {"properties": {"command": {}, "description": {}}}}]),
                "Bash",
                json!({"command": "ls", "description": "Run a command"}),
            ),
            (
                json!([function("bash", &json!({"command": {"type": "string"}}))]),
                "bash",
                json!({"command": "ls"}),
            ),
            (
                json!([{"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}, "yield_time_ms": {}}}}]),
                "exec_command",
                json!({"cmd": "ls", "yield_time_ms": 30_000}),
            ),
            (
                json!([{"type": "function", "name": "shell", "parameters": {"properties": {"command": {"type": "array"}}}}]),
                "shell",
                json!({"command": ["bash", "-lc", "ls"]}),
            ),
        ];
        for (tools, name, input) in cases {
            assert_eq!(mapped(&run, &tools), (name.to_owned(), Input::Object(input)), "{tools}");
        }
    }

    #[test]
    fn an_edit_takes_the_shape_that_the_tool_wants() {
        let edit = Action::Edit { path: "a".into(), before: "b".into(), after: "c".into() };
        let built_in =
            json!([function("Edit", &json!({"file_path": {}, "old_string": {}, "new_string": {}}))]);
        let input = json!({"file_path": "a", "old_string": "b", "new_string": "c"});
        assert_eq!(mapped(&edit, &built_in), ("Edit".into(), Input::Object(input)));
        let pi = json!([function("edit", &json!({"path": {}, "edits": {}}))]);
        let input = json!({"path": "a", "edits": [{"oldText": "b", "newText": "c"}]});
        assert_eq!(mapped(&edit, &pi), ("edit".into(), Input::Object(input)));
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-b\n+c\n*** End Patch";
        let codex = json!([{"type": "custom", "name": "apply_patch"}]);
        assert_eq!(mapped(&edit, &codex), ("apply_patch".into(), Input::Text(patch.into())));
    }

    #[test]
    fn a_named_tool_is_found_behind_any_prefix() {
        let action = Action::Named { name: "note".into(), input: json!({"a": 1}) };
        let tools = json!([{"name": "mcp__desk__keynote"}, {"name": "mcp__desk__note"}]);
        assert_eq!(mapped(&action, &tools).0, "mcp__desk__note");
        let grouped = json!([{"type": "namespace", "name": "mcp__desk", "tools": [{"type": "function", "name": "note"}]}]);
        let Mapped::Call(call) = map(&action, &offer(&grouped), &[]) else {
            panic!("not found in its group")
        };
        assert_eq!((call.name.as_str(), call.namespace.as_deref()), ("note", Some("mcp__desk")));
    }

    #[test]
    fn a_deferred_tool_is_searched_for_and_then_called() {
        let action = Action::Named { name: "note".into(), input: json!({}) };
        let mut offer = offer(&json!([{"name": "note", "defer_loading": true}, {"name": "ToolSearch"}]));
        assert!(matches!(map(&action, &offer, &[]), Mapped::Missing(_)));
        assert_eq!(search(&action, &offer).unwrap().name, "ToolSearch");
        offer.give_out("note");
        assert!(matches!(map(&action, &offer, &[]), Mapped::Call(_)));
    }

    #[test]
    fn a_command_that_still_runs_is_waited_for() {
        let offer = offer(&json!([{"type": "function", "name": "write_stdin"}]));
        let call = wait_for_command("Process running with session ID 42\nOutput:\n", &offer).unwrap();
        assert_eq!(
            call.input,
            Input::Object(json!({"session_id": 42, "chars": "", "yield_time_ms": 30_000}))
        );
        assert_eq!(wait_for_command("Process exited with code 0", &offer), None);
    }
}
