//! The table of scripts: what the model does, step by step. It must not know wire formats or the names of tools.

use base64::Engine;
use serde_json::Value;

use crate::marker::Parameters;
use crate::script::{Action, Block, FaultKind, Pace, Piece, Step, Stop, reply, run, thought};

/// A named sequence of answers.
#[derive(Debug)]
pub struct Script {
    /// What a marker calls it.
    pub name: &'static str,
    /// What it does, and its keys.
    pub about: &'static str,
    steps: fn(&Parameters) -> Result<Vec<Step>, String>,
    pace: Pace,
}

/// Several pieces for a short sentence, and no time lost.
const QUICK: Pace = Pace { piece: Piece::Characters(12), pause_ms: 1 };
const WORDS: Pace = Pace { piece: Piece::Word, pause_ms: 0 };
const SLOW_WORDS: Pace = Pace { piece: Piece::Word, pause_ms: 100 };

/// A longer text would be a test of memory, not of an agent.
const MOST_WORDS: u64 = 100_000;
/// More answers or blocks than an agent allows in one turn.
const MOST_ROUNDS: u64 = 1_000;
const ALWAYS: Option<u64> = None;

/// All scripts.
#[rustfmt::skip]
pub static SCRIPTS: &[Script] = &[
    script("hello", "a short reply in several pieces", QUICK, |_| play([[reply("Hello from the scripted model. How can I help?")]])),
    script("say", "the words of the marker as the reply", QUICK, |p| play([[reply(words(p))]])),
    script("think", "a thought, then a reply", QUICK, |_| play([[thought("**Weighing the question**\n\nA greeting is asked for, so I greet."), reply("I thought about it: hello.")]])),
    script("tool", "a thought, a reply and one command; then a reply with its output", QUICK, tool),
    script("multi-tool", "three commands at once; then a reply with their output", QUICK, multi_tool),
    script("tool-error", "a command that fails with status 3", QUICK, |_| play([vec![reply("This command fails."), run("echo to-output; echo to-error >&2; exit 3")], vec![reply("It failed, as expected.")]])),
    script("read", "reads path=", QUICK, |p| play([vec![reply("Reading the file."), Block::Action(Action::Read(p.text("path", "notes.txt").into()))], vec![reply("The file says: {result}")]])),
    script("edit", "writes path=, then changes a line of it", QUICK, edit),
    script("long-text", "n= words, one piece each with ms=", WORDS, |p| play([[reply(prose(p.number("n", 200, MOST_WORDS)))]])),
    script("slow-think", "thinks for n= words with ms=, then replies", SLOW_WORDS, |p| play([[thought(prose(p.number("n", 200, MOST_WORDS))), reply("That took some thought.")]])),
    script("slow-tool", "a command that takes seconds=", QUICK, |p| { let seconds = p.text("seconds", "30"); play([vec![reply("This takes a while."), run(format!("echo started; sleep {seconds}; echo finished"))], vec![reply("The command ended: {result}")]]) }),
    script("long-output", "a command that prints lines=", QUICK, |p| play([vec![run(format!("seq 1 {}", p.number("lines", 1000, 10_000_000)))], vec![reply("That was long.")]])),
    script("bash", "runs a command: the rest of the marker, or cmd= in base64", QUICK, |p| play([vec![run(command(p))], vec![reply("It printed: {result}")]])),
    script("rounds", "n= answers, each with a reply and a command, then a last reply", QUICK, rounds),
    script("many-texts", "n= replies in one answer", QUICK, |p| play([(1..=p.number("n", 3, MOST_ROUNDS)).map(|number| reply(format!("Text number {number}."))).collect::<Vec<_>>()])),
    script("subagent", "gives work to a subagent, which plays script= with the other keys; background=yes", QUICK, subagent),
    script("todo", "writes a plan", QUICK, |_| play([vec![Block::Action(Action::Plan)], vec![reply("The plan is written.")]])),
    script("ask", "asks the person a question", QUICK, |_| play([vec![reply("One question first."), Block::Action(Action::Ask)], vec![reply("Thank you. You answered: {result}")]])),
    script("mcp", "calls the tool whose name ends with tool=, with json= as its input", QUICK, mcp),
    script("background", "a command of seconds= that is left running", QUICK, |p| play([vec![Block::Action(Action::Background(format!("echo started; sleep {}; echo finished", p.text("seconds", "30"))))], vec![reply("It runs in the background.")], vec![reply("I was told that it ended.")]])),
    script("unknown-tool", "calls a tool that nobody offers", QUICK, |_| play([vec![Block::Action(Action::Unknown)], vec![reply("There is no such tool.")]])),
    script("malformed-input", "calls the command tool with an input that does not fit", QUICK, |_| play([vec![Block::Action(Action::Malformed)], vec![reply("The input was wrong.")]])),
    script("error", "fails with status=, times= (always), retry-after= seconds, id= for a count of its own; then replies", QUICK, |p| faulty(p, refusal(p), ALWAYS)),
    script("tool-then-error", "a command, then fails as `error` does", QUICK, |p| Ok(vec![Step::of([reply("A command first."), run("echo before-the-error")]), Step::of([reply("It works again.")]).with_fault(refusal(p), p.optional_number("times"))])),
    script("cut", "breaks the connection in the middle of the stream, times= (1); then replies", QUICK, |p| faulty(p, FaultKind::Cut, Some(1))),
    script("break", "ends the stream with an error event, times= (1); then replies", QUICK, |p| faulty(p, FaultKind::Break, Some(1))),
    script("stall", "stands still in the middle of the stream until the client goes away, times= (always)", QUICK, |p| faulty(p, FaultKind::Stall, ALWAYS)),
    script("hang", "never answers until the client goes away, times= (always)", QUICK, |p| faulty(p, FaultKind::Hang, ALWAYS)),
    script("max-tokens", "an answer that is cut off for its length", QUICK, |_| Ok(vec![Step { stop: Stop::Length, ..Step::of([reply("This answer stops in the mid")]) }, Step::of([reply("dle, and goes on.")])])),
    script("refusal", "an answer that the provider refuses to finish", QUICK, |_| Ok(vec![Step { stop: Stop::Refusal, ..Step::of([reply("I will not")]) }])),
    script("empty", "an answer with nothing in it", QUICK, |_| play([Vec::new()])),
    script("markdown", "a reply with headings, lists, a table and code", QUICK, |_| play([[reply(MARKDOWN)]])),
    script("unicode", "a reply and output beyond ASCII, with bytes that are no text", Pace { piece: Piece::Characters(3), pause_ms: 1 }, |_| play([vec![reply("Grüße, 世界 🌍 “quoted”\u{2028}next"), run(r"printf 'caf\303\251 \033[31mred\033[0m \377\376 bytes\n'")], vec![reply("Fin 🎉")]])),
    script("play", "the steps in json=, plain or base64: [{\"blocks\":[{\"reply\":\"…\"},{\"action\":{\"run\":\"…\"}}]}]", QUICK, |p| serde_json::from_str(&plain(p.get("json").unwrap_or_default())).map_err(|error| format!("json= of `play` is no list of steps ({error}): give a list such as [{{\"blocks\":[{{\"reply\":\"hello\"}}]}}]"))),
];

