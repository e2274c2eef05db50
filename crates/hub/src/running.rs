//! An agent that runs for a session: started, told things in order, and listened to, each in a task of its own, so that the
//! session never waits for it.

use std::path::PathBuf;

use parlor_agent::{AgentError, Kind, Launch, Run, Said, Settings, Stop};
use parlor_model::Key;
use parlor_model::entry::Entry;
use parlor_model::order::{Answer, File, Mode};
use parlor_model::session::Session;
use tokio::sync::mpsc;

use crate::actor::Input;

/// A run that could be started, and what it will say.
pub(crate) type Started = (Run, mpsc::Receiver<Said>);

/// A run of an agent.
pub(crate) struct Running {
    number: u64,
    inbox: mpsc::Sender<Input>,
    commands: Option<mpsc::UnboundedSender<Command>>,
    stops: Option<mpsc::UnboundedSender<(Key, Stop)>>,
    run: Option<Run>,
    /// The agent's own id of the session.
    pub(crate) own: Option<Key>,
}

enum Command {
    Prompt(String, Vec<File>),
    Steer(String, Vec<File>),
    Answer(Key, Answer),
    Set(Option<String>, Option<Mode>),
}

/// What it takes to start the agent of a session.
pub(crate) fn launch(kind: Kind, session: &Session, model: Option<String>, history: Vec<Entry>) -> Launch {
    let cwd = session.cwd.as_ref().map(|cwd| PathBuf::from(cwd.as_str().as_ref())).unwrap_or_default();
    Launch {
        kind,
        run: uuid::Uuid::now_v7().to_string().into(),
        cwd,
        model,
        mode: session.mode.unwrap_or_default(),
        resume: session.id.clone().filter(|_| kind != Kind::Builtin),
        history,
        mcp: None,
        permits: parlor_agent::Permits::default(),
        servers: None,
    }
}

impl Running {
    /// Starts an agent; whether that worked comes as an input.
    pub(crate) fn start(
        number: u64,
        launch: Launch,
        settings: Settings,
        inbox: mpsc::Sender<Input>,
    ) -> Running {
        let tell = inbox.clone();
        tokio::spawn(async move {
            let started = Run::start(launch, &settings).await;
            let _ = tell.send(Input::Started(number, started)).await;
        });
        Running { number, inbox, commands: None, stops: None, run: None, own: None }
    }

    /// It is there: from now on it is listened to.
    pub(crate) fn began(&mut self, (run, said): Started) {
        let (commands, mut orders) = mpsc::unbounded_channel();
        let (number, inbox, agent) = (self.number, self.inbox.clone(), run.clone());
        tokio::spawn(async move {
            while let Some(command) = orders.recv().await {
                let outcome = match command {
                    Command::Prompt(text, files) => agent.prompt(&text, &files).await.map(|()| true),
                    Command::Steer(text, files) => agent.steer(&text, &files).await.map(|()| true),
                    Command::Answer(ask, answer) => agent.answer(&ask, &answer).await.map(|()| true),
                    Command::Set(model, mode) => agent.set(model.as_deref(), mode).await,
                };
                let input = match outcome {
                    Ok(true) => continue,
                    Ok(false) => Input::Restart(number),
                    Err(error) => Input::Refused(number, error),
                };
                if inbox.send(input).await.is_err() {
                    return;
                }
            }
        });
        let (stops, stopped) = mpsc::unbounded_channel();
        tokio::spawn(listen(number, said, stopped, self.inbox.clone()));
        self.stops = Some(stops);
        self.commands = Some(commands);
        self.run = Some(run);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.run.is_some()
    }

    pub(crate) fn can_steer(&self) -> bool {
        self.run.as_ref().is_some_and(Run::can_steer)
    }

    /// True while anything of it is at work, also when the turn is over.
    pub(crate) fn is_busy(&self) -> bool {
        self.run.as_ref().is_some_and(Run::is_busy)
    }

    pub(crate) fn prompt(&self, text: String, files: Vec<File>, steered: bool) {
        self.command(if steered { Command::Steer(text, files) } else { Command::Prompt(text, files) });
    }

    pub(crate) fn answer(&self, ask: Key, answer: Answer) {
        self.command(Command::Answer(ask, answer));
    }

    pub(crate) fn set(&self, model: Option<String>, mode: Option<Mode>) {
        self.command(Command::Set(model, mode));
    }

    /// Stops the turn. How that went comes as an input.
    pub(crate) fn interrupt(&self, order: Key) {
        let (Some(run), Some(stops)) = (self.run.clone(), self.stops.clone()) else { return };
        tokio::spawn(async move {
            let stop = run.interrupt().await;
            let _ = stops.send((order, stop));
        });
    }

    /// Ends the agent. That it has ended is what it says last.
    pub(crate) fn end(&self) {
        let Some(run) = self.run.clone() else { return };
        tokio::spawn(async move {
            run.end().await;
        });
    }

    fn command(&self, command: Command) {
        let gone = match &self.commands {
            Some(commands) => commands.send(command).is_err(),
            None => true,
        };
        if gone {
            let (number, inbox) = (self.number, self.inbox.clone());
            tokio::spawn(async move {
                let error = AgentError("the agent is no longer there; send the prompt again".to_owned());
                let _ = inbox.send(Input::Refused(number, error)).await;
            });
        }
    }
}

/// Passes on what a run says. That it was stopped is told after its last words of the turn, which are there by then.
async fn listen(
    number: u64,
    mut said: mpsc::Receiver<Said>,
    mut stopped: mpsc::UnboundedReceiver<(Key, Stop)>,
    inbox: mpsc::Sender<Input>,
) {
    let (mut speaks, mut ended) = (true, false);
    loop {
        let input = tokio::select! {
            biased;
            one = said.recv(), if speaks => match one {
                Some(one) => {
                    ended |= matches!(one, Said::Ended);
                    Input::Said(number, one)
                }
                None => {
                    speaks = false;
                    if ended {
                        continue;
                    }
                    Input::Said(number, Said::Ended)
                }
            },
            stop = stopped.recv() => match stop {
                Some((order, stop)) => Input::Stopped(order, stop),
                // The session has let go of the run.
                None if !speaks => return,
                None => match said.recv().await {
                    Some(one) => Input::Said(number, one),
                    None => return,
                },
            },
        };
        if inbox.send(input).await.is_err() {
            return;
        }
    }
}
