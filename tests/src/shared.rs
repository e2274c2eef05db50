//! Recordings of the real agents and sessions found in the wild, where a checkout has them beside it. A machine
//! without them runs the same suites on the project's own corpus.

use std::path::{Path, PathBuf};

/// The project's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// All files below these folders of `../shared`, in the order of their names; none where it does not exist.
pub fn shared_files(folders: &[&str]) -> Vec<PathBuf> {
    let shared = root().join("../shared");
    let mut files = Vec::new();
    for folder in folders {
        collect(&shared.join(folder), &mut files);
    }
    files.sort();
    files
}

/// All files below a folder.
pub fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
