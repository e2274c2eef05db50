//! x
#![allow(clippy::all, missing_docs)]
use bytes::Bytes;
use parlor_dialect::*;
use parlor_model::block::Block;
use parlor_transcript::Transcript;
use std::collections::BTreeMap;
fn main() {
    let mut fates: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let verbose = std::env::var("V").is_ok();
    let mut formats: BTreeMap<String, u64> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        let lines: Vec<_> = Splitter::split(&bytes).collect();
        let first: Vec<_> = lines.iter().filter(|l| !l.is_blank()).take(20).collect();
        let format = Format::detect(first.iter().copied());
        *formats.entry(format!("{format:?}")).or_default() += 1;
        if format.is_none() { println!("?? {path}"); }
        if let Ok(want) = std::env::var("WANT") { if format.map(|f| f.name()) != Some(want.as_str()) { println!("{path}: {format:?}"); } }
        let mut d = Decoder::new(format);
        let mut t = Transcript::default();
        let mut out = vec![];
        for (i, l) in lines.iter().enumerate() {
            out.clear();
            let r = d.read(l, &mut out);
            let e = fates.entry(match &r.fate { parlor_model::event::Fate::Shown => "shown".into(), f => format!("{f:?}") }).or_default();
            e.0 += 1;
            if e.1.is_empty() { e.1 = format!("{path}:{}", i + 1); }
            t.fold(i as u64, l, &r, &out);
        }
        if verbose {
            println!("== {path} {:?}", t.session());
            for e in t.entries() {
                let s = match &e.block {
                    Block::Tool(tool) => format!("TOOL {} {:?} {} -> {:?} {:?}", tool.name, tool.state, tool.input.lossy().chars().take(80).collect::<String>(), tool.output.as_ref().map(|o| o.joined().chars().take(60).collect::<String>()), tool.subagent),
                    b => format!("{b:?}").chars().take(200).collect(),
                };
                println!("  {}{} {} {}", if e.parent.is_some() { "    " } else { "" }, e.id, if e.overtaken { "OVERTAKEN" } else { "" }, s);
            }
        }
    }
    println!("{formats:?}");
    for (k, v) in fates { println!("{:8} {k}   {}", v.0, v.1); }
}
