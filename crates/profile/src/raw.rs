//! The `raw` profile: the untouched record in an envelope. It rewrites nothing and reads no meaning into a record.

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
