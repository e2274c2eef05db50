//! The files of sessions as they lie in their folders: all looked at once, and then only those that are said to have
//! changed. It must not read records, but for the one field that says whose subagent a file is.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::find::{Folder, Found, Stamp, files_in, folders, id_of, is_agent_file, owner, stamp};

/// Everything that was found in some folders.
pub struct Tree {
    folders: Vec<Folder>,
    sessions: Vec<Found>,
    /// Where each file stands.
    places: HashMap<PathBuf, Place>,
    /// Whose subagent a file is where only its first record says so. That never changes, and reading it takes longest.
    owners: HashMap<PathBuf, String>,
}

/// The place of a file: its session, and which of its subagents it is.
#[derive(Clone, Copy)]
struct Place {
    session: usize,
    subagent: Option<usize>,
}

/// What became of a file that was looked at again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// It is as it was.
    Same,
    /// It belongs to the session at this index, which has changed.
    Changed(usize),
    /// It came or went: only a look at all of them tells what it is.
    Strange,
}

impl Tree {
    /// The tree of these folders, of which nothing was looked at yet.
    pub fn new(folders: Vec<Folder>) -> Tree {
        Tree { folders, sessions: Vec::new(), places: HashMap::new(), owners: HashMap::new() }
    }

    /// What was found, by path.
    pub fn sessions(&self) -> &[Found] {
        &self.sessions
    }

    /// What was found, without what is needed to look again.
    pub fn into_sessions(self) -> Vec<Found> {
        self.sessions
    }

    /// Looks at all folders.
    pub fn look(&mut self) {
        let mut sessions = Vec::new();
        for folder in &self.folders {
            sessions.extend(nest(Some(folder.agent), files_in(&folder.path), &mut self.owners));
        }
        self.places.clear();
        for (session, found) in sessions.iter().enumerate() {
            self.places.insert(found.file.path.clone(), Place { session, subagent: None });
            for (index, file) in found.subagents.iter().enumerate() {
                self.places.insert(file.path.clone(), Place { session, subagent: Some(index) });
            }
        }
        self.owners.retain(|path, _| self.places.contains_key(path));
        self.sessions = sessions;
    }

    /// The index of the session that a file belongs to.
    pub fn index_of(&self, path: &Path) -> Option<usize> {
        self.places.get(path).map(|place| place.session)
    }

    /// Looks at one file.
    pub fn touch(&mut self, path: &Path) -> Touched {
        let (Some(place), Some(now)) = (self.places.get(path), stamp(path.to_owned())) else {
            return Touched::Strange;
        };
        let found = &mut self.sessions[place.session];
        let known = match place.subagent {
            None => &mut found.file,
            Some(index) => &mut found.subagents[index],
        };
        if *known == now {
            return Touched::Same;
        }
        *known = now;
        Touched::Changed(place.session)
    }
}

/// All sessions of all agents, by path.
pub fn sessions() -> Vec<Found> {
    sessions_of(&folders())
}

/// All sessions in these folders, by path.
pub fn sessions_of(folders: &[Folder]) -> Vec<Found> {
    let mut tree = Tree::new(folders.to_vec());
    tree.look();
    tree.into_sessions()
}

/// All sessions in a folder that the user named.
pub fn sessions_in(path: &Path) -> Vec<Found> {
    nest(None, files_in(path), &mut HashMap::new())
}

/// The sessions whose ids start with `id`, each with its file. Where copies of a session lie about, the newest is meant.
pub fn starting_with(id: &str) -> BTreeMap<String, PathBuf> {
    let mut fits: BTreeMap<String, Stamp> = BTreeMap::new();
    for found in sessions().into_iter().filter(|found| found.id.starts_with(id)) {
        let newest = fits.entry(found.id).or_insert_with(|| found.file.clone());
        if found.file.modified_ns > newest.modified_ns {
            *newest = found.file;
        }
    }
    fits.into_iter().map(|(id, file)| (id, file.path)).collect()
}

