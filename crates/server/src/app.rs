//! What every request can reach: the house, its door, and what viewers share.

use std::sync::{Arc, Mutex};

use parlor_hub::{Changes, Hub, Program};
use tokio::sync::{Semaphore, watch};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::config::Config;
use crate::door::Door;
use crate::limits;
use crate::room::{Rooms, lock};
use crate::wire::{Agent, Tell};

/// The house, from the door.
pub(crate) struct App {
    pub(crate) hub: Hub,
    pub(crate) door: Door,
    pub(crate) rooms: Rooms,
    pub(crate) config: Config,
    /// The port that was given.
    pub(crate) port: u16,
    /// True once the house closes.
    pub(crate) stop: watch::Receiver<bool>,
    /// How many sockets are open.
    pub(crate) sockets: Sockets,
    /// Answers that are made piece by piece.
    pub(crate) streams: Arc<Semaphore>,
    /// Changes of the list as text, by where they start and end: everybody is sent the same.
    rows: Mutex<Option<(u64, u64, Utf8Bytes)>>,
}

/// Counts open sockets, so that the house can wait for their farewells.
#[derive(Default)]
pub(crate) struct Sockets(Arc<watch::Sender<usize>>);

/// One open socket.
pub(crate) struct Here(Arc<watch::Sender<usize>>);

impl Sockets {
    pub(crate) fn enter(&self) -> Here {
        self.0.send_modify(|count| *count += 1);
        Here(self.0.clone())
    }

    /// Waits until all are gone.
    pub(crate) async fn empty(&self) {
        // The sender is ours, so that this cannot fail.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl App {
    pub(crate) fn new(hub: Hub, door: Door, config: Config, port: u16, stop: watch::Receiver<bool>) -> App {
        let streams = Arc::new(Semaphore::new(limits::STREAMS));
        App {
            hub,
            door,
            rooms: Rooms::default(),
            config,
            port,
            stop,
            sockets: Sockets::default(),
            streams,
            rows: Mutex::default(),
        }
    }

    /// The address to open.
    pub(crate) fn url(&self) -> String {
        let address = match self.config.bind {
            address if address.is_unspecified() => "127.0.0.1".to_owned(),
            address if address.is_ipv6() => format!("[{address}]"),
            address => address.to_string(),
        };
        format!("http://{address}:{}", self.port)
    }

    /// Which agents there are.
    pub(crate) async fn agents(&self) -> Vec<Agent> {
        self.hub.programs().await.into_iter().map(agent).collect()
    }

    /// What changed in the list after a version, as text, and the version it then has. `None` when nothing did.
    pub(crate) fn rows(&self, since: u64) -> (u64, Option<Utf8Bytes>) {
        let Changes { version, whole, complete, rows, gone } = self.hub.changes(since);
        if version == since {
            return (version, None);
        }
        if let Some((from, to, frame)) = lock(&self.rows).as_ref()
            && (*from, *to) == (since, version)
        {
            return (version, Some(frame.clone()));
        }
        let frame = match whole {
            true => list(None, complete, &rows),
            false => {
                let (rows, gone) = (json(&rows), json(&gone));
                format!("{{\"type\":\"rows\",\"complete\":{complete},\"rows\":{rows},\"gone\":{gone}}}")
            }
        };
        let frame: Utf8Bytes = frame.into();
        *lock(&self.rows) = Some((since, version, frame.clone()));
        (version, Some(frame))
    }

    /// The whole list as text, and its version.
    pub(crate) fn list(&self, reference: Option<u64>) -> (u64, String) {
        let changes = self.hub.changes(0);
        (changes.version, list(reference, changes.complete, &changes.rows))
    }

    /// The first frame of a socket.
    pub(crate) fn hello(&self, access: crate::door::Access, agents: Vec<Agent>) -> String {
        Tell::Hello {
            version: crate::VERSION,
            server: env!("CARGO_PKG_VERSION").to_owned(),
            house: self.hub.house().to_owned(),
            access,
            agents,
            home: self.config.home.to_string_lossy().into_owned(),
        }
        .text()
    }
}

fn list(reference: Option<u64>, complete: bool, rows: &[Arc<parlor_hub::Row>]) -> String {
    let reference = reference.map(|reference| format!("\"ref\":{reference},")).unwrap_or_default();
    format!("{{\"type\":\"list\",{reference}\"complete\":{complete},\"sessions\":{}}}", json(rows))
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "[]".to_owned())
}

fn agent(program: Program) -> Agent {
    Agent {
        name: program.kind.name().to_owned(),
        label: program.kind.label().to_owned(),
        version: program.version,
        available: program.problem.is_none(),
        models: Vec::new(),
        problem: program.problem,
    }
}
