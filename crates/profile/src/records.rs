//! The `records` profile: the log itself, byte for byte, for a reader that folds it by itself. It leaves nothing out.

use parlor_model::record::Origin;
use serde_json::{Map, Value};

use crate::{Projector, Step};

/// The projector of the `records` profile.
#[derive(Debug, Default)]
pub(crate) struct Records;

impl Projector for Records {
    fn step(&mut self, step: &Step<'_>, out: &mut Vec<Value>) {
        let mut record = Map::new();
        record.insert("seq".into(), step.seq.into());
        if let Some(received) = step.received {
            record.insert("at_us".into(), received.0.into());
        }
        record.insert("origin".into(), origin(step.origin).into());
        let bytes = step.line.bytes();
        match std::str::from_utf8(bytes) {
            Ok(text) => record.insert("body".into(), text.into()),
            // Each byte is the character of that number: JSON has no bytes.
            Err(_) => record
                .insert("latin1".into(), bytes.iter().copied().map(char::from).collect::<String>().into()),
        };
        out.push(Value::Object(record));
    }

    fn finish(&mut self, _out: &mut Vec<Value>) {}
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Agent => "agent",
        Origin::Stderr => "stderr",
        Origin::User => "user",
        Origin::Host => "host",
    }
}
