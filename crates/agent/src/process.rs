//! The one process runner: starts an agent's program, writes to it, reads it, and sees to it that nothing of it is left
//! when it has ended. It speaks no agent's language; the driver does.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parlor_model::Key;
use parlor_model::seen::{Level, Seen};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::driver::{Acts, Driver, Spec, Wish};
use crate::output::{self, Pipe};
use crate::tree::{self, Process, Tree};
use crate::{AgentError, Launch, Said, Settings};

/// How many things an agent may have said that nobody has taken yet; then it has to wait.
pub(crate) const WAITING: usize = 64;
/// How often the agent's descendants are looked at, so that they are known when their parents are gone.
const WATCH: Duration = Duration::from_secs(2);
/// How long an agent may live on that has closed its stdout.
const CLOSED: Duration = Duration::from_secs(2);
/// How long an agent may take to read what it is told.
const WRITE: Duration = Duration::from_secs(60);
/// How often, and after how long, the start of a program is tried again that is just being written.
const BUSY_PROGRAM: (u32, Duration) = (40, Duration::from_millis(50));

/// A running agent, for all that have to do with it.
pub(crate) struct Engine {
    /// The agent's name as people read it.
    label: &'static str,
    /// Its process.
    pub(crate) pid: u32,
    driver: Mutex<Box<dyn Driver>>,
    writer: mpsc::UnboundedSender<Write>,
    state: watch::Sender<State>,
    tree: Mutex<Tree>,
    /// Processes that were there before the turn began.
    pub(crate) before: Mutex<BTreeSet<Process>>,
    /// Bytes said since the turn began.
    pub(crate) spoken: AtomicU64,
    /// One stop at a time.
    pub(crate) stopping: tokio::sync::Mutex<()>,
}

/// How far an agent is. It changes only after everything that led to it was handed over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// A turn runs.
    pub(crate) busy: bool,
    /// Something works on beside turns.
    pub(crate) works_on: bool,
    /// The process has ended.
    pub(crate) dead: bool,
    /// Nothing of it is left but these processes.
    pub(crate) left: Option<u32>,
}

impl State {
    /// Nothing is at work.
    pub(crate) fn is_over(self) -> bool {
        self.dead || !self.busy && !self.works_on
    }
}

enum Write {
    Lines(Vec<Vec<u8>>, Option<oneshot::Sender<std::io::Result<()>>>),
    Close,
}

/// Ends the agent when the last handle is gone.
pub(crate) struct Handle {
    pub(crate) engine: Arc<Engine>,
    _alive: oneshot::Sender<()>,
}

/// Starts the program of `spec`.
pub(crate) async fn start(
    spec: Spec,
    launch: &Launch,
    settings: &Settings,
) -> Result<(Handle, mpsc::Receiver<Said>), AgentError> {
    tree::adopt_orphans();
    let mut child = spawn(&spec, launch, settings).await?;
    let (Some(pid), Some(stdin), Some(stdout), Some(stderr)) =
        (child.id(), child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(AgentError(format!("`{}` ended before it could be talked to", spec.program.display())));
    };
    let (said, receiver) = mpsc::channel(WAITING);
    let program = spec.program.display().to_string();
    let format = Key::new_static(spec.format.name());
    let started = Seen::Started { run: launch.run.clone(), format, program, pid: Some(pid) };
    let _ = said.send(Said::Seen(started)).await;
    let (writer, writes) = mpsc::unbounded_channel();
    let engine = Arc::new(Engine {
        label: launch.kind.label(),
        pid,
        driver: Mutex::new(spec.driver),
        writer,
        state: watch::Sender::default(),
        tree: Mutex::new(Tree::new(&launch.run, pid)),
        before: Mutex::default(),
        spoken: AtomicU64::new(0),
        stopping: tokio::sync::Mutex::default(),
    });
    tokio::spawn(write(stdin, writes));
    let readers = [
        tokio::spawn(output::read(stdout, Pipe::Stdout, Arc::clone(&engine), said.clone())),
        tokio::spawn(output::read(stderr, Pipe::Stderr, Arc::clone(&engine), said.clone())),
    ];
    let (alive, dropped) = oneshot::channel();
    tokio::spawn(supervise(Arc::clone(&engine), child, launch.run.clone(), said, readers, dropped));
    let mut acts = Acts::default();
    engine.driver().begin(&mut acts);
    engine.act(&mut acts);
    Ok((Handle { engine, _alive: alive }, receiver))
}

