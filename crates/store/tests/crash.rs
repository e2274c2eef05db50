//! Nothing that was acknowledged is lost: not when the process is killed, not when the disk is full.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]
#![allow(clippy::disallowed_methods, reason = "these tests start and kill a process")]

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use parlor_store::{Store, StoreError};

/// What the appender said it wrote: session and position, and whose record it is.
type Acknowledged = HashMap<(String, u64), String>;

/// The program that is killed. It is compiled into this test, so that it is never older than what it tests.
#[path = "../examples/appender.rs"]
#[allow(dead_code, reason = "its own `main` is for starting it by hand")]
mod appender;

/// Not a test: this process, started again to be the appender.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn child() {
    let (Ok(folder), Ok(run)) =
        (std::env::var("PARLOR_APPENDER_FOLDER"), std::env::var("PARLOR_APPENDER_RUN"))
    else {
        return;
    };
    // What the test runner wrote before stays on a line of its own.
    println!();
    appender::run_producers(Path::new(&folder), &run, 4).unwrap();
}

/// Arguments that make this program the appender.
const CHILD: [&str; 4] = ["child", "--exact", "--ignored", "--nocapture"];

/// `command`, which starts this program, as the appender.
fn as_appender<'a>(command: &'a mut Command, folder: &Path, run: &str) -> &'a mut Command {
    command.args(CHILD).env("PARLOR_APPENDER_FOLDER", folder).env("PARLOR_APPENDER_RUN", run)
}

fn start(command: &mut Command) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

/// Remembers a line of the appender, if it is an acknowledgement.
fn remember(line: &str, acknowledged: &mut Acknowledged) {
    let words: Vec<&str> = line.split(' ').collect();
    let ["s0" | "s1", producer, counter, seq] = words[..] else { return };
    let seq = seq.parse().unwrap();
    let before = acknowledged.insert((words[0].to_owned(), seq), format!("{producer} {counter} "));
    assert!(before.is_none(), "position {seq} was given out twice");
}

/// Everything acknowledged is there, nothing twice, no gap, and each producer's records are in order.
fn verify(folder: &Path, acknowledged: &Acknowledged) {
    let store = Store::open(folder).unwrap();
    let mut found = HashMap::new();
    for session in store.sessions().unwrap() {
        let mut bodies = HashSet::new();
        let mut counters: HashMap<String, u64> = HashMap::new();
        let mut next = 0;
        loop {
            let page = store.read(&session.id, next, 1000).unwrap();
            if page.is_empty() {
                break;
            }
            for record in page {
                assert_eq!(record.seq, next, "a gap in {}", session.id);
                next += 1;
                let body = String::from_utf8(record.body.to_vec()).unwrap();
                let (producer, rest) = body.split_once(' ').unwrap();
                let counter: u64 = rest.split_once(' ').unwrap().0.parse().unwrap();
                let expected = counters.entry(producer.to_owned()).or_default();
                assert_eq!(counter, *expected, "the records of {producer} are not in order");
                *expected += 1;
                let name = format!("{producer} {counter} ");
                assert!(bodies.insert(name.clone()), "{name} is there twice");
                found.insert((session.id.to_string(), record.seq), name);
            }
        }
        assert_eq!(store.end(&session.id).unwrap(), next);
    }
    let lost = acknowledged.iter().filter(|(place, name)| found.get(place) != Some(name)).count();
    assert_eq!(lost, 0, "acknowledged records are lost");
    assert!(store.check().unwrap().is_empty());
}

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let kills = if std::env::var_os("PARLOR_THOROUGH").is_some() { 200 } else { 20 };
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::new();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id());
    for run in 0..kills {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let (mut child, mut output) = start(as_appender(&mut command, folder.path(), &run.to_string()));
        // Some lines and then a few microseconds: a moment that differs each time, without waiting for the clock.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut line = String::new();
        for _ in 0..(random >> 33) % 400 {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "the appender ended by itself");
            remember(line.trim_end(), &mut acknowledged);
            assert!(!line.starts_with("error"), "{line}");
        }
        for _ in 0..(random >> 20) % 100_000 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What was in the pipe had been acknowledged as well; the last line may be torn.
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut output, &mut rest).unwrap();
        for line in rest.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            remember(line.trim_end(), &mut acknowledged);
            assert!(!line.starts_with("error"), "{line}");
        }
        verify(folder.path(), &acknowledged);
    }
    println!("{kills} kills, {} acknowledged records, none lost", acknowledged.len());
    assert!(acknowledged.len() > 100);
}

/// Runs the appender until it can write no more, and returns the errors it printed.
fn run_until_full(command: &mut Command, acknowledged: &mut Acknowledged) -> Vec<String> {
    let (mut child, output) = start(command);
    let mut errors = Vec::new();
    for line in output.lines() {
        let line = line.unwrap();
        remember(&line, acknowledged);
        if line.starts_with("error") {
            errors.push(line);
        }
    }
    assert!(child.wait().unwrap().success());
    errors
}

#[test]
fn a_file_that_may_not_grow_stops_the_writer_but_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::new();
    // The shell ignores the signal that would kill the process, and the limit becomes an error of each write.
    let script = "trap '' XFSZ; ulimit -f 4000; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(std::env::current_exe().unwrap());
    let errors = run_until_full(as_appender(&mut command, folder.path(), "full"), &mut acknowledged);
    assert_eq!(errors.len(), 4, "each producer is told: {errors:?}");
    assert!(errors.iter().all(|error| error.contains("log.db")), "{errors:?}");
    assert!(acknowledged.len() > 100);
    verify(folder.path(), &acknowledged);
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"]).arg(folder.path()).stderr(Stdio::null());
    if !mount.status().is_ok_and(|status| status.success()) {
        println!("skipped: a small disk can be mounted only by root");
        return;
    }
    let mut acknowledged = Acknowledged::new();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let errors = run_until_full(as_appender(&mut command, folder.path(), "full"), &mut acknowledged);
        assert_eq!(errors.len(), 4, "each producer is told: {errors:?}");
        assert!(
            errors.iter().all(|error| error.contains("is full") && error.contains("make room")),
            "{errors:?}"
        );
        assert!(acknowledged.len() > 100);
        match Store::open(folder.path()) {
            Ok(store) => drop(store),
            Err(error) => assert!(matches!(error, StoreError::Full { .. }), "{error}"),
        }
        // The copy on a disk with room has everything.
        let roomy = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), roomy.path().join(file.file_name())).unwrap();
        }
        verify(roomy.path(), &acknowledged);
    }));
    let unmounted = Command::new("umount").arg(folder.path()).status().unwrap();
    assert!(unmounted.success());
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}
