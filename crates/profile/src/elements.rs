//! The elements profile.

use serde_json::Value;

use crate::{Projector, Step};

#[derive(Debug, Default)]
pub(crate) struct Elements;

impl Projector for Elements {
    fn step(&mut self, _step: &Step<'_>, _out: &mut Vec<Value>) {}

    fn finish(&mut self, _out: &mut Vec<Value>) {}
}