impl Engine {
    /// Hands a wish to the driver and waits until the agent has taken what it was told.
    pub(crate) async fn wish(&self, wish: Wish<'_>) -> Result<(), AgentError> {
        if self.state().dead {
            return Err(self.ended());
        }
        if matches!(wish, Wish::Prompt { .. }) && !self.state().busy {
            *lock(&self.before) = self.tree().look().into_iter().collect();
            self.spoken.store(0, Ordering::Relaxed);
        }
        let mut acts = Acts::default();
        self.driver().ask(wish, &mut acts)?;
        self.sync();
        let lines = std::mem::take(&mut acts.write);
        let (done, written) = oneshot::channel();
        let writes = !lines.is_empty();
        if writes && self.writer.send(Write::Lines(lines, Some(done))).is_err() {
            return Err(self.ended());
        }
        self.act(&mut acts);
        if !writes {
            return Ok(());
        }
        match tokio::time::timeout(WRITE, written).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Err(_)) => Err(self.ended()),
            Ok(Ok(Err(error))) => {
                Err(AgentError(format!("{} does not listen any more ({error}): send it again", self.label)))
            }
            Err(_) => Err(AgentError(format!("{} reads nothing: stop it and send it again", self.label))),
        }
    }

    /// True when words can go into the turn that runs.
    pub(crate) fn can_steer(&self) -> bool {
        !self.state().dead && self.driver().can_steer()
    }

    /// How far it is.
    pub(crate) fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Waits for a state; false when it does not come in time.
    pub(crate) async fn until(&self, limit: Duration, check: impl Fn(State) -> bool) -> bool {
        let mut state = self.state.subscribe();
        tokio::time::timeout(limit, state.wait_for(|state| check(*state)))
            .await
            .is_ok_and(|state| state.is_ok())
    }

    /// Waits until the process has ended.
    pub(crate) async fn died(&self) {
        let _ = self.state.subscribe().wait_for(|state| state.dead).await;
    }

    /// Lets the driver read a line.
    pub(crate) fn saw(&self, line: &[u8]) -> Acts {
        let mut acts = Acts::default();
        self.driver().saw(line, &mut acts);
        acts
    }

    /// Does what the driver wants done to the agent, without waiting for it.
    pub(crate) fn act(&self, acts: &mut Acts) {
        let lines = std::mem::take(&mut acts.write);
        if !lines.is_empty() {
            let _ = self.writer.send(Write::Lines(lines, None));
        }
        if acts.close {
            let _ = self.writer.send(Write::Close);
        }
    }

    /// Tells those who wait how far the agent is.
    pub(crate) fn sync(&self) {
        let (busy, works_on) = {
            let driver = self.driver();
            (driver.is_busy(), driver.works_on())
        };
        self.state.send_if_modified(|state| {
            let next = State { busy: busy && !state.dead, works_on: works_on && !state.dead, ..*state };
            let changes = (next.busy, next.works_on) != (state.busy, state.works_on);
            *state = next;
            changes
        });
    }

    /// Its processes.
    pub(crate) fn tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }

    fn driver(&self) -> MutexGuard<'_, Box<dyn Driver>> {
        lock(&self.driver)
    }

    fn ended(&self) -> AgentError {
        AgentError(format!("{} has ended: send it again, and it is started anew", self.label))
    }
}

/// An agent needs a folder to work in.
pub(crate) async fn check_folder(path: &Path) -> Result<(), AgentError> {
    let folder = path.display();
    match tokio::fs::metadata(path).await {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(AgentError(format!("{folder} is not a folder: choose a folder to work in"))),
        Err(error) => {
            Err(AgentError(format!("cannot work in {folder}: {error}; create the folder or choose another")))
        }
    }
}

/// A panic elsewhere leaves nothing half done behind these locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn spawn(spec: &Spec, launch: &Launch, settings: &Settings) -> Result<Child, AgentError> {
    check_folder(&launch.cwd).await?;
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.arguments)
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(&settings.environment)
        .env("PWD", &launch.cwd)
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .env(tree::MARK, tree::mark_value(&launch.run))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut tries = 0;
    loop {
        match command.spawn() {
            Ok(child) => return Ok(child),
            // An update of the program is being written at this moment.
            Err(error)
                if error.kind() == std::io::ErrorKind::ExecutableFileBusy && tries < BUSY_PROGRAM.0 =>
            {
                tries += 1;
                tokio::time::sleep(BUSY_PROGRAM.1).await;
            }
            Err(error) => {
                let program = spec.program.display();
                let hint = crate::program::hint(launch.kind);
                return Err(AgentError(format!("cannot start `{program}`: {error}; {hint}")));
            }
        }
    }
}

async fn write(mut stdin: ChildStdin, mut writes: mpsc::UnboundedReceiver<Write>) {
    while let Some(Write::Lines(lines, done)) = writes.recv().await {
        let result = stdin.write_all(&lines.concat()).await;
        let failed = result.is_err();
        if let Some(done) = done {
            let _ = done.send(result);
        }
        if failed {
            break;
        }
    }
}

/// Stays with the process until it has ended, and with what it started until that has ended too.
async fn supervise(
    engine: Arc<Engine>,
    mut child: Child,
    run: Key,
    said: mpsc::Sender<Said>,
    [mut stdout, stderr]: [JoinHandle<()>; 2],
    mut dropped: oneshot::Receiver<()>,
) {
    let mut watch = tokio::time::interval(WATCH);
    watch.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut closed: Option<Instant> = None;
    let mut is_ending = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.ok(),
            _ = watch.tick() => engine.tree().watch(),
            _ = &mut stdout, if closed.is_none() => closed = Some(Instant::now()),
            () = sleep_until(closed.unwrap_or_else(Instant::now) + CLOSED), if closed.is_some() && !is_ending => {
                is_ending = true;
                let text = format!("{} closed its output without ending, and was ended", engine.label);
                let _ = said.send(Said::Seen(Seen::Note { level: Level::Warning, text })).await;
                end(&engine);
            }
            _ = &mut dropped, if !is_ending => {
                is_ending = true;
                end(&engine);
            }
            () = said.closed(), if !is_ending => {
                is_ending = true;
                end(&engine);
            }
        }
    };
    engine.state.send_modify(|state| *state = State { dead: true, ..State::default() });
    let left = engine.clear().await;
    engine.state.send_modify(|state| state.left = Some(left));
    if closed.is_none() {
        let _ = stdout.await;
    }
    let _ = stderr.await;
    let (code, signal) = code_and_signal(status);
    let _ = said.send(Said::Seen(Seen::Exited { run, code, signal })).await;
    let _ = said.send(Said::Ended).await;
}

fn end(engine: &Arc<Engine>) {
    let engine = Arc::clone(engine);
    tokio::spawn(async move { engine.end().await });
}

fn code_and_signal(status: Option<ExitStatus>) -> (Option<i32>, Option<i32>) {
    use std::os::unix::process::ExitStatusExt;
    (status.and_then(|status| status.code()), status.and_then(|status| status.signal()))
}
