//! What a renderer must know besides the entry itself: the session, where entries stand, and what the reader wants.
//! It holds no text and decides no looks.

use parlor_model::entry::Entry;
pub use parlor_model::outline::Outline;
use parlor_model::session::Session;

/// What the reader wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seconds to add to UTC for the times that are shown.
    pub offset_s: i32,
    /// Whether thoughts are shown.
    pub thinking: bool,
    /// Whether the contents of files that were only read or searched are shown.
    pub file_contents: bool,
    /// Whether outputs are shown in full where they would be folded: for terminals, which cannot unfold.
    pub unfolded: bool,
    /// How much of anything is shown.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            offset_s: 0,
            thinking: true,
            file_contents: false,
            unfolded: false,
            limits: Limits::default(),
        }
    }
}

/// How much of anything is shown. What is left out leaves a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an output, a file or a raw record.
    pub bytes: usize,
    /// Lines of an output, a file or a diff.
    pub lines: usize,
    /// Bytes of a prompt, a reply or a thought.
    pub prose_bytes: usize,
    /// Bytes of one picture in base64.
    pub image_bytes: usize,
    /// Items of a list of files, steps or tasks.
    pub items: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 64 << 10, lines: 2_000, prose_bytes: 512 << 10, image_bytes: 2 << 20, items: 500 }
    }
}

impl Limits {
    /// No limits: for a reader who asks for the full text of one entry.
    pub fn none() -> Self {
        let all = usize::MAX;
        Limits { bytes: all, lines: all, prose_bytes: all, image_bytes: all, items: all }
    }
}

/// Everything that rendering an entry depends on.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The session.
    pub session: &'a Session,
    /// Its entries, or a window of them.
    pub entries: &'a [Entry],
    /// Where those entries stand.
    pub outline: &'a Outline,
    /// What the reader wants.
    pub options: &'a Options,
}

impl Context<'_> {
    /// The working directory, for paths that are shown relative to it.
    pub(crate) fn cwd(&self) -> Option<String> {
        self.session.cwd.as_ref().map(|cwd| cwd.as_str().into_owned())
    }
}
