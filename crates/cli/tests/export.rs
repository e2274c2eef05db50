//! `parlor export`: a file that can be kept.

mod common;

use common::{Home, talk};

#[test]
fn the_extension_says_the_format() {
    let home = Home::new();
    home.write("a.jsonl", talk("s", 1));
    for (name, start) in [("o.html", "<!doctype html>"), ("o.htm", "<!doctype html>"), ("o.json", "{")] {
        home.run(&["export", "a.jsonl", "-o", name]).exits(0);
        let content = std::fs::read_to_string(home.path(name)).unwrap();
        assert!(content.starts_with(start) && content.contains("answer 0"), "{name}: {content}");
    }
    for name in ["o.md", "o.MARKDOWN", "o.txt"] {
        home.run(&["export", "a.jsonl", "-o", name]).exits(0);
        assert!(std::fs::read_to_string(home.path(name)).unwrap().contains("answer 0"));
    }
    home.run(&["export", "a.jsonl", "-o", "o.pdf"]).exits(2).complains("`o.pdf`").complains("--format");
    home.run(&["export", "a.jsonl", "-o", "plain", "--format", "text"]).exits(0);
    assert!(std::fs::read_to_string(home.path("plain")).unwrap().contains("answer 0"));
}

#[test]
fn text_has_a_label_per_message() {
    let home = Home::new();
    home.write("a.jsonl", talk("s", 1));
    let out = home.run(&["export", "a.jsonl", "-o", "-", "--format", "text"]).exits(0).out;
    assert!(out.contains("[User]\nquestion 0") && out.contains("[Assistant]\nanswer 0"), "{out}");
}

#[test]
fn a_failed_export_leaves_what_was_there() {
    let home = Home::new();
    home.write("a.jsonl", talk("s", 1));
    home.write("o.html", "precious");
    home.run(&["export", "gone.jsonl", "-o", "o.html"]).exits(2).complains("`gone.jsonl`");
    assert_eq!(std::fs::read_to_string(home.path("o.html")).unwrap(), "precious");
    home.run(&["export", "a.jsonl", "-o", "no/such/folder/o.html"])
        .exits(2)
        .complains("o.html")
        .complains("folder");
    home.run(&["export", "a.jsonl", "-o", "a.jsonl", "--format", "text"])
        .exits(2)
        .complains("the session itself");
    assert_eq!(std::fs::read_to_string(home.path("a.jsonl")).unwrap(), talk("s", 1));
    let left: Vec<_> =
        std::fs::read_dir(home.path(".")).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to() {
    let home = Home::new();
    home.write("a.jsonl", talk("s", 1));
    home.run(&["export", "a.jsonl", "-o", "/dev/null", "--format", "html"]).exits(0);
}
