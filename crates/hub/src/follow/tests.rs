//! Files that grow, are cut and are replaced, and what subagents write beside them.

use std::io::Write;

use super::*;

fn prompt(id: &str) -> String {
    format!(r#"{{"type":"user","uuid":"{id}","sessionId":"s","message":{{"role":"user","content":"{id}"}}}}"#)
}

fn ids(view: &View) -> Vec<String> {
    view.entries().iter().map(|entry| entry.id.to_string()).collect()
}

fn append(path: &Path, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn a_file_is_followed_through_half_lines_and_read_anew_when_it_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, format!("{}\n", prompt("a"))).unwrap();
    let (mut follow, mut view) = Follow::open(&path, 0).unwrap();
    assert_eq!((ids(&view).len(), follow.look(&mut view)), (1, Look::Same));
    let line = format!("{}\n", prompt("é"));
    let middle = line.find('é').unwrap() + 1;
    append(&path, &line.as_bytes()[..middle]);
    assert_eq!(follow.look(&mut view), Look::Same, "half a line is no line");
    append(&path, &line.as_bytes()[middle..]);
    assert_eq!((follow.look(&mut view), ids(&view).len()), (Look::Grown, 2));
    let epoch = view.epoch.clone();
    assert_eq!(Follow::open(&path, 0).unwrap().1.epoch, epoch, "the same file has the same epoch");
    fs::write(&path, format!("{}\n", prompt("b"))).unwrap();
    assert_eq!(follow.look(&mut view), Look::Replaced);
    let (_, again) = follow.reopen().unwrap();
    assert_eq!(again.entries().len(), 1);
    assert_ne!(again.epoch, epoch);
    let (mut follow, mut view) = follow.reopen().unwrap();
    fs::write(&path, format!("{}\n{}\n", prompt("longer"), prompt("and-more"))).unwrap();
    assert_eq!(follow.look(&mut view), Look::Replaced, "written anew in place, and longer");
    fs::remove_file(&path).unwrap();
    assert_eq!(follow.look(&mut view), Look::Gone);
}

#[test]
fn a_file_written_anew_at_the_same_length_is_another_and_a_touched_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, format!("{}\n{}\n{{\"half", prompt("a"), prompt("z"))).unwrap();
    let (mut follow, mut view) = Follow::open(&path, 0).unwrap();
    let later = |seconds: u64| {
        let when = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000 + seconds);
        File::options().write(true).open(&path).unwrap().set_modified(when).unwrap();
    };
    later(0);
    assert_eq!(follow.look(&mut view), Look::Same, "only its date is new");
    fs::write(&path, format!("{}\n{}\n{{\"half", prompt("b"), prompt("z"))).unwrap();
    later(1);
    assert_eq!(follow.look(&mut view), Look::Replaced);
    let (_, again) = follow.reopen().unwrap();
    assert_eq!(ids(&again)[0], "b");
}

#[test]
fn a_last_line_without_its_end_is_shown_and_not_doubled_by_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, format!("{}\n{}", prompt("a"), prompt("b"))).unwrap();
    let (mut follow, mut view) = Follow::open(&path, 0).unwrap();
    assert_eq!(view.entries().len(), 2);
    append(&path, format!("\n{}\n", prompt("c")).as_bytes());
    assert_eq!((follow.look(&mut view), view.entries().len()), (Look::Grown, 3));
}

