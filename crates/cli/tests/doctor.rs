//! `parlor doctor`: every line has a fate.

mod common;

use common::{Home, record, talk};
use serde_json::json;

#[test]
fn every_line_is_accounted_for() {
    let home = Home::new();
    let lines = talk("s", 2)
        + "\n"
        + &record("s", 5, "brand-new", json!({}), json!({}))
        + "{\"type\":\"user\",\"message\":{\"content\":\"cut\n"
        + "{\"type\":\"ai-title\",\"aiTitle\":\"T\",\"sessionId\":\"s\"}\n";
    home.write("a.jsonl", lines);
    let ran = home.run(&["doctor", "a.jsonl"]).exits(1);
    let ran = ran
        .says("lines    8")
        .says("shown    4")
        .says("(bookkeeping 1)")
        .says("(brand-new 1)")
        .says("blank    1");
    ran.says("line 7: the line is cut").says("nothing unaccounted");
    let report = home.run(&["doctor", "a.jsonl", "--json"]).exits(1).json();
    let damage = &report["files"][0]["damage"];
    assert_eq!((&damage[0]["line"], &damage[0]["unfinished"]), (&json!(7), &json!(false)));
    assert_eq!(damage[0]["reason"], "the line is cut");
    assert_eq!(report["files"][0]["unaccounted"], 0);
    assert_eq!(report["total"]["lines"], 8);
}

#[test]
fn a_last_line_that_is_being_written_is_no_finding() {
    let home = Home::new();
    home.write("a.jsonl", talk("s", 1) + "{\"type\":\"us");
    home.run(&["doctor", "a.jsonl"]).exits(0).says("damaged  1").says("line 3").says("still being written");
}

#[test]
fn folders_are_searched_and_added_up() {
    let home = Home::new();
    home.write("d/one.jsonl", talk("a", 1));
    home.write("d/deep/two.jsonl", talk("b", 3));
    home.write("d/readme.txt", "not a session");
    home.run(&["doctor", "d"])
        .exits(0)
        .says("one.jsonl")
        .says("two.jsonl")
        .says("total: 2 files, 8 lines: 8 shown");
}

#[test]
fn what_is_no_session_is_a_finding_and_what_is_not_there_an_error() {
    let home = Home::new();
    home.write("strange.jsonl", "{\"what\":1}\n{\"what\":2}\n");
    home.run(&["doctor", "strange.jsonl"])
        .exits(1)
        .says("none that Parlor knows")
        .says("nothing unaccounted");
    home.run(&["doctor", "gone.jsonl"]).exits(2).says("there is no file `gone.jsonl`");
    std::fs::create_dir(home.path("empty")).unwrap();
    home.run(&["doctor", "empty"]).exits(2).complains("`empty`");
}

#[test]
fn without_arguments_it_looks_at_the_machine() {
    let home = Home::new();
    home.session("s-1", talk("s-1", 2));
    let codex = home.write("bin/codex", "#!/bin/sh\n");
    home.write("bin/pi", "not a program");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&codex, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let ran = home
        .run(&["doctor"])
        .exits(0)
        .says("claude  Claude Code is not installed")
        .says(codex.to_str().unwrap());
    ran.says("pi      Pi is not installed")
        .says("(1 files)")
        .says("(not there)")
        .says("total: 1 files, 4 lines: 4 shown");
    let report = home.run(&["doctor", "--json"]).exits(0).json();
    assert_eq!(report["programs"]["claude"]["path"], json!(null));
    assert_eq!(report["folders"][0]["exists"], true);
}

#[test]
fn nul_bytes_after_a_crash_and_windows_line_ends_are_no_damage() {
    let home = Home::new();
    let content = talk("s", 2).replace('\n', "\r\n") + "\0\0\0\0\n";
    home.write("a.jsonl", content);
    home.run(&["doctor", "a.jsonl"]).exits(0).says("shown    4").says("damaged  0").says("blank    1");
}
