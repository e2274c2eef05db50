//! The change to a file as a unified diff, for the person. It must stay short and quick, whatever the file.

use std::path::Path;
use std::time::Duration;

use similar::TextDiff;

/// How long a diff may be.
const DIFF_BYTES: usize = 200_000;
/// How long the best diff is looked for.
const PATIENCE: Duration = Duration::from_millis(300);

/// The diff from `old`, or from nothing, to `new`.
pub(crate) fn unified(cwd: &Path, path: &Path, old: Option<&str>, new: &str) -> String {
    let name = path.strip_prefix(cwd).unwrap_or(path).display();
    let from = old.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{name}"));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old.unwrap_or_default(), new);
    let mut text = diff.unified_diff().context_radius(3).header(&from, &format!("b/{name}")).to_string();
    if text.len() > DIFF_BYTES {
        let end = text.floor_char_boundary(DIFF_BYTES);
        text.truncate(text[..end].rfind('\n').map_or(0, |end| end + 1));
        text.push_str("\\ the rest of the change is left out\n");
    }
    text
}