/// A session with a subagent whose note names its call, one that only its result names, and one inside the first.
pub(crate) fn delegating() -> [(&'static str, Vec<String>); 4] {
    let clock = std::cell::Cell::new(10);
    let line = |kind: &str, id: &str, content: &str, more: &str| {
        clock.set(clock.get() + 1);
        format!(
            r#"{{"type":"{kind}","uuid":"{id}","sessionId":"s","timestamp":"2026-11-15T14:00:{}.000Z","message":{{"id":"m-{id}","role":"{kind}","content":{content}}}{more}}}"#,
            clock.get()
        )
    };
    let call = |id: &str, call: &str, name: &str| {
        let input = r#"{"description":"Look","prompt":"Look around"}"#;
        let block = format!(r#"[{{"type":"tool_use","id":"{call}","name":"{name}","input":{input}}}]"#);
        line("assistant", id, &block, "")
    };
    let result = |id: &str, call: &str, agent: &str| {
        let block = format!(r#"[{{"type":"tool_result","tool_use_id":"{call}","content":"done {id}"}}]"#);
        line("user", id, &block, &format!(r#","toolUseResult":{{"agentId":"{agent}"}}"#))
    };
    let said = |id: &str| line("assistant", id, &format!(r#"[{{"type":"text","text":"{id}"}}]"#), "");
    let main = vec![
        line("user", "u", r#""Go""#, ""),
        call("c1", "noted", "Task"),
        call("c2", "named", "Task"),
        said("meanwhile"),
        r#"{"type":"summary","summary":"no time","leafUuid":"u"}"#.to_owned(),
        result("r1", "noted", "one"),
        result("r2", "named", "two"),
        said("end"),
    ];
    let one = vec![
        said("s1"),
        call("s2", "deep", "Task"),
        "not json".to_owned(),
        result("s3", "deep", "three"),
        said("s4"),
    ];
    let two = vec![said("t1"), call("t2", "ls", "Bash"), result("t3", "ls", ""), said("t4")];
    let three = vec![said("v1"), said("v2")];
    [
        ("s.jsonl", main),
        ("s/subagents/agent-one.jsonl", one),
        ("agent-two.jsonl", two),
        ("s/subagents/agent-three.jsonl", three),
    ]
}

/// All that can be seen of a view, whatever the order in which files were read.
fn shown(view: &View) -> std::collections::BTreeMap<Option<Key>, Vec<parlor_model::entry::Entry>> {
    let mut shown = std::collections::BTreeMap::<_, Vec<_>>::new();
    for entry in view.entries() {
        let entry = parlor_model::entry::Entry { seq: 0, rev: 0, ..entry.clone() };
        shown.entry(entry.parent.clone()).or_default().push(entry);
    }
    shown
}

#[test]
fn subagents_are_followed_as_they_work_and_it_is_what_a_later_reader_sees() {
    for seed in 0..200_u64 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let notes = folder.path().join("s/subagents");
        fs::create_dir_all(&notes).unwrap();
        let note = |agent: &str, call: &str| {
            let note = format!(r#"{{"toolUseId":"{call}"}}"#);
            fs::write(notes.join(format!("agent-{agent}.meta.json")), note).unwrap();
        };
        let mut files = delegating().map(|(name, lines)| (folder.path().join(name), lines, 0));
        append_lines(&mut files[0], 1);
        let (mut follow, mut view) = Follow::open(&path, 0).unwrap();
        let epoch = view.epoch.clone();
        let mut random = seed;
        while files.iter().any(|(_, lines, at)| *at < lines.len()) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let file = (random >> 33) as usize % files.len();
            append_lines(&mut files[file], 1 + (random >> 40) as usize % 3);
            // The note comes with the file or after it.
            if random >> 50 & 1 == 0 {
                note("one", "noted");
            }
            if random >> 52 & 1 == 0 {
                note("three", "deep");
            }
            if random >> 51 & 1 == 0 {
                assert_ne!(follow.look(&mut view), Look::Replaced, "seed {seed}");
                assert_ne!(follow.look_at_subagents(&mut view), Look::Replaced, "seed {seed}");
            }
        }
        note("one", "noted");
        note("three", "deep");
        while [follow.look(&mut view), follow.look_at_subagents(&mut view)].contains(&Look::Grown) {}
        assert_eq!(view.epoch, epoch);
        let later = same_as_later(&path, &view, seed);
        assert_ne!(later.epoch, epoch, "another reading may fold them in another order");
        assert_ne!(Follow::open(&path, 0).unwrap().1.epoch, later.epoch);
        same(&view, &adopted(&view), seed);
        let under =
            |call: &str| later.entries().iter().filter(|it| it.parent.as_deref() == Some(call)).count();
        assert_eq!((under("noted"), under("named"), under("deep")), (4, 3, 2));
    }
}

/// Holds a view against that of somebody who reads the file now.
fn same_as_later(path: &Path, view: &View, seed: u64) -> View {
    let (_, later) = Follow::open(path, 0).unwrap();
    same(view, &later, seed);
    assert_eq!(format!("{:?}", view.session()), format!("{:?}", later.session()), "seed {seed}");
    later
}

pub(crate) fn same(view: &View, other: &View, seed: u64) {
    for (live, later) in shown(view).iter().zip(&shown(other)) {
        assert_eq!(live.0, later.0, "seed {seed}");
        for (live, later) in live.1.iter().zip(later.1) {
            assert_eq!(live, later, "seed {seed}");
        }
        assert_eq!(live.1.len(), later.1.len(), "seed {seed}");
    }
    assert_eq!(shown(view).len(), shown(other).len(), "seed {seed}");
}

/// What the log of the session says once it was adopted.
fn adopted(view: &View) -> View {
    let mut log = View::new("log".into(), Some(parlor_dialect::Format::ClaudeSession));
    for draft in crate::adopt::told(view, parlor_model::time::Time(0)) {
        let parlor_store::Draft { at, origin, body } = draft;
        log.push(Record { seq: log.end(), at: Some(at), origin, body });
    }
    log
}

#[test]
fn a_subagent_s_line_may_come_in_halves_and_its_last_may_stay_one() {
    for seed in 0..100_u64 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let subagent = folder.path().join("s/subagents/agent-one.jsonl");
        fs::create_dir_all(subagent.parent().unwrap()).unwrap();
        fs::write(subagent.with_extension("meta.json"), r#"{"toolUseId":"noted"}"#).unwrap();
        let [(_, main), (_, lines), ..] = delegating();
        fs::write(&path, format!("{}\n", main.join("\n"))).unwrap();
        let cut = ["", "{\"type\":\"assis"][seed as usize % 2];
        let text = format!("{}\n{cut}", lines.join("\n"));
        let (mut follow, mut view) = Follow::open(&path, 0).unwrap();
        let (mut at, mut random) = (0, seed);
        while at < text.len() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let end = (at + 1 + (random >> 33) as usize % 300).min(text.len());
            let mut file = fs::OpenOptions::new().create(true).append(true).open(&subagent).unwrap();
            file.write_all(&text.as_bytes()[at..end]).unwrap();
            at = end;
            for _ in 0..random >> 60 & 3 {
                if follow.look_at_subagents(&mut view) == Look::Replaced {
                    (follow, view) = follow.reopen().unwrap();
                }
            }
        }
        for _ in 0..3 {
            if follow.look_at_subagents(&mut view) == Look::Replaced {
                (follow, view) = follow.reopen().unwrap();
            }
        }
        same_as_later(&path, &view, seed);
        let damaged = view.entries().iter().filter(|entry| entry.id.starts_with("unknown/one/")).count();
        assert_eq!(damaged, 1 + usize::from(!cut.is_empty()), "seed {seed}: nothing is lost");
    }
}

pub(crate) fn append_lines((path, lines, at): &mut (PathBuf, Vec<String>, usize), count: usize) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    for line in lines.iter().skip(*at).take(count) {
        writeln!(file, "{line}").unwrap();
    }
    *at = lines.len().min(*at + count);
}
