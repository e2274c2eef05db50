//! Replaces a text in a file, when it is clear which one is meant.

use std::path::Path;

use serde::Deserialize;

use super::{Outcome, lenient, patch, read, resolve};

/// The input.
#[derive(Debug, Deserialize)]
pub(crate) struct Edit {
    pub(crate) file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default, deserialize_with = "lenient::truth")]
    replace_all: bool,
}

impl Edit {
    pub(crate) fn run(&self, cwd: &Path) -> Outcome {
        self.edit(cwd).into()
    }

    fn edit(&self, cwd: &Path) -> Result<Outcome, String> {
        let path = resolve(cwd, &self.file_path);
        let name = path.display();
        let old = String::from_utf8(read::bytes(&path)?)
            .map_err(|_| format!("{name} is not UTF-8 text, so it cannot be edited. Use `Bash`."))?;
        let (new, times) = self.replaced(&old).map_err(|problem| format!("{name}: {problem}"))?;
        std::fs::write(&path, &new).map_err(|error| format!("{name} cannot be written: {error}."))?;
        let text = match times {
            1 => format!("{name} is changed."),
            times => format!("{name} is changed in {times} places."),
        };
        Ok(Outcome { diff: Some(patch::unified(cwd, &path, Some(&old), &new)), ..Outcome::done(text) })
    }

    /// The file's new text, and how often something was replaced.
    fn replaced(&self, old: &str) -> Result<(String, usize), String> {
        if self.old_string.is_empty() {
            return Err("`old_string` is empty. Use `Write` for a whole file.".to_owned());
        }
        if self.old_string == self.new_string {
            return Err("`old_string` and `new_string` are the same, so nothing would change.".to_owned());
        }
        let (mut from, mut to) = (self.old_string.clone(), self.new_string.clone());
        if !old.contains(&from) && old.contains("\r\n") {
            // The model sees no CR, and the file keeps its own line ends.
            let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
            (from, to) = (windows(&from), windows(&to));
        }
        match old.matches(&from).count() {
            0 => Err("`old_string` does not occur. Read the file again and copy the text with its exact white space, \
without line numbers."
                .to_owned()),
            1 => Ok((old.replacen(&from, &to, 1), 1)),
            times if self.replace_all => Ok((old.replace(&from, &to), times)),
            times => Err(format!(
                "`old_string` occurs {times} times. Give more of the lines around it, or set `replace_all`."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(file: &str, old: &str, new: &str, replace_all: bool) -> Result<String, String> {
        let edit =
            Edit { file_path: "f".into(), old_string: old.into(), new_string: new.into(), replace_all };
        edit.replaced(file).map(|(text, _)| text)
    }

    #[test]
    fn only_one_place_is_changed_unless_all_are_meant() {
        assert_eq!(edit("a b c", "b", "x", false).unwrap(), "a x c");
        assert!(edit("b b", "b", "x", false).unwrap_err().contains("2 times"));
        assert_eq!(edit("b b", "b", "x", true).unwrap(), "x x");
        assert!(edit("a", "b", "x", true).unwrap_err().contains("does not occur"));
        assert!(edit("a", "", "x", false).unwrap_err().contains("is empty"));
        assert!(edit("a", "a", "a", false).unwrap_err().contains("the same"));
        assert_eq!(edit("a\r\nb\r\nc", "a\nb", "x\ny", false).unwrap(), "x\r\ny\r\nc", "line ends stay");
    }

    #[test]
    fn the_change_is_told_as_a_diff() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "one\ntwo\nthree\n").unwrap();
        let edit = Edit {
            file_path: "f".into(),
            old_string: "two".into(),
            new_string: "2".into(),
            replace_all: false,
        };
        let diff = edit.run(folder.path()).diff.unwrap();
        assert!(diff.starts_with("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"), "{diff}");
    }
}
