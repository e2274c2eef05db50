//! A unified diff of many files, taken apart. It must not look at the file system.

use parlor_model::tool::{FileChange, FilePatch};

/// The files of a unified diff, in order.
pub(crate) fn files(diff: &str) -> Vec<FilePatch> {
    let mut starts: Vec<usize> = Vec::new();
    let (mut at, mut header) = (0, false);
    let mut lines = diff.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        // `diff --git` opens a file; without it `---` before `+++` does, unless both belong to a header just opened.
        let git = line.starts_with("diff --git ");
        let pair = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if git || (pair && !header) {
            starts.push(at);
        }
        header = git || (header && !line.starts_with("@@"));
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([diff.len()]);
    starts.iter().zip(ends).map(|(start, end)| file(&diff[*start..end])).collect()
}

fn file(section: &str) -> FilePatch {
    let named = |prefix: &str| {
        let name = section
            .lines()
            .take_while(|line| !line.starts_with("@@"))
            .find_map(|line| line.strip_prefix(prefix))?;
        let name = name.split('\t').next().unwrap_or(name);
        Some(name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name))
    };
    let (old, new) = (named("--- "), named("+++ "));
    let of_git = || section.lines().next().and_then(|line| Some(line.rsplit_once(" b/")?.1));
    let (path, change) = match (old, new) {
        (Some(old), Some("/dev/null")) => (old, FileChange::Delete),
        (Some("/dev/null"), Some(new)) => (new, FileChange::Add),
        (_, Some(new)) => (new, FileChange::Update),
        _ => (of_git().unwrap_or_default(), FileChange::Update),
    };
    FilePatch::parse_unified(path.into(), change, section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_of_many_files_is_taken_apart() {
        let diff = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\
                    diff --git a/p.png b/p.png\nBinary files differ\n\
                    diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+new\n";
        let files = files(diff);
        let seen: Vec<_> = files
            .iter()
            .map(|file| (file.path.as_str().into_owned(), file.change, file.hunks.len()))
            .collect();
        assert_eq!(
            seen,
            [
                ("x".to_owned(), FileChange::Update, 1),
                ("p.png".to_owned(), FileChange::Update, 0),
                ("n".to_owned(), FileChange::Add, 1)
            ]
        );
        assert_eq!(super::files("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n").len(), 1);
        assert_eq!(
            super::files("--- x\n+++ x\n@@ -1 +1 @@\n--- a\n+b\n--- y\n+++ y\n@@ -1 +1 @@\n+c\n").len(),
            2
        );
        assert!(super::files("no diff at all").is_empty());
        assert!(super::files(&"--- x\n".repeat(100_000)).is_empty());
    }
}