/// Puts subagents' files under their sessions. One whose session is gone is left out.
fn nest(
    agent: Option<parlor_dialect::Agent>,
    files: Vec<Stamp>,
    owners: &mut HashMap<PathBuf, String>,
) -> Vec<Found> {
    let (subagents, sessions): (Vec<Stamp>, Vec<Stamp>) =
        files.into_iter().partition(|file| is_agent_file(&file.path));
    let mut owned: BTreeMap<String, Vec<Stamp>> = BTreeMap::new();
    for file in subagents {
        if let Some(session) = session_of_subagent(&file.path, owners) {
            owned.entry(session).or_default().push(file);
        }
    }
    let in_subagents = |file: &Stamp| file.path.components().any(|part| part.as_os_str() == "subagents");
    let found = |file: Stamp| {
        let id = id_of(&file.path);
        Found { agent, subagents: owned.remove(&id).unwrap_or_default(), id, file }
    };
    sessions.into_iter().filter(|file| !in_subagents(file)).map(found).collect()
}

/// The session that a subagent's file belongs to: its folder's name, or what its first record says.
fn session_of_subagent(path: &Path, owners: &mut HashMap<PathBuf, String>) -> Option<String> {
    let mut above = path.ancestors().skip(1);
    if let Some(folder) = above.find(|folder| folder.file_name().is_some_and(|name| name == "subagents")) {
        return Some(folder.parent()?.file_name()?.to_string_lossy().into_owned());
    }
    if let Some(known) = owners.get(path) {
        return Some(known.clone());
    }
    let owner = owner(path)?;
    owners.insert(path.to_owned(), owner.clone());
    Some(owner)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn tree(folder: &Path) -> Tree {
        let mut tree =
            Tree::new(vec![Folder { agent: parlor_dialect::Agent::Claude, path: folder.to_owned() }]);
        tree.look();
        tree
    }

    #[test]
    fn one_file_is_looked_at_without_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let (session, subagent) = (folder.path().join("a.jsonl"), folder.path().join("agent-1.jsonl"));
        fs::write(&session, "{}\n").unwrap();
        fs::write(&subagent, "{\"sessionId\":\"a\"}\n").unwrap();
        fs::write(folder.path().join("b.jsonl"), "{}\n").unwrap();
        let mut tree = tree(folder.path());
        assert_eq!(tree.sessions().len(), 2);
        assert_eq!(tree.sessions()[0].subagents.len(), 1);

        assert_eq!(tree.touch(&session), Touched::Same);
        fs::write(&session, "{}\n{}\n").unwrap();
        fs::write(&subagent, "{\"sessionId\":\"a\"}\n{}\n").unwrap();
        assert_eq!(tree.touch(&session), Touched::Changed(0));
        assert_eq!(tree.sessions()[0].file.size, 6);
        assert_eq!(tree.touch(&subagent), Touched::Changed(0));
        assert_eq!(tree.sessions()[0].subagents[0].size, 21);
    }

    #[test]
    fn what_comes_and_goes_is_strange_until_all_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old.jsonl"), folder.path().join("new.jsonl"));
        fs::write(&old, "{}\n").unwrap();
        let mut tree = tree(folder.path());
        fs::rename(&old, &new).unwrap();
        assert_eq!((tree.touch(&old), tree.touch(&new)), (Touched::Strange, Touched::Strange));
        tree.look();
        assert_eq!((tree.touch(&old), tree.touch(&new)), (Touched::Strange, Touched::Same));
        assert_eq!(tree.sessions()[0].id, "new");
    }

    #[test]
    fn whose_subagent_a_file_is_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let subagent = folder.path().join("agent-1.jsonl");
        fs::write(folder.path().join("a.jsonl"), "{}\n").unwrap();
        fs::write(&subagent, "").unwrap();
        let mut tree = tree(folder.path());
        assert_eq!(tree.sessions()[0].subagents.len(), 0, "its first record is not written yet");
        fs::write(&subagent, "{\"sessionId\":\"a\"}\n").unwrap();
        tree.look();
        assert_eq!(tree.sessions()[0].subagents.len(), 1);
        fs::write(&subagent, "{\"sessionId\":\"b\"}\n").unwrap();
        tree.look();
        assert_eq!(tree.sessions()[0].subagents.len(), 1, "what is known is not read again");
    }
}
