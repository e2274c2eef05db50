//! Finds files by a pattern of their path, leaving out what git ignores. It changes nothing and does not look for ever.

use std::path::{Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobMatcher};
use ignore::{Walk, WalkBuilder};
use serde::Deserialize;
use tokio::time::Instant;

use super::{Outcome, resolve};

/// How many files are told.
const FILES: usize = 500;
/// How long is looked.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The input.
#[derive(Debug, Deserialize)]
pub(crate) struct Glob {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

impl Glob {
    pub(crate) fn run(&self, cwd: &Path) -> Outcome {
        self.find(cwd).into()
    }

    fn find(&self, cwd: &Path) -> Result<Outcome, String> {
        let (folder, pattern) = match (&self.path, split_absolute(&self.pattern)) {
            (None, Some((folder, pattern))) => (folder, pattern),
            (path, _) => (resolve(cwd, path.as_deref().unwrap_or(".")), self.pattern.clone()),
        };
        if !folder.is_dir() {
            return Err(format!("{} is not a folder.", folder.display()));
        }
        let fits = matcher(&pattern)?;
        let deadline = Instant::now() + PATIENCE;
        let (mut files, mut late) = (Vec::new(), false);
        for entry in
            walk(&folder).flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()))
        {
            let path = entry.path();
            if fits(path.strip_prefix(&folder).unwrap_or(path)) {
                files.push(path.strip_prefix(cwd).unwrap_or(path).display().to_string());
            }
            if Instant::now() > deadline || files.len() > FILES * 20 {
                late = true;
                break;
            }
        }
        Ok(tell(files, late))
    }
}

fn tell(mut files: Vec<String>, late: bool) -> Outcome {
    if files.is_empty() && !late {
        return Outcome::done("No file fits.");
    }
    files.sort();
    let total = files.len();
    files.truncate(FILES);
    let mut text = files.join("\n");
    if total > FILES {
        text.push_str(&format!("\n[{} more files are left out; use a narrower pattern]", total - FILES));
    }
    if late {
        text.push_str("\n[there may be more: the search was ended; look in a smaller folder]");
    }
    Outcome { truncated: total > FILES || late, ..Outcome::done(text) }
}

/// Everything below a folder that git does not ignore.
pub(crate) fn walk(folder: &Path) -> Walk {
    let mut builder = WalkBuilder::new(folder);
    builder.hidden(false).require_git(false).filter_entry(|entry| entry.file_name() != ".git");
    builder.build()
}

/// Whether a path fits a pattern; one without `/` is about the file's name alone.
pub(crate) fn matcher(pattern: &str) -> Result<impl Fn(&Path) -> bool + use<>, String> {
    let pattern = pattern.trim_start_matches("./");
    let by_name = !pattern.contains('/');
    let matcher: GlobMatcher = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| format!("The pattern is not valid: {error}."))?
        .compile_matcher();
    Ok(move |path: &Path| match path.file_name() {
        Some(name) if by_name => matcher.is_match(Path::new(name)),
        _ => matcher.is_match(path),
    })
}

/// An absolute pattern as the folder before its first wildcard and the rest.
fn split_absolute(pattern: &str) -> Option<(PathBuf, String)> {
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let slash = pattern[..wild].rfind('/')?;
    let is_absolute = pattern.starts_with('/');
    is_absolute.then(|| (PathBuf::from(&pattern[..=slash]), pattern[slash + 1..].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_name_or_path_and_ignored_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".gitignore", "target\n");
        write("src/a.rs", "");
        write("src/deep/b.rs", "");
        write("target/c.rs", "");
        write("notes.md", "");
        let glob = |pattern: &str, path: Option<&str>| {
            Glob { pattern: pattern.into(), path: path.map(str::to_owned) }.run(folder.path()).text
        };
        assert_eq!(glob("*.rs", None), "src/a.rs\nsrc/deep/b.rs");
        assert_eq!(glob("src/*.rs", None), "src/a.rs");
        assert_eq!(glob("**/*.rs", Some("src/deep")), "src/deep/b.rs");
        assert_eq!(glob("*.py", None), "No file fits.");
        let absolute = folder.path().join("src/**/*.rs");
        assert_eq!(glob(absolute.to_str().unwrap(), None), "src/a.rs\nsrc/deep/b.rs");
        assert!(glob("[", None).contains("not valid"));
        assert!(glob("*", Some("none")).contains("not a folder"));
    }
}