impl Script {
    /// Finds a script by its name.
    pub(crate) fn named(name: &str) -> Result<&'static Self, String> {
        SCRIPTS.iter().find(|script| script.name == name).ok_or_else(|| {
            let names: Vec<&str> = SCRIPTS.iter().map(|script| script.name).collect();
            format!("there is no script `{name}`: use one of {}", names.join(", "))
        })
    }

    /// The answer at a step; a script that is over says so.
    pub(crate) fn step(&self, parameters: &Parameters, number: usize) -> Result<Step, String> {
        let mut steps = (self.steps)(parameters)?;
        if number < steps.len() {
            return Ok(steps.swap_remove(number));
        }
        Ok(Step::of([reply(format!("The script `{}` is over.", self.name))]))
    }

    /// How fast its text streams.
    pub(crate) fn pace(&self, parameters: &Parameters) -> Pace {
        Pace::of(parameters, self.pace)
    }
}

const fn script(
    name: &'static str,
    about: &'static str,
    pace: Pace,
    steps: fn(&Parameters) -> Result<Vec<Step>, String>,
) -> Script {
    Script { name, about, steps, pace }
}

fn play<B: Into<Vec<Block>>>(answers: impl IntoIterator<Item = B>) -> Result<Vec<Step>, String> {
    Ok(answers.into_iter().map(Step::of).collect())
}

fn tool(_: &Parameters) -> Result<Vec<Step>, String> {
    play([
        vec![
            thought("**Choosing a command**\n\nA command will show it."),
            reply("Let me run a command."),
            run("echo hello-from-tool"),
        ],
        vec![reply("The command printed: {result}")],
    ])
}

fn multi_tool(_: &Parameters) -> Result<Vec<Step>, String> {
    // The first is the slowest, so that results come in another order than calls where an agent runs them side by side.
    play([
        vec![
            reply("Three commands at once."),
            run("sleep 0.3; echo one"),
            run("echo two"),
            run("echo three"),
        ],
        vec![thought("**Comparing**\n\nAll three came back."), reply("They printed: {result}")],
    ])
}

fn edit(parameters: &Parameters) -> Result<Vec<Step>, String> {
    let path = parameters.text("path", "notes.txt").to_owned();
    let write = Action::Write { path: path.clone(), content: "alpha\nbeta\ngamma\n".into() };
    let edit = Action::Edit { path, before: "beta".into(), after: "delta".into() };
    play([
        vec![reply("Writing a file."), Block::Action(write)],
        vec![reply("Changing a line of it."), Block::Action(edit)],
        vec![reply("The file is written and changed.")],
    ])
}

fn rounds(parameters: &Parameters) -> Result<Vec<Step>, String> {
    let count = parameters.number("n", 3, MOST_ROUNDS);
    let mut answers: Vec<Vec<Block>> = (1..=count)
        .map(|number| vec![reply(format!("Round {number}.")), run(format!("echo round-{number}"))])
        .collect();
    answers.push(vec![reply(format!("All {count} rounds are done."))]);
    play(answers)
}

