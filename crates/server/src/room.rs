//! What everybody who looks at one session shares: the open session, its rendered entries, its state as text, and the
//! channels of its profiles. It goes with the last of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use parlor_hub::{Hub, HubError, Open};
use parlor_model::Key;
use parlor_profile::Profile;
use tokio::sync::watch;

use crate::channel::Channel;
use crate::painter::{Painter, Piece, minutes};
use crate::state::state;
use crate::told::Told;
use crate::wire;

/// All rooms that somebody is in.
#[derive(Default)]
pub(crate) struct Rooms(Mutex<HashMap<Key, Weak<Room>>>);

/// One session and those who look at it.
pub(crate) struct Room {
    hub: Hub,
    open: Open,
    bell: watch::Receiver<u64>,
    /// By the offset of their clocks.
    painters: Mutex<BTreeMap<i32, Weak<Mutex<Painter>>>>,
    /// The state at a ring of the bell.
    state: Mutex<Option<(u64, Arc<str>)>>,
    /// The news that somebody was told last.
    told: Mutex<Option<Told>>,
    channels: Mutex<BTreeMap<Profile, Weak<Channel>>>,
    /// The epochs that were seen here, so that a client of an old one can be told what became of it.
    epochs: Mutex<Vec<Key>>,
}

/// How many epochs are remembered.
const EPOCHS: usize = 16;

/// How long the first look over the disk is waited for.
const FIRST_LOOK: Duration = Duration::from_secs(15);

impl Rooms {
    /// The room of a session, opened if need be.
    pub(crate) async fn enter(&self, hub: &Hub, id: &str) -> Result<Arc<Room>, HubError> {
        let open = open(hub, id).await?;
        let mut rooms = lock(&self.0);
        // A session that was unloaded and loaded again is another one to look at.
        let same = |room: &Arc<Room>| room.bell.same_channel(&open.bell());
        if let Some(room) = rooms.get(open.id()).and_then(Weak::upgrade).filter(same) {
            return Ok(room);
        }
        rooms.retain(|_, room| room.strong_count() > 0);
        let room = Arc::new(Room::new(hub.clone(), open));
        rooms.insert(room.open.id().clone(), Arc::downgrade(&room));
        Ok(room)
    }
}

/// Opens a session. One that is not there may be found by the first look over the disk, which is waited for.
async fn open(hub: &Hub, id: &str) -> Result<Open, HubError> {
    let mut bell = hub.watch_list();
    let looking = || !hub.changes(u64::MAX - 1).complete;
    let patience = tokio::time::sleep(FIRST_LOOK);
    tokio::pin!(patience);
    loop {
        bell.mark_unchanged();
        let is_looking = looking();
        match hub.open(id).await {
            Err(HubError::NotFound(_)) if is_looking => {}
            opened => return opened,
        }
        tokio::select! {
            changed = bell.changed() => if changed.is_err() { return hub.open(id).await },
            () = &mut patience => return hub.open(id).await,
        }
    }
}

impl Room {
    fn new(hub: Hub, open: Open) -> Room {
        let epochs = Mutex::new(vec![open.view().epoch.clone()]);
        Room {
            hub,
            bell: open.bell(),
            open,
            painters: Mutex::default(),
            state: Mutex::default(),
            told: Mutex::default(),
            channels: Mutex::default(),
            epochs,
        }
    }

    /// The session.
    pub(crate) fn open(&self) -> &Open {
        &self.open
    }

    /// Rings whenever something changed.
    pub(crate) fn bell(&self) -> watch::Receiver<u64> {
        self.open.bell()
    }

    /// How often the bell has rung.
    pub(crate) fn ring(&self) -> u64 {
        *self.bell.borrow()
    }

    /// The news that somebody was told last.
    pub(crate) fn told(&self) -> MutexGuard<'_, Option<Told>> {
        lock(&self.told)
    }

    /// The rendered entries for an offset of the clock.
    pub(crate) fn painter(&self, offset_s: i32) -> Arc<Mutex<Painter>> {
        let offset_s = minutes(offset_s);
        let mut painters = lock(&self.painters);
        if let Some(painter) = painters.get(&offset_s).and_then(Weak::upgrade) {
            return painter;
        }
        painters.retain(|_, painter| painter.strong_count() > 0);
        let painter = Arc::new(Mutex::new(Painter::new(offset_s)));
        painters.insert(offset_s, Arc::downgrade(&painter));
        painter
    }

    /// One entry for a client that `has` a version of it, as long as the epoch is still the same.
    pub(crate) fn piece(
        &self,
        painter: &Mutex<Painter>,
        epoch: &Key,
        place: usize,
        has: Option<u64>,
    ) -> Option<Piece> {
        // Always the view first, then the painter: whoever waits for the painter then lets nobody wait for ever.
        let view = self.open.view();
        if view.epoch != *epoch {
            return None;
        }
        lock(painter).piece(&view, place, has)
    }

    /// The state as JSON. It is made once for each ring of the bell.
    pub(crate) fn state(&self) -> Arc<str> {
        let ring = self.ring();
        if let Some((_, json)) = lock(&self.state).as_ref().filter(|(made, _)| *made == ring) {
            return json.clone();
        }
        let json: Arc<str> = serde_json::to_string(&self.state_value()).unwrap_or_default().into();
        let mut kept = lock(&self.state);
        // An older state must not replace a newer one, and the same one keeps its address.
        let same = kept.as_ref().filter(|(_, known)| *known == json).map(|(_, known)| known.clone());
        let json = same.unwrap_or(json);
        if kept.as_ref().is_none_or(|(made, _)| *made <= ring) {
            *kept = Some((ring, json.clone()));
        }
        json
    }

    /// The state.
    pub(crate) fn state_value(&self) -> wire::State {
        let (id, facts) = (self.open.id(), self.open.facts());
        let row = self.hub.row(id);
        let view = self.open.view();
        state(id, &view, &facts, row.as_deref())
    }

    /// The channel of a profile.
    pub(crate) fn channel(&self, profile: Profile) -> Arc<Channel> {
        let mut channels = lock(&self.channels);
        if let Some(channel) = channels.get(&profile).and_then(Weak::upgrade) {
            return channel;
        }
        let channel = Arc::new(Channel::new(profile));
        channels.insert(profile, Arc::downgrade(&channel));
        channel
    }

    /// Remembers an epoch.
    pub(crate) fn note_epoch(&self, epoch: &Key) {
        let mut epochs = lock(&self.epochs);
        if !epochs.contains(epoch) {
            if epochs.len() >= EPOCHS {
                epochs.remove(0);
            }
            epochs.push(epoch.clone());
        }
    }

    /// Why a client that has another epoch must begin again.
    pub(crate) fn why(&self, epoch: &str) -> wire::Why {
        let known = lock(&self.epochs).iter().any(|known| known == epoch);
        if known { wire::Why::Replaced } else { wire::Why::UnknownEpoch }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
