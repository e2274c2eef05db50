//! The `raw` profile: the untouched record in an envelope. It rewrites nothing and reads no meaning into a record.
//!
//! Untouched means value for value and in the same order; the envelope is JSON, so that white space and escapes are
//! not kept. A record that a strict reader of JSON refuses travels as its text.

use parlor_model::json::{Json, Kind};
use serde_json::{Map, Value};

use crate::{Projector, Step, filter};

/// The projector of the `raw` profile.
#[derive(Debug, Default)]
pub(crate) struct Raw;

impl Projector for Raw {
    fn step(&mut self, step: &Step<'_>, out: &mut Vec<Value>) {
        if step.line.is_blank() || filter::internal(step.line).is_some() {
            return;
        }
        let mut envelope = Map::new();
        envelope.insert("seq".into(), step.seq.into());
        if let Some(at) = step.reading.at {
            envelope.insert("at".into(), at.iso_millis().into());
        }
        envelope.insert("record".into(), record(step));
        out.push(Value::Object(envelope));
    }

    fn finish(&mut self, _out: &mut Vec<Value>) {}
}

/// The record as JSON when it is an object, else its text: a banner, a warning, half a line.
fn record(step: &Step<'_>) -> Value {
    let json = Json::new(step.line.bytes().clone());
    match json.kind() {
        Kind::Object => json.value(),
        _ => json.lossy().into_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::testing::Bench;
    use parlor_model::line::Line;
    use parlor_model::role::Role;
    use parlor_model::rule::Rule;
    use serde_json::json;

    fn raw(record: &str) -> Vec<Value> {
        Bench::new(Profile::Raw).record(record, &[])
    }

    #[test]
    fn a_record_is_delivered_untouched_in_an_envelope() {
        let record = r#"{"zeta":1,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},"n":1761073198.2721586,"alpha":"\u00e9 \\"}"#;
        let all = raw(record);
        assert_eq!(all.len(), 1);
        assert_eq!((&all[0]["seq"], &all[0]["at"]), (&json!(0), &json!("2026-03-04T05:06:07.089Z")));
        assert_eq!(all[0]["record"].to_string(), record.replace("\\u00e9", "é"));
        let role = Role::of_record(all[0]["record"].to_string().as_bytes());
        assert_eq!(role, Some(Role::ToolResult), "the client can still tell the role");
        assert_eq!(all[0]["record"].get("display_role"), None);
    }

    #[test]
    fn summaries_system_records_and_sidechains_never_reach_the_client() {
        for (record, rule) in [
            (r#"{"type":"summary","summary":"Session Title"}"#, Rule::Summary),
            (r#"{"summary":"x","type":"summary"}"#, Rule::Summary),
            (r#"{"type":"system","content":"local command"}"#, Rule::Status),
            (r#"{"isSidechain":true,"type":"user","message":{"content":"Warmup"}}"#, Rule::Sidechain),
            (r#"{"type":"assistant","isSidechain":true}"#, Rule::Sidechain),
            (r#"{"type":"system","isSidechain":true}"#, Rule::Status),
        ] {
            assert_eq!(raw(record), [] as [Value; 0], "{record}");
            let line = Line::new(bytes::Bytes::copy_from_slice(record.as_bytes()));
            assert_eq!(filter::internal(&line), Some(rule), "{record}");
        }
    }

    #[test]
    fn what_only_looks_internal_is_delivered() {
        for record in [
            r#"{"type":"user","isSidechain":false,"message":{"content":"hi"}}"#,
            r#"{"type":"user","isSidechain":"true","message":{"content":"hi"}}"#,
            r#"{"type":"user","message":{"type":"system","isSidechain":true}}"#,
            r#"{"type":7}"#,
            r#"{"message":"no type"}"#,
        ] {
            assert_eq!(raw(record).len(), 1, "{record}");
        }
    }

    #[test]
    fn what_is_no_object_is_delivered_as_text() {
        for record in ["warning: something", "[1,2]", "42", "{\"cut\": tr"] {
            assert_eq!(raw(record)[0]["record"], *record);
        }
        assert_eq!(raw("  "), [] as [Value; 0]);
    }
}
