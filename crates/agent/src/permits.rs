//! What people allow for good, by folder: one for all runs of a house, so that what is taken back is taken back at once.
//! It keeps nothing: the sessions' logs do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use parlor_model::Key;

/// The permits of a house. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Permits(Arc<RwLock<BTreeMap<Key, Given>>>);

/// What was allowed in one session, for its folder.
#[derive(Debug)]
struct Given {
    folder: PathBuf,
    permits: BTreeSet<String>,
}

impl Permits {
    /// All permits that were given in a session and not taken back.
    pub fn set(&self, session: &Key, folder: PathBuf, permits: BTreeSet<String>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match permits.is_empty() {
            true => _ = all.remove(session),
            false => _ = all.insert(session.clone(), Given { folder, permits }),
        }
    }

    /// True when this is allowed in a folder, whichever session it was given in.
    pub fn allows(&self, folder: &Path, permit: &str) -> bool {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.values().any(|given| given.folder == folder && given.permits.contains(permit))
    }
}
