//! Numbers, durations, sizes and times in words. It must not read a clock or know a time zone by name.

use parlor_model::event::Decision;
use parlor_model::order::Choice;
use parlor_model::time::Time;

use crate::clip::one_line;

/// `0.2 s`, `52 s`, `3 min 12 s`, `2 h 5 min`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..60_000 => format!("{} s", ms / 1000),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// `812 B`, `12 KB`, `3.4 MB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// `812`, `1.2k`, `148k`, `3.1M`.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// `1 line`, `2 lines`. The noun takes an `s`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// What a stop says beyond being one.
pub(crate) fn stop_words(text: &str) -> &str {
    let text = text.trim();
    if text == "Interrupted" { "" } else { text }
}

/// `Allowed for this session · by phone · 14:02`: what a person said when a call asked.
pub(crate) fn decision(decision: &Decision, offset_s: i32) -> String {
    let mut words = vec![
        match decision.choice {
            Choice::Allow => "Allowed once",
            Choice::AllowSession => "Allowed for this session",
            Choice::AllowAlways => "Always allowed",
            Choice::Deny => "Denied",
            Choice::Reply => "Answered",
        }
        .to_owned(),
    ];
    if let Some(reason) = decision.reason.as_ref().filter(|reason| !reason.is_blank()) {
        words[0].push_str(": ");
        words[0].push_str(&one_line(&reason.as_str(), 400));
    }
    words.extend(decision.by.as_ref().map(|by| format!("by {}", one_line(&by.as_str(), 60))));
    words.extend(decision.at.map(|at| clock(at, offset_s)));
    words.join(" · ")
}

/// `Context compacted · 148k → 12k tokens`.
pub(crate) fn compaction(before: Option<u64>, after: Option<u64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => {
            format!("Context compacted · {} → {} tokens", tokens(before), tokens(after))
        }
        (Some(before), None) => format!("Context compacted · {} tokens before", tokens(before)),
        (None, Some(after)) => format!("Context compacted · {} tokens after", tokens(after)),
        (None, None) => "Context compacted".to_owned(),
    }
}

/// The time of day, `14:02`.
pub(crate) fn clock(time: Time, offset_s: i32) -> String {
    let seconds = shifted(time, offset_s).rem_euclid(86_400);
    format!("{:02}:{:02}", seconds / 3600, seconds % 3600 / 60)
}

/// A number for the day, to tell one day from the next.
pub(crate) fn day(time: Time, offset_s: i32) -> i64 {
    shifted(time, offset_s).div_euclid(86_400)
}

/// The date, `15 November 2026`.
pub(crate) fn date(time: Time, offset_s: i32) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    // Shifted into UTC, the day in UTC is the day in the reader's zone.
    let stamp = Time(time.0.saturating_add(i64::from(offset_s).saturating_mul(1_000_000))).iso_millis();
    let mut parts = stamp.split(['-', 'T']);
    let (Some(year), Some(month), Some(day)) = (parts.next(), parts.next(), parts.next()) else {
        return stamp;
    };
    let month = month.parse::<usize>().ok().and_then(|month| MONTHS.get(month.wrapping_sub(1)));
    format!("{} {} {year}", day.trim_start_matches('0'), month.unwrap_or(&""))
}

fn shifted(time: Time, offset_s: i32) -> i64 {
    time.0.div_euclid(1_000_000).saturating_add(i64::from(offset_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_read_well_at_every_size() {
        let durations = [0, 212, 8_449, 52_000, 192_000, 7_500_000].map(duration);
        assert_eq!(durations, ["0.0 s", "0.2 s", "8.4 s", "52 s", "3 min 12 s", "2 h 5 min"]);
        assert_eq!([812, 12_345, 3_400_000].map(size), ["812 B", "12 KB", "3.4 MB"]);
        assert_eq!([812, 1_240, 148_000, 3_100_000].map(tokens), ["812", "1.2k", "148k", "3.1M"]);
        assert_eq!([1, 2].map(|count| plural(count, "line")), ["1 line", "2 lines"]);
        assert!(!duration(u64::MAX).is_empty() && !size(u64::MAX).is_empty() && !tokens(u64::MAX).is_empty());
    }

    #[test]
    fn times_move_with_the_offset() {
        let time = Time::parse("2026-11-15T23:30:00Z").unwrap();
        assert_eq!((clock(time, 0), date(time, 0)), ("23:30".into(), "15 November 2026".into()));
        assert_eq!((clock(time, 3600), date(time, 3600)), ("00:30".into(), "16 November 2026".into()));
        assert_eq!(day(time, 3600), day(time, 0) + 1);
        assert_eq!(clock(Time(-1), 0), "23:59");
        assert!(clock(Time(i64::MAX), i32::MAX).len() == 5);
        date(Time(i64::MIN), i32::MIN);
    }
}
