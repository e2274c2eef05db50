//! Numbers and truths as models write them: now and then in quotes. What is neither is still refused.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

/// A count that may be missing, in quotes, or written with a point.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_f64(),
        _ => None,
    };
    match number {
        // The cast keeps within the type's bounds.
        Some(number) if number >= 0.0 => Ok(Some(number as u64)),
        _ => Err(D::Error::custom(format!("{value} is not a count"))),
    }
}

/// A truth that may be missing or in quotes.
pub(crate) fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match &value {
        Value::Null => Ok(false),
        Value::Bool(truth) => Ok(*truth),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") || text.is_empty() => Ok(false),
        _ => Err(D::Error::custom(format!("{value} is neither true nor false"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Input {
        #[serde(default, deserialize_with = "count")]
        count: Option<u64>,
        #[serde(default, deserialize_with = "truth")]
        truth: bool,
    }

    #[test]
    fn quotes_are_no_trouble_and_nonsense_is_refused() {
        for (text, count, truth) in [
            ("{}", None, false),
            (r#"{"count":5,"truth":true}"#, Some(5), true),
            (r#"{"count":"5","truth":"True"}"#, Some(5), true),
            (r#"{"count":5.0,"truth":""}"#, Some(5), false),
            (r#"{"count":null,"truth":null}"#, None, false),
        ] {
            assert_eq!(serde_json::from_str::<Input>(text).unwrap(), Input { count, truth }, "{text}");
        }
        for text in [r#"{"count":-1}"#, r#"{"count":"five"}"#, r#"{"count":[]}"#, r#"{"truth":"maybe"}"#] {
            assert!(serde_json::from_str::<Input>(text).is_err(), "{text}");
        }
    }
}
