//! The house: which sessions there are, and the way to each of them. It must not fold records or talk to agents; that is
//! an actor's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use parlor_agent::{Kind, Permits, Program, Settings, programs};
use parlor_found::{Folder, Found, is_subagent_of};
use parlor_model::Key;
use parlor_model::order::{Mode, Order, Ordered};
use parlor_model::seen::Seen;
use parlor_store::{Created, Hit, IndexRow, Query, Safety, Store};
use tokio::sync::{Mutex as AsyncMutex, OnceCell, Semaphore, mpsc, oneshot, watch};

use crate::actor::{self, Home, Input};
use crate::clock;
use crate::discovery;
use crate::error::HubError;
use crate::exchange::Exchanges;
use crate::follow::Follow;
use crate::glance::glance;
use crate::list::{Changes, List};
use crate::log;
use crate::open::{Can, Facts, Open, Shared};
use crate::row::{Row, Source};
use crate::view::View;

/// What a house needs to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it keeps everything.
    pub data: PathBuf,
    /// Whether found files are kept when their agents delete them.
    pub archive: bool,
    /// How agents are run.
    pub settings: Settings,
    /// Where sessions are looked for; the agents' usual folders when it is not said.
    pub folders: Option<Vec<Folder>>,
}

/// A session to be made.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// The agent's name.
    pub agent: String,
    /// Where it works.
    pub cwd: String,
    /// The model, as the agent names it.
    pub model: Option<String>,
    /// What it may do without asking.
    pub mode: Mode,
}

/// The house. Clones are the same house.
#[derive(Clone)]
pub struct Hub {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) folders: Vec<Folder>,
    pub(crate) archive: bool,
    pub(crate) list: List,
    /// Sessions that are loaded.
    slots: Mutex<HashMap<Key, Slot>>,
    /// Sessions that are being loaded: none is loaded twice, and a long one lets nobody wait for another.
    loading: Mutex<HashMap<Key, Weak<AsyncMutex<()>>>>,
    /// Places for sessions that are being loaded.
    loads: Semaphore,
    /// Files that were found, by the session's id.
    pub(crate) found: Mutex<HashMap<String, Found>>,
    programs: OnceCell<Vec<Program>>,
    /// False once the house is being left.
    pub(crate) is_open: watch::Sender<bool>,
    house: String,
    pub(crate) exchanges: Exchanges,
    /// What people have allowed for good.
    pub(crate) permits: Permits,
}

struct Slot {
    inbox: mpsc::Sender<Input>,
    shared: Arc<Shared>,
    /// The file that it was loaded from.
    file: Option<PathBuf>,
}

/// How many sessions are loaded at a time: each takes a core and memory.
const LOADS: usize = 4;

impl Hub {
    /// Opens the house: its log, its list, and what was left behind by an earlier life.
    pub async fn start(options: Options) -> Result<Hub, HubError> {
        let folders = options.folders.unwrap_or_else(parlor_found::folders);
        let first = discovery::look_first(&folders)
            .map_err(|error| HubError::Unavailable(format!("cannot look for sessions: {error}")))?;
        let folder = options.data.clone();
        let list = |rows: Vec<IndexRow>| (discovery::restore(&rows), rows);
        let (store, (known, rows)) = blocking(move || Store::open_listed(&folder, list)).await??;
        let house = house_id(&options.data)?;
        let inner = Arc::new(Inner {
            store,
            settings: Settings { pi_extension: pi_extension(&options.data), ..options.settings },
            folders,
            archive: options.archive,
            list: List::new(),
            slots: Mutex::default(),
            loading: Mutex::default(),
            loads: Semaphore::new(LOADS),
            found: Mutex::default(),
            programs: OnceCell::new(),
            is_open: watch::Sender::new(true),
            house,
            exchanges: Exchanges::default(),
            permits: Permits::default(),
        });
        let hub = Hub { inner };
        let unfinished = log::restore_rows(&hub.inner, rows).await?;
        let mut left = Vec::new();
        for id in unfinished {
            // Opening a session whose run was lost ends what is left of it.
            match hub.open(&id).await {
                Ok(open) => left.push(open),
                Err(error) => tracing::warn!("cannot look after session {id}: {error}"),
            }
        }
        // Only now, when every lost run is settled, do the logs say what became of a message.
        hub.inner.exchanges.leave(left);
        discovery::start(&hub, first, known);
        Ok(hub)
    }

