//! Events become entries: the only reducer.
//!
//! Live, reload, import and export all fold the same events here, one line after the other. It knows no format, no
//! file, no clock and no HTML.

mod phase;
mod place;
mod transcript;

pub use transcript::Transcript;
