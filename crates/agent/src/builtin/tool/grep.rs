//! Searches the lines of files, leaving out what git ignores. It changes nothing and does not look for ever.

use std::fmt::Write as _;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde::Deserialize;
use tokio::time::Instant;

use super::glob::{PATIENCE, matcher, walk};
use super::{Outcome, RESULT_BYTES, lenient, resolve};

/// How much of a line is told.
const LINE_CHARS: usize = 400;

/// The input.
#[derive(Debug, Deserialize)]
pub(crate) struct Grep {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    output_mode: OutputMode,
    #[serde(default, deserialize_with = "lenient::truth")]
    ignore_case: bool,
}

/// What is told of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

impl Grep {
    pub(crate) fn run(&self, cwd: &Path) -> Outcome {
        self.search(cwd).into()
    }

    fn search(&self, cwd: &Path) -> Result<Outcome, String> {
        let root = resolve(cwd, self.path.as_deref().unwrap_or("."));
        if !root.exists() {
            return Err(format!("{} does not exist.", root.display()));
        }
        let regex = RegexMatcherBuilder::new()
            .case_insensitive(self.ignore_case)
            .build(&self.pattern)
            .map_err(|error| format!("The pattern is not a valid regular expression: {error}."))?;
        let fits = self.glob.as_deref().map(matcher).transpose()?;
        let mut searcher =
            SearcherBuilder::new().line_number(true).binary_detection(BinaryDetection::quit(0)).build();
        let deadline = Instant::now() + PATIENCE;
        let (mut text, mut full) = (String::new(), false);
        for entry in
            walk(&root).flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        {
            let path = entry.path();
            let below = path.strip_prefix(&root).unwrap_or(path);
            if fits.as_ref().is_some_and(|fits| !fits(if below == Path::new("") { path } else { below })) {
                continue;
            }
            let name = path.strip_prefix(cwd).unwrap_or(path).display().to_string();
            self.file(&mut searcher, &regex, path, &name, &mut text);
            full = text.len() > RESULT_BYTES - 200 || Instant::now() > deadline;
            if full {
                break;
            }
        }
        if full {
            text.truncate(text.floor_char_boundary(RESULT_BYTES - 200));
            text.push_str(
                "\n[there may be more: the search was ended; use a narrower pattern or a smaller folder]",
            );
        }
        let text = if text.is_empty() { "Nothing was found.".to_owned() } else { text };
        Ok(Outcome { truncated: full, ..Outcome::done(text) })
    }

    fn file(
        &self,
        searcher: &mut Searcher,
        regex: &RegexMatcher,
        path: &Path,
        name: &str,
        text: &mut String,
    ) {
        let mut count = 0_u64;
        let sink = Lossy(|number, line| {
            count += 1;
            if self.output_mode == OutputMode::Content {
                let line = line.trim_end_matches(['\r', '\n']);
                let short: String = line.chars().take(LINE_CHARS).collect();
                let mark = if short.len() < line.len() { "…" } else { "" };
                let _ = writeln!(text, "{name}:{number}:{short}{mark}");
            }
            Ok(self.output_mode != OutputMode::FilesWithMatches && text.len() < RESULT_BYTES)
        });
        // A file that cannot be read holds nothing that can be told.
        let _ = searcher.search_path(regex, path, sink);
        match self.output_mode {
            OutputMode::FilesWithMatches if count > 0 => _ = writeln!(text, "{name}"),
            OutputMode::Count if count > 0 => _ = writeln!(text, "{name}:{count}"),
            OutputMode::Content | OutputMode::FilesWithMatches | OutputMode::Count => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grep(folder: &Path, arguments: &str) -> Outcome {
        serde_json::from_str::<Grep>(arguments).unwrap().run(folder)
    }

    #[test]
    fn matches_are_told_in_each_mode() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\ntwo\nOne more\n").unwrap();
        std::fs::write(folder.path().join("b.bin"), b"one\0one\n").unwrap();
        std::fs::write(folder.path().join(".gitignore"), "c.txt\n").unwrap();
        std::fs::write(folder.path().join("c.txt"), "one\n").unwrap();
        let told = |arguments: &str| grep(folder.path(), arguments).text;
        assert_eq!(told(r#"{"pattern":"one"}"#), "a.txt\n");
        assert_eq!(told(r#"{"pattern":"^one","output_mode":"content"}"#), "a.txt:1:one\n");
        assert_eq!(told(r#"{"pattern":"one","output_mode":"count","ignore_case":true}"#), "a.txt:2\n");
        assert_eq!(told(r#"{"pattern":"one","glob":"*.md"}"#), "Nothing was found.");
        assert_eq!(told(r#"{"pattern":"two","path":"a.txt","glob":"*.txt"}"#), "a.txt\n");
        assert!(told(r#"{"pattern":"("}"#).contains("not a valid regular expression"));
        assert!(told(r#"{"pattern":"x","path":"none"}"#).contains("does not exist"));
    }

    #[test]
    fn too_much_ends_with_a_mark() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "some line\n".repeat(10_000)).unwrap();
        let outcome = grep(folder.path(), r#"{"pattern":"line","output_mode":"content"}"#);
        assert!(outcome.truncated && outcome.text.len() <= RESULT_BYTES);
        assert!(outcome.text.ends_with("a smaller folder]"));
    }
}