    /// The id of the data folder.
    pub fn house(&self) -> &str {
        &self.inner.house
    }

    /// Where everything is kept.
    pub fn data(&self) -> &Path {
        self.inner.store.folder()
    }

    /// What changed in the list after a version; all of it for 0.
    pub fn changes(&self, since: u64) -> Changes {
        self.inner.list.since(since)
    }

    /// Rings when the list has changed.
    pub fn watch_list(&self) -> watch::Receiver<u64> {
        self.inner.list.watch()
    }

    /// What the list says of a session.
    pub fn row(&self, id: &str) -> Option<Arc<Row>> {
        self.inner.list.get(id)
    }

    /// Opens a session. It stays loaded while someone holds it.
    pub async fn open(&self, id: &str) -> Result<Open, HubError> {
        Ok(self.slot(id).await?.0)
    }

    /// True when a session is loaded, so that it can be opened at once.
    pub fn is_loaded(&self, id: &str) -> bool {
        self.inner.loaded(id).is_some()
    }

    /// What can be shown of a session while it is being loaded: the end of a large file, with more than `roots` entries
    /// where they fit. `None` when it soon will be. Blocks.
    pub fn glance(&self, id: &str, roots: usize) -> Option<(View, Facts)> {
        if self.inner.is_logged(id) {
            return None;
        }
        let path = {
            let found = self.inner.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.get(id)?.file.path.clone()
        };
        let view = glance(&path, roots)?;
        let adopt = view.format().is_some_and(|format| crate::adopt::kind_of(format).is_some());
        let can = Can { prompt: adopt, adopt, ..Can::default() };
        Some((view, Facts { source: Source::Found, can, reading: true, ..Facts::default() }))
    }

