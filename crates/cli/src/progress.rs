//! A progress bar on stderr, for work that takes long and a person who watches.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Below this many bytes the work is done before anyone could read a bar.
const LONG_WORK: u64 = 256 * 1024 * 1024;

/// A bar over `total` bytes. It draws nothing for short work, and indicatif draws nothing where stderr is no
/// terminal.
pub(crate) fn bar(total: u64) -> ProgressBar {
    if total < LONG_WORK {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bytes}/{total_bytes} {wide_bar} {eta}");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    style.map_or(bar.clone(), |style| bar.with_style(style))
}
