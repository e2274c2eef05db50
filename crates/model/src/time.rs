//! Instants as agents write them. Only parses and formats; it never asks what time it is.

use serde::{Serialize, Serializer};

use crate::json::{Kind, Reader};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// Parses by value: ISO 8601 with any offset (none means UTC), or a number of seconds, milliseconds,
    /// microseconds or nanoseconds told apart by size, also inside a string.
    pub fn parse(text: &str) -> Option<Time> {
        let text = text.trim();
        if let Ok(number) = text.parse::<f64>() {
            return Time::from_number(number);
        }
        if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
            return Some(Time(stamp.as_microsecond()));
        }
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        let stamp = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        Some(Time(stamp.as_microsecond()))
    }

    /// A number of seconds, milliseconds, microseconds or nanoseconds: each unit is some thousand times the other,
    /// so that the size tells which one is meant for any moment between 1973 and 5138.
    pub fn from_number(number: f64) -> Option<Time> {
        let micros = match number.abs() {
            size if !size.is_finite() || size < 1e8 => return None,
            size if size < 1e11 => number * 1e6,
            size if size < 1e14 => number * 1e3,
            size if size < 1e17 => number,
            _ => number / 1e3,
        };
        // Beyond the year 9999 there is no calendar to show it in.
        (micros.abs() < 253_402_300_800e6).then_some(Time(micros.round() as i64))
    }

    /// Reads the timestamp that stands next in `reader`, whatever its form.
    pub fn read(reader: &mut Reader<'_>, bytes: &[u8]) -> Option<Time> {
        match reader.kind() {
            Kind::String => {
                let span = reader.text()?;
                Time::parse(std::str::from_utf8(&bytes[span.start..span.end]).ok()?)
            }
            Kind::Number => Time::from_number(reader.number()?),
            _ => {
                reader.skip();
                None
            }
        }
    }

    /// `2026-11-15T14:02:03.123Z`: the form every profile speaks.
    pub fn iso_millis(self) -> String {
        self.stamp().map_or_else(String::new, |stamp| format!("{stamp:.3}"))
    }

    /// Seconds since 1970 with a fraction.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// As a jiff timestamp, for shells that format in a time zone.
    pub fn stamp(self) -> Option<jiff::Timestamp> {
        jiff::Timestamp::from_microsecond(self.0).ok()
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.iso_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_timestamp_is_read_by_value() {
        let expected = Time(1_761_073_142_228_585);
        for text in [
            "2025-10-21T18:59:02.228585+00:00",
            "2025-10-21T18:59:02.228585Z",
            "2025-10-21T20:59:02.228585+02:00",
            "2025-10-21T18:59:02.228585",
            "2025-10-21 18:59:02.228585Z",
            "1761073142.228585",
            "1761073142228585",
        ] {
            assert_eq!(Time::parse(text), Some(expected), "{text}");
        }
        assert_eq!(Time::from_number(1_761_073_142_228.0).unwrap().iso_millis(), "2025-10-21T18:59:02.228Z");
        assert_eq!(Time::from_number(1_761_073_142.0).unwrap().iso_millis(), "2025-10-21T18:59:02.000Z");
        for bad in ["", "soon", "-", "12", "1e300", "NaN", "2025-13-45T00:00:00Z"] {
            assert_eq!(Time::parse(bad), None, "{bad}");
        }
    }
}
