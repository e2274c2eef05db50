//! The named rules by which profiles leave records and messages out. Each is a function of what it is given, so that
//! applying it twice is applying it once.

use parlor_model::json::Reader;
use parlor_model::line::Line;
use parlor_model::rule::Rule;

/// The rule that keeps a record from clients that want only conversation records: summaries, system records, and the
/// work of subagents, by the record's own words.
pub fn internal(line: &Line) -> Option<Rule> {
    let mut rule = None;
    let mut sidechain = false;
    Reader::new(line.bytes()).object(|reader, key| match key {
        b"type" => {
            rule = match reader.text().map(|span| line.word(span)) {
                Some(b"summary") => Some(Rule::Summary),
                Some(b"system") => Some(Rule::Status),
                _ => None,
            }
        }
        b"isSidechain" => sidechain = reader.bool() == Some(true),
        _ => {}
    });
    rule.or_else(|| sidechain.then_some(Rule::Sidechain))
}
