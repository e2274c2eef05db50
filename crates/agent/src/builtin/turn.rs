//! What happens within a turn: the model is asked, its calls are carried out, and so on until it calls nothing more. It may be cut
//! off at every `await`, so that whatever must not be lost is in the worker before it waits.

use std::time::Duration;

use parlor_dialect::{Decoder, Format};
use parlor_model::Key;
use parlor_model::order::{Answer as Decision, Choice};
use parlor_model::seen::{Ended, Level, Seen};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::answer::Answer;
use super::approval::Verdict;
use super::compact;
use super::message::{Call, Message, write};
use super::tool::{Outcome, Tool};
use super::trouble::{Next, Place, Trouble, too_long};
use super::worker::Worker;

/// How often the model is asked in one turn.
const STEPS: usize = 400;
/// How many calls that only look run at once.
const AT_ONCE: usize = 8;

impl Worker {
    /// The whole turn. The error is for the person.
    pub(crate) async fn work(&mut self) -> Result<(), String> {
        if !self.bench.cwd.is_dir() {
            return Err(format!(
                "the folder {} is not there; make it, or begin a session elsewhere",
                self.bench.cwd.display()
            ));
        }
        self.connect().await;
        for _ in 0..STEPS {
            let steers = self.desk.take_steers();
            self.messages.extend(steers);
            if self.tokens() > self.context / 5 * 4 && self.messages.len() > 1 {
                self.shorten().await;
            }
            let says_something = self.ask_model().await?;
            if !self.open.is_empty() {
                self.carry_out().await;
                continue;
            }
            if !says_something {
                self.note(Level::Warning, "the model answered with nothing; say it again, or in other words")
                    .await;
            }
            if self.desk.close_turn() {
                return Ok(());
            }
        }
        Err(format!("the model was asked {STEPS} times in this turn; say that it should go on, if it should"))
    }

    /// Asks the model until its answer is whole, or it is no use to try again. False when it answers with nothing.
    async fn ask_model(&mut self) -> Result<bool, String> {
        let (mut attempt, mut shortened) = (1, false);
        loop {
            let Err(trouble) = self.stream().await else {
                return Ok(self.settle());
            };
            if self.asks_usage && trouble.is_about("stream_options") {
                self.asks_usage = false;
                continue;
            }
            match self.next(&trouble, attempt) {
                Next::Again { pause, note } => {
                    self.take_back().await;
                    self.note(Level::Retry, &note).await;
                    tokio::time::sleep(pause).await;
                    attempt += 1;
                }
                Next::Shorten if !shortened && self.messages.len() > 1 => {
                    self.take_back().await;
                    let note = "the conversation is too long for the model; it is made shorter";
                    self.note(Level::Retry, note).await;
                    shortened = self.shorten().await;
                    if !shortened {
                        return Err(self.too_long());
                    }
                }
                Next::Shorten => return Err(self.too_long()),
                Next::GiveUp(problem) => return Err(problem),
            }
        }
    }

    /// One try: the lines are passed on as they come.
    async fn stream(&mut self) -> Result<(), Trouble> {
        let model = self.desk.model();
        if model.is_empty() {
            return Err(Trouble::Invalid("no model is chosen; name one".to_owned()));
        }
        let messages = write(&self.system, &self.messages);
        let mut body = json!({"model": model, "messages": messages, "tools": self.tools, "stream": true});
        if self.asks_usage {
            body["stream_options"] = json!({"include_usage": true});
        }
        let mut lines = self.wire.send(&body).await?;
        while let Some(line) = lines.next(self.answer.finished).await? {
            self.hear(line).await;
            if let Some((text, code)) = self.answer.error.take() {
                return Err(Trouble::Failed { text, code });
            }
            if self.answer.done {
                break;
            }
        }
        match self.answer.finished {
            true => Ok(()),
            false => Err(Trouble::Cut("the server closed the connection".to_owned())),
        }
    }

    /// Forgets an answer that was cut off. Its calls get results, since a person has seen them; the model has not.
    async fn take_back(&mut self) {
        let length = self.messages.len();
        self.settle();
        self.interrupt_calls().await;
        self.messages.truncate(length);
    }

    /// Carries out the calls of an answer, in order; those that only look run beside each other.
    async fn carry_out(&mut self) {
        while let Some(call) = self.open.first().cloned() {
            match Tool::parse(&call.name, &call.arguments) {
                Err(problem) => self.result(&call, Outcome::failed(problem), None).await,
                Ok(tool) if tool.only_looks() => self.look().await,
                Ok(tool) => self.act(&call, tool).await,
            }
        }
    }

    async fn look(&mut self) {
        let mut running = JoinSet::new();
        let parsed = self.open.iter().map(|call| (call, Tool::parse(&call.name, &call.arguments)));
        let looks =
            parsed.map_while(|(call, tool)| Some((call.clone(), tool.ok().filter(Tool::only_looks)?)));
        for (call, tool) in looks.take(AT_ONCE) {
            let bench = self.bench.clone();
            running.spawn(async move {
                let start = Instant::now();
                let outcome = tool.run(call.id.clone(), bench).await;
                (call, outcome, milliseconds(start.elapsed()))
            });
        }
        while let Some(ended) = running.join_next().await {
            match ended {
                Ok((call, outcome, took)) => self.result(&call, outcome, Some(took)).await,
                // A tool that panics leaves its call open; then it is the first, and fails alone.
                Err(error) => self.fail_first(&error.to_string()).await,
            }
        }
    }

