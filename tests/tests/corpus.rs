//! Inputs and blessed outputs: `corpus/<format>/<quirk>/input.*` with what each step makes of it. `UPDATE=1` blesses;
//! look at what you bless.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use parlor_dialect::{Format, Splitter};
use parlor_render::{Options, Paint, page, plain, terminal};
use parlor_tests::{Whole, shared};

#[test]
fn every_case_of_the_corpus_is_as_blessed() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut files = Vec::new();
    shared::collect(&shared::root().join("corpus"), &mut files);
    files.sort();
    let cases: Vec<&PathBuf> =
        files.iter().filter(|path| path.file_stem().is_some_and(|stem| stem == "input")).collect();
    assert!(cases.len() >= Format::ALL.len(), "every format has a case");
    let mut wrong = Vec::new();
    for input in cases {
        for (name, made) in outputs(input) {
            let path = input.with_file_name(name);
            if update {
                fs::write(&path, &made).unwrap();
            } else if fs::read_to_string(&path).unwrap_or_default() != made {
                wrong.push(path.display().to_string());
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "not as blessed (see the difference with `UPDATE=1` and `git diff`):\n{}",
        wrong.join("\n")
    );
}

/// What is made of an input, by the name of the blessed file.
fn outputs(input: &Path) -> [(&'static str, String); 5] {
    let bytes = Bytes::from(fs::read(input).unwrap());
    let lines: Vec<_> = Splitter::split(&bytes).filter(|line| !line.is_blank()).take(20).collect();
    let folder = input.ancestors().nth(2).and_then(Path::file_name).unwrap().to_string_lossy().into_owned();
    let format = Format::detect(&lines);
    assert_eq!(format.map(Format::name), Some(folder.as_str()), "{}", input.display());
    let whole = Whole::read(format, &bytes);
    let (session, entries) = (whole.transcript.session(), whole.entries());
    let options = Options { thinking: true, ..Options::default() };
    let mut events = String::new();
    for step in &whole.steps {
        let told = serde_json::to_string(&step.events).unwrap();
        let _ = writeln!(events, "{:?} {told}", step.reading.fate);
    }
    let seen = serde_json::json!({ "session": session, "entries": entries });
    let page = page::page(session, entries, &options).into_string();
    let main = page.find("<main").map_or(page.as_str(), |start| &page[start..]);
    [
        ("events.txt", events),
        ("entries.json", serde_json::to_string_pretty(&seen).unwrap() + "\n"),
        ("main.html", main.to_owned()),
        ("terminal.txt", terminal::transcript(session, entries, &options, 80, Paint { colour: false })),
        ("plain.txt", plain::transcript(session, entries, &options)),
    ]
}
