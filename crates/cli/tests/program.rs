//! The program itself: help, version, completions, the pager.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests run the program and may panic"
)]

mod common;

use std::process::Command;

use common::{Home, talk};

#[test]
fn help_has_examples_and_exit_codes() {
    let home = Home::new();
    home.run(&["--help"]).exits(0).says("Exit codes").says("NO_COLOR");
    home.run(&["help", "tail"]).exits(0).says("parlor tail");
    for command in [
        "serve",
        "run",
        "tail",
        "permits",
        "search",
        "show",
        "export",
        "convert",
        "ls",
        "doctor",
        "completions",
    ] {
        home.run(&[command, "--help"]).exits(0).says("Example").says(&format!("parlor {command}"));
    }
    home.run(&["--version"]).exits(0).says("parlor 0.");
    home.run(&["nonsense"]).exits(2).complains("nonsense");
}

#[test]
fn every_shell_has_completions() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        home.run(&["completions", shell]).exits(0).says("doctor");
    }
}

/// Runs the program on a terminal, made by `script`. `None` where there is no such program.
fn on_terminal(home: &Home, arguments: &str, environment: &[(&str, &str)]) -> Option<String> {
    let command = format!("{} {arguments}", env!("CARGO_BIN_EXE_parlor"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env_clear().env("HOME", home.path(".")).env("TERM", "xterm");
    script.env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(home.path("."));
    script.envs(environment.iter().copied()).stdin(std::process::Stdio::null());
    match script.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) => {
            println!("skipped: no `script` on this machine to make a terminal");
            None
        }
    }
}

#[test]
fn a_terminal_gets_colours_and_a_pager() {
    let home = Home::new();
    home.write("a.jsonl", talk("s", 1));
    let tee = ("PARLOR_PAGER", "tee paged.txt");
    let Some(out) = on_terminal(&home, "show a.jsonl", &[tee, ("PAGER", "false")]) else { return };
    assert!(out.contains('\x1b') && out.contains("answer 0"), "{out:?}");
    assert!(std::fs::read_to_string(home.path("paged.txt")).unwrap().contains("answer 0"));
    std::fs::remove_file(home.path("paged.txt")).unwrap();

    // Not when it is not wanted, not in colours when those are not wanted.
    on_terminal(&home, "show a.jsonl --no-pager", &[tee]).unwrap();
    assert!(!home.path("paged.txt").exists());
    let out = on_terminal(&home, "show a.jsonl", &[("PAGER", "cat"), ("NO_COLOR", "1")]).unwrap();
    assert!(!out.contains('\x1b') && out.contains("answer 0"), "{out:?}");
    // A pager that is not there, or that leaves at once, is no error.
    let out = on_terminal(&home, "show a.jsonl; echo code $?", &[("PAGER", "no-such-pager")]).unwrap();
    assert!(out.contains("answer 0") && out.contains("code 0"), "{out:?}");
    let out = on_terminal(&home, "show a.jsonl --format text; echo code $?", &[("PAGER", "true")]).unwrap();
    assert!(out.contains("code 0"), "{out:?}");
}