    /// Makes a session. The agent is started with its first prompt.
    pub async fn create(&self, new: NewSession) -> Result<Key, HubError> {
        let kind = Kind::named(&new.agent).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            HubError::BadRequest(format!("there is no agent `{}`; choose one of: {names}", new.agent))
        })?;
        let cwd = match new.cwd.as_str() {
            "" => std::env::current_dir().unwrap_or_default(),
            text => PathBuf::from(text),
        };
        if !cwd.is_dir() {
            let cwd = cwd.display();
            return Err(HubError::BadRequest(format!("there is no folder `{cwd}`; name one that exists")));
        }
        let id: Key = uuid::Uuid::now_v7().to_string().into();
        let cwd = cwd.canonicalize().unwrap_or(cwd).to_string_lossy().into_owned();
        let agent: Key = kind.name().into();
        let created = Created { id: id.clone(), agent: agent.clone(), cwd: cwd.clone(), at: clock::now() };
        let first = Seen::Created { agent, cwd, model: new.model, mode: new.mode };
        let store = self.inner.store.clone();
        blocking(move || store.create(&created)).await??;
        log::append(&self.inner.store, &id, vec![log::host(&first)], Safety::Durable).await?;
        self.open(&id).await?;
        Ok(id)
    }

    /// Carries out an order. It is safely on disk when this returns.
    pub async fn order(&self, session: &str, ordered: Ordered) -> Result<u64, HubError> {
        check(&ordered)?;
        for _ in 0..3 {
            let (_open, inbox) = self.slot(session).await?;
            let (reply, answer) = oneshot::channel();
            // A session that is being unloaded does not answer: it is loaded again.
            if inbox.send(Input::Order(Box::new(ordered.clone()), reply)).await.is_ok()
                && let Ok(outcome) = answer.await
            {
                return outcome;
            }
        }
        Err(HubError::Unavailable("the session could not be reached; try again".to_owned()))
    }

    /// Has a session write down what the house saw of an exchange. It is safely on disk when this returns.
    pub(crate) async fn tell(&self, session: &str, seen: Vec<Seen>) -> Result<(), HubError> {
        for _ in 0..3 {
            let (_open, inbox) = self.slot(session).await?;
            let (reply, answer) = oneshot::channel();
            if inbox.send(Input::Told(seen.clone(), reply)).await.is_ok()
                && let Ok(outcome) = answer.await
            {
                return outcome;
            }
        }
        Err(HubError::Unavailable("the session could not be reached; try again".to_owned()))
    }

    /// Stops every agent that is at work. Says how many were.
    pub async fn stop_all(&self) -> usize {
        let busy: Vec<Key> = {
            let slots = self.inner.slots();
            let at_work = |slot: &&Slot| Open { shared: slot.shared.clone() }.facts().can.interrupt;
            let mut busy: Vec<Key> =
                slots.values().filter(at_work).map(|slot| slot.shared.id.clone()).collect();
            busy.sort();
            busy
        };
        for id in &busy {
            let id: &str = id;
            let order =
                Ordered { id: uuid::Uuid::now_v7().to_string().into(), by: None, order: Order::Interrupt };
            if let Err(error) = self.order(id, order).await {
                tracing::warn!("cannot stop session {id}: {error}");
            }
        }
        busy.len()
    }

    /// Looks for words in all sessions. Blocks.
    pub fn search(&self, query: &Query) -> Result<Vec<Hit>, HubError> {
        Ok(self.inner.store.search(query)?)
    }

    /// The agents of this machine. Asked once; their versions do not change under us.
    pub async fn programs(&self) -> Vec<Program> {
        self.inner.programs.get_or_init(|| programs(&self.inner.settings)).await.clone()
    }

    /// Ends all agents and leaves the house in order.
    pub async fn shutdown(&self) {
        self.inner.is_open.send_replace(false);
        let inboxes: Vec<mpsc::Sender<Input>> =
            self.inner.slots().drain().map(|(_, slot)| slot.inbox).collect();
        let leaving = inboxes.into_iter().map(|inbox| async move {
            let (done, left) = oneshot::channel();
            if inbox.send(Input::Leave(done)).await.is_ok() {
                let _ = left.await;
            }
        });
        let tasks: Vec<_> = leaving.map(tokio::spawn).collect();
        for task in tasks {
            let _ = task.await;
        }
    }

    /// A loaded session and the way to its actor.
    async fn slot(&self, id: &str) -> Result<(Open, mpsc::Sender<Input>), HubError> {
        if let Some(slot) = self.inner.loaded(id) {
            return Ok(slot);
        }
        let gate = self.inner.gate(id);
        let _loading = gate.lock().await;
        if let Some(slot) = self.inner.loaded(id) {
            return Ok(slot);
        }
        if !*self.inner.is_open.borrow() {
            return Err(HubError::Unavailable("Parlor is shutting down".to_owned()));
        }
        let (home, view) = self.load(id).await?;
        let file = match &home {
            Home::File(follow) => Some(follow.path.clone()),
            Home::Log | Home::Archive => None,
        };
        let shared = actor::shared(id, view);
        let (inbox, mail) = mpsc::channel(actor::MAIL);
        let slot = Slot { inbox: inbox.clone(), shared: shared.clone(), file };
        self.inner.slots().insert(id.into(), slot);
        actor::start(self.inner.clone(), shared.clone(), home, inbox.clone(), mail).await;
        Ok((Open { shared }, inbox))
    }

    async fn load(&self, id: &str) -> Result<(Home, View), HubError> {
        let (inner, name) = (self.inner.clone(), id.to_owned());
        let _place = self.inner.loads.acquire().await;
        blocking(move || {
            if inner.is_logged(&name) {
                return Ok((Home::Log, log::read(&inner.store, &name)?));
            }
            match discovery::file_of(&inner, &name) {
                Some(path) if path.exists() => {
                    let (follow, view) = Follow::open(&path, 0)?;
                    Ok((Home::File(Box::new(follow)), view))
                }
                _ => crate::archive::read(&inner, &name),
            }
        })
        .await?
    }
}

