//! What real agents said over ACP, and what a client said to them.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use bytes::Bytes;
use common::{Fates, detect, files, lines, read};
use parlor_dialect::Format;
use parlor_model::block::Block;
use parlor_model::line::Line;
use parlor_model::tool::ToolState;

/// Recordings of the client's side keep each line with the time it was sent at.
fn sent(line: &Line) -> Line {
    let value: serde_json::Value = serde_json::from_slice(line.bytes()).unwrap();
    Line::new(Bytes::from(value["line"].to_string()))
}

#[test]
fn every_agent_and_client_is_read_to_the_last_line() {
    let mut fates = Fates::new();
    for path in files("recordings/acp") {
        let name = path.to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") {
            continue;
        }
        let client = name.contains(".stdin");
        let lines: Vec<Line> = if client { lines(&path).iter().map(sent).collect() } else { lines(&path) };
        assert_eq!(detect(&lines), Some(Format::Acp), "{name}");
        let seen = read(Format::Acp, &lines, &mut fates);
        println!("{name}\n  {}", seen.view().join("\n  "));
        for (key, block) in &seen.blocks {
            if let Block::Tool(tool) = block {
                assert_eq!(tool.state, ToolState::Done, "{name} {key}");
                assert!(tool.output.as_ref().unwrap().joined().starts_with("hi-x"), "{name} {key}");
            }
        }
    }
    for (fate, count) in &fates {
        println!("{count:6} {fate}");
        assert!(!fate.starts_with("unknown") && !fate.starts_with("damaged"), "{fate}");
    }
}