fn subagent(parameters: &Parameters) -> Result<Vec<Step>, String> {
    let name = parameters.text("script", "tool");
    let rest = &parameters.rest;
    let action = Action::Delegate {
        title: "Look around".into(),
        prompt: format!("Look around and report. [[script {name} {rest}]]"),
        background: parameters.flag("background"),
    };
    play([
        vec![reply("Giving this to a subagent."), Block::Action(action)],
        vec![Block::Action(Action::Await)],
        vec![reply("The subagent is done.")],
    ])
}

fn mcp(parameters: &Parameters) -> Result<Vec<Step>, String> {
    let name = parameters.get("tool").ok_or("`mcp` needs tool= with the end of a tool's name")?;
    let input: Value = match parameters.get("json") {
        Some(json) => serde_json::from_str(&plain(json))
            .map_err(|error| format!("json= of `mcp` is no JSON: {error}"))?,
        None => Value::Object(serde_json::Map::new()),
    };
    let action = Action::Named { name: name.to_owned(), input };
    play([vec![reply("Calling the tool."), Block::Action(action)], vec![reply("The tool said: {result}")]])
}

fn refusal(parameters: &Parameters) -> FaultKind {
    let status = u16::try_from(parameters.number("status", 500, 599)).unwrap_or(500).max(400);
    FaultKind::Refuse { status, retry_after_s: parameters.optional_number("retry-after") }
}

fn faulty(parameters: &Parameters, kind: FaultKind, times: Option<u64>) -> Result<Vec<Step>, String> {
    let step = Step::of([reply("This answer came through in the end, after what went wrong before it.")]);
    Ok(vec![step.with_fault(kind, parameters.optional_number("times").or(times))])
}

fn words(parameters: &Parameters) -> String {
    match parameters.get("text") {
        Some(text) if parameters.rest.starts_with("text=") => plain(text),
        _ => parameters.rest.clone(),
    }
}

fn command(parameters: &Parameters) -> String {
    match parameters.rest.strip_prefix("cmd=") {
        Some(command) => plain(command),
        None => parameters.rest.clone(),
    }
}

/// Base64 where it decodes to readable text, and otherwise the text as it stands.
fn plain(text: &str) -> String {
    let decoded = base64::engine::general_purpose::STANDARD.decode(text.trim());
    match decoded.map(String::from_utf8) {
        Ok(Ok(decoded))
            if !decoded
                .contains(|character: char| character.is_control() && !"\n\t\r".contains(character)) =>
        {
            decoded
        }
        _ => text.to_owned(),
    }
}

fn prose(count: u64) -> String {
    const CYCLE: [&str; 16] = [
        "the", "ferry", "leaves", "at", "seven", "and", "the", "harbour", "wakes", "while", "gulls",
        "circle", "over", "wet", "stones", "again",
    ];
    let mut text = String::new();
    for (number, word) in (1..=count).zip(CYCLE.into_iter().cycle()) {
        text.push_str(word);
        text.push_str(if number == count {
            "."
        } else if number % 40 == 0 {
            ".\n\n"
        } else {
            " "
        });
    }
    text
}

const MARKDOWN: &str = r#"# A heading

Some **bold**, *slanted* and `literal` words, and a [link](https://example.com/).

1. First
2. Second
   - nested

| Name | Size |
|------|-----:|
| one  |    1 |
| two  |   22 |

```rust
fn main() {
    println!("hello");
}
```

> A quotation.
"#;

#[cfg(test)]
mod tests {
    use super::{SCRIPTS, Script, command, plain, prose};
    use crate::marker::Parameters;

    #[test]
    fn every_script_has_a_name_of_its_own_and_ends() {
        for (index, script) in SCRIPTS.iter().enumerate() {
            assert!(
                SCRIPTS[..index].iter().all(|other| other.name != script.name),
                "{} is there twice",
                script.name
            );
            let parameters = Parameters::read("tool=note json=[]");
            let steps = (script.steps)(&parameters).unwrap();
            assert!(steps.len() < 10, "{}", script.name);
            assert!(
                script.step(&parameters, steps.len()).unwrap().fault.is_none(),
                "{} has no end",
                script.name
            );
        }
    }

    #[test]
    fn an_unknown_script_is_answered_with_the_names_of_the_known() {
        let message = Script::named("absent").unwrap_err();
        assert!(message.contains("`absent`") && message.contains("hello"), "{message}");
    }

    #[test]
    fn a_command_is_plain_or_base64() {
        assert_eq!(command(&Parameters::read("ls -la a=b | head")), "ls -la a=b | head");
        assert_eq!(command(&Parameters::read("cmd=ZWNobyAiW1tdXSI=")), "echo \"[[]]\"");
        assert_eq!(command(&Parameters::read("cmd=echo hello there")), "echo hello there");
        assert_eq!(plain("true"), "true");
    }

    #[test]
    fn prose_has_as_many_words_as_asked() {
        assert_eq!(prose(1), "the.");
        assert_eq!(prose(205).split_whitespace().count(), 205);
        assert_eq!(prose(0), "");
    }
}