impl Inner {
    fn loaded(&self, id: &str) -> Option<(Open, mpsc::Sender<Input>)> {
        let slots = self.slots();
        let slot = slots.get(id).filter(|slot| !slot.inbox.is_closed())?;
        Some((Open { shared: slot.shared.clone() }, slot.inbox.clone()))
    }

    /// Whoever holds it is the one who loads that session.
    fn gate(&self, id: &str) -> Arc<AsyncMutex<()>> {
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = loading.get(id).and_then(Weak::upgrade) {
            return gate;
        }
        loading.retain(|_, gate| gate.strong_count() > 0);
        let gate = Arc::new(AsyncMutex::new(()));
        loading.insert(id.into(), Arc::downgrade(&gate));
        gate
    }

    /// True when the house's own log has the session.
    fn is_logged(&self, id: &str) -> bool {
        self.list.get(id).is_some_and(|row| row.source == Source::Live)
            || self.store.end(id).is_ok_and(|end| end > 0)
    }

    /// Unloads a session unless somebody has come to look at it. Says whether it did.
    pub(crate) fn unload(&self, shared: &Arc<Shared>) -> bool {
        let mut slots = self.slots();
        // One is the slot's and one the actor's own.
        let unseen = Arc::strong_count(shared) <= 2;
        if unseen {
            slots.remove(&shared.id);
        }
        unseen
    }

    /// Tells the actors of open sessions that the file at `path` may have changed.
    pub(crate) fn nudge(&self, path: &Path) {
        let news = |file: &Path| match file == path {
            true => Some(Input::Changed),
            false => is_subagent_of(path, file).then_some(Input::SubagentChanged),
        };
        self.slots().values().for_each(|slot| {
            if let Some(input) = slot.file.as_deref().and_then(news) {
                // A full inbox means that it will look soon anyway.
                let _ = slot.inbox.try_send(input);
            }
        });
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs what blocks where it may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, HubError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| HubError::Unavailable(format!("Parlor met an error of its own: {error}")))
}

/// An order's own limits: what a client may send.
fn check(ordered: &Ordered) -> Result<(), HubError> {
    const PROMPT_BYTES: usize = 6 << 20;
    const PERMIT_BYTES: usize = 2 << 10;
    if let Order::Permit { permit, .. } = &ordered.order
        && (permit.trim().is_empty() || permit.len() > PERMIT_BYTES)
    {
        return Err(HubError::BadRequest(
            "a permit is a tool with a pattern, such as `Bash(cargo test *)`".to_owned(),
        ));
    }
    if ordered.id.is_empty() || ordered.id.len() > 128 {
        return Err(HubError::BadRequest("an order needs an `id` of 1 to 128 characters".to_owned()));
    }
    if let Order::Prompt { text, files, .. } = &ordered.order {
        if text.trim().is_empty() && files.is_empty() {
            return Err(HubError::BadRequest("the prompt is empty; write something".to_owned()));
        }
        let size = files.iter().map(|file| file.data.len()).fold(text.len(), usize::saturating_add);
        if size > PROMPT_BYTES {
            return Err(HubError::BadRequest(
                "the prompt is larger than 6 MB; put what is large into a file and name it".to_owned(),
            ));
        }
    }
    Ok(())
}

/// A name for the data folder that stays the same.
fn house_id(data: &Path) -> Result<String, HubError> {
    let path = data.join("house");
    if let Ok(id) = std::fs::read_to_string(&path)
        && !id.trim().is_empty()
    {
        return Ok(id.trim().to_owned());
    }
    let id = uuid::Uuid::now_v7().to_string();
    std::fs::write(&path, &id)
        .map_err(|error| HubError::Unavailable(format!("cannot write `{}`: {error}", path.display())))?;
    Ok(id)
}

/// Keeps the file by which Pi gets the house's tools as this version wants it.
fn pi_extension(data: &Path) -> Option<PathBuf> {
    let (path, text) = (data.join("pi-extension.js"), parlor_agent::pi_extension());
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Some(path);
    }
    // An agent of an earlier life may read it at this moment.
    let new = data.join("pi-extension.js.new");
    match std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)) {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::warn!(
                "cannot write {}: {error}; Pi gets no tools to message other agents",
                path.display()
            );
            None
        }
    }
}