    async fn fail_first(&mut self, error: &str) {
        if let Some(call) = self.open.first().cloned() {
            self.result(&call, Outcome::failed(format!("The tool itself has failed: {error}")), None).await;
        }
    }

    /// Carries out a call that changes something, when it may.
    async fn act(&mut self, call: &Call, tool: Tool) {
        if let Verdict::Ask(reason) = self.rules.judge(&tool, self.desk.mode(), &self.bench.cwd) {
            let permit = self.rules.permit(&tool, &self.bench.cwd);
            let decision = self.ask(call, reason, permit).await;
            match decision.choice {
                // Whoever keeps permits has kept this one before the answer came here.
                Choice::Allow | Choice::AllowAlways => {}
                Choice::AllowSession => self.rules.allow(&tool, &self.bench.cwd),
                Choice::Deny | Choice::Reply => {
                    let why = decision.reason.filter(|why| !why.trim().is_empty());
                    let why = why.map_or_else(
                        || "The person said no.".to_owned(),
                        |why| format!("The person said no: {why}"),
                    );
                    self.result(call, Outcome::new(Ended::Denied, why), None).await;
                    return;
                }
            }
        }
        let start = Instant::now();
        let outcome = tool.run(call.id.clone(), self.bench.clone()).await;
        self.result(call, outcome, Some(milliseconds(start.elapsed()))).await;
    }

    async fn ask(&mut self, call: &Call, reason: String, permit: Option<String>) -> Decision {
        let ask: Key = format!("{}/ask", call.id).into();
        let decision = self.desk.ask(ask.clone());
        self.ask = Some(ask.clone());
        let call = call.id.clone();
        self.say(Seen::Asked { call, ask: ask.clone(), reason: Some(reason), permit }).await;
        let decision = decision.await.unwrap_or_else(|_| Decision {
            choice: Choice::Deny,
            reason: Some("nobody was there to answer".to_owned()),
            answers: Vec::new(),
        });
        self.say(Seen::Settled { ask }).await;
        self.ask = None;
        decision
    }

    /// Replaces the conversation by a summary of it. False when there is none to be had: then all stays as it is.
    async fn shorten(&mut self) -> bool {
        let request = compact::request(&self.desk.model(), &self.messages, self.context / 2);
        let mut attempt = 1;
        let summary = loop {
            match self.summary(&request).await {
                Ok(summary) => break summary,
                Err(trouble) => match self.next(&trouble, attempt) {
                    Next::Again { pause, note } => {
                        self.note(Level::Retry, &note).await;
                        tokio::time::sleep(pause).await;
                        attempt += 1;
                    }
                    Next::GiveUp(problem) => {
                        self.note(
                            Level::Warning,
                            &format!("the conversation could not be made shorter: {problem}"),
                        )
                        .await;
                        return false;
                    }
                    Next::Shorten => return false,
                },
            }
        };
        if summary.trim().is_empty() {
            self.note(
                Level::Warning,
                "the conversation could not be made shorter: the model wrote no summary",
            )
            .await;
            return false;
        }
        let before = self.tokens();
        let notes = compact::notes(&summary, &self.messages);
        let message = Message::user(notes.clone());
        let after = message.tokens() + self.fixed_tokens();
        self.say(Seen::Compacted { before, after, summary: notes }).await;
        self.messages = vec![message];
        self.counted = (0, 0);
        true
    }

    /// The summary's own lines are not passed on: it is no part of the conversation.
    async fn summary(&mut self, request: &Value) -> Result<String, Trouble> {
        let mut lines = self.wire.send(request).await?;
        let (mut answer, mut decoder) = (Answer::default(), Decoder::new(Format::OpenaiChat));
        while let Some(line) = lines.next(answer.finished).await? {
            answer.read(&mut decoder, line);
            if let Some((text, code)) = answer.error.take() {
                return Err(Trouble::Failed { text, code });
            }
            if answer.done {
                break;
            }
        }
        match answer.finished {
            true => Ok(answer.text()),
            false => Err(Trouble::Cut("the server closed the connection".to_owned())),
        }
    }

    /// About how many tokens the next request has: the server's last count, and what came since by its length.
    fn tokens(&self) -> u64 {
        let (counted, known) = self.counted;
        let fixed = if known == 0 { self.fixed_tokens() } else { 0 };
        let rest = self.messages.iter().skip(known).map(Message::tokens).sum::<u64>();
        counted + fixed + rest
    }

    fn fixed_tokens(&self) -> u64 {
        (self.system.len() + self.tools.to_string().len()) as u64 / 4
    }

    fn next(&self, trouble: &Trouble, attempt: u32) -> Next {
        let (url, model) = (self.wire.address(), self.desk.model());
        trouble.next(attempt, &Place { url: &url, model: &model, has_key: self.wire.has_key() })
    }

    fn too_long(&self) -> String {
        let (url, model) = (self.wire.address(), self.desk.model());
        too_long(&Place { url: &url, model: &model, has_key: self.wire.has_key() })
    }

    pub(crate) async fn note(&mut self, level: Level, text: &str) {
        self.say(Seen::Note { level, text: text.to_owned() }).await;
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
