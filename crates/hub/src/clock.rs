//! The one place that reads the clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parlor_model::time::Time;

/// The time of day, for records.
#[allow(clippy::disallowed_methods, reason = "the hub is the crate that reads the clock")]
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A moment, to measure from.
#[allow(clippy::disallowed_methods, reason = "the hub is the crate that reads the clock")]
pub(crate) fn moment() -> Instant {
    Instant::now()
}
