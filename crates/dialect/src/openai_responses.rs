//! TODO

use parlor_model::event::{Event, Reading};
use parlor_model::line::Line;

use crate::decoder::unknown;
use crate::{Claim, Dialect};

/// TODO
#[derive(Debug, Default)]
pub(crate) struct OpenaiResponses {}

impl Dialect for OpenaiResponses {
    fn read(&mut self, line: &Line, _out: &mut Vec<Event>) -> Reading {
        unknown(line, "")
    }
}

/// How sure this format is that the line is its own.
pub(crate) fn claim(_line: &Line) -> Claim {
    Claim::No
}
