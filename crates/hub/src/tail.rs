//! The agent's own file of a session that the house runs, and those of its subagents: while the house's agent works, they
//! repeat what the log has; when the agent is used elsewhere, in a terminal, they grow by what the log has not. It must not
//! decode lines.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use bytes::Bytes;
use parlor_dialect::{Format, Splitter};
use parlor_found::{Nested, Subagents, format_of};
use parlor_model::Key;
use parlor_model::line::Line;
use parlor_model::record::{Origin, Record};
use parlor_model::seen::Seen;
use parlor_store::Draft;

use crate::clock;
use crate::hub::Inner;
use crate::log::{self, Imported, Ledger};
use crate::scribe::Scribe;
use crate::view::{Folded, View};

/// How much is read at once.
const PIECE_BYTES: u64 = 8 << 20;

/// Where the log stands in the agent's file.
pub(crate) struct Tail {
    path: PathBuf,
    format: Format,
    session: Key,
    read: u64,
    /// True when the log must first say whose lines follow.
    announce: bool,
    subagents: Subagents,
}

impl Tail {
    /// Where an earlier run, or the adoption, left off.
    pub(crate) fn of(ledger: &Ledger, view: &View) -> Option<Tail> {
        let Imported { path, format, from } = ledger.imported.as_ref()?;
        let session = view.session().id.clone().unwrap_or_default();
        Some(Tail::new(path.into(), Format::named(format)?, session, *from, ledger, view))
    }

    /// After a run: all that the file has now is in the log already.
    pub(crate) fn after_run(inner: &Inner, ledger: &Ledger, view: &View, own: Option<&Key>) -> Option<Tail> {
        let session = own.cloned().or_else(|| view.session().id.clone())?;
        let path = crate::discovery::file_of(inner, &session)?;
        let format = format_of(&path)?;
        let read = fs::metadata(&path).ok()?.len();
        Some(Tail::new(path, format, session, read, ledger, view))
    }

    fn new(path: PathBuf, format: Format, session: Key, read: u64, ledger: &Ledger, view: &View) -> Tail {
        let mut subagents = Subagents::after(&path, format, ledger.nested.clone());
        view.records().iter().for_each(|record| subagents.hear(&Line::new(record.body.clone())));
        Tail { path, format, session, read, announce: true, subagents }
    }

    /// All that the file has now is in the log already.
    pub(crate) fn skip(&mut self) {
        self.read = fs::metadata(&self.path).map_or(self.read, |metadata| metadata.len());
    }

    /// The record that says where the log stands in the file.
    pub(crate) fn marker(&self) -> Seen {
        Seen::Imported {
            format: self.format.name().into(),
            path: self.path.to_string_lossy().into_owned(),
            session: self.session.clone(),
            from: self.read,
        }
    }

    /// What the file has that the log has not, whole lines only.
    pub(crate) fn news(&mut self) -> Option<Vec<Draft>> {
        let size = fs::metadata(&self.path).ok()?.len();
        if size <= self.read {
            return None;
        }
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.read)).ok()?;
        let mut piece = Vec::new();
        file.take(PIECE_BYTES).read_to_end(&mut piece).ok()?;
        let end = piece.iter().rposition(|byte| *byte == b'\n')? + 1;
        piece.truncate(end);
        self.read += end as u64;
        let mut drafts = Vec::new();
        if std::mem::take(&mut self.announce) {
            drafts.push(log::host(&self.marker()));
        }
        for line in Splitter::split(&Bytes::from(piece)) {
            self.subagents.hear(&line);
            drafts.push(Draft { at: clock::now(), origin: Origin::Agent, body: line.bytes().clone() });
        }
        // Where the log stands now, for the next life.
        drafts.push(log::host(&self.marker()));
        Some(drafts)
    }

    /// What subagents have done that the log has not. What a run of the house's started was told by that run.
    pub(crate) fn work_of_subagents(&mut self, ledger: &Ledger, view: &View) -> Option<Vec<Draft>> {
        let imported = |call: &Key| {
            let mut entries = view.entries_named(call).filter(|(_, seq)| ledger.is_imported(*seq));
            entries.next().map(|(entry, _)| entry)
        };
        let calls = self.subagents.ready(|call| imported(call).is_some());
        let (mut scribe, mut records) = (Scribe::default(), Vec::new());
        let mut keep = |nested: Nested| {
            // A call that a subagent made is known by the name that it has there.
            let call = imported(&nested.call).unwrap_or_else(|| nested.call.clone());
            records.extend(scribe.write(&Folded::Nested(Nested { call, ..nested }.into())));
        };
        self.subagents.tell_under(&calls, &mut keep);
        // A file that was written anew is not told again: what the log says stays said.
        self.subagents.tell_more(&mut keep);
        records.extend(scribe.finish());
        let draft = |Record { origin, body, .. }| Draft { at: clock::now(), origin, body };
        (!records.is_empty()).then(|| records.into_iter().map(draft).collect())
    }
}

#[cfg(test)]
mod tests {
    use parlor_model::time::Time;

    use super::*;
    use crate::follow::Follow;
    use crate::follow::tests::{append_lines, delegating, same};

    /// The log of a session that was adopted.
    struct Log {
        view: View,
        ledger: Ledger,
    }

    impl Log {
        fn of(follow: &Follow, view: &View) -> Log {
            let mut log = Log { view: View::new("log".into(), None), ledger: Ledger::default() };
            log.take(vec![log::host(&Seen::Imported {
                format: Format::ClaudeSession.name().into(),
                path: follow.path.to_string_lossy().into_owned(),
                session: "s".into(),
                from: follow.read_bytes(),
            })]);
            log.take(crate::adopt::told(view, Time(0)));
            log
        }

        fn take(&mut self, drafts: Vec<Draft>) {
            for Draft { at, origin, body } in drafts {
                let record = Record { seq: self.view.end(), at: Some(at), origin, body };
                self.ledger.take(&record);
                self.view.push(record);
            }
        }

        /// What the actor does when it looks.
        fn look(&mut self, tail: &mut Tail) -> bool {
            let before = self.view.end();
            let news = tail.news();
            self.take(news.unwrap_or_default());
            let work = tail.work_of_subagents(&self.ledger, &self.view);
            self.take(work.unwrap_or_default());
            self.view.end() > before
        }
    }

    #[test]
    fn an_adopted_session_that_goes_on_in_a_terminal_has_all_that_its_subagents_do() {
        for seed in 1..=200_u64 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s.jsonl");
            let notes = folder.path().join("s/subagents");
            fs::create_dir_all(&notes).unwrap();
            let mut files = delegating().map(|(name, lines)| (folder.path().join(name), lines, 0));
            let mut random = seed;
            let mut next = |below: usize| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) as usize % below
            };
            append_lines(&mut files[0], 1 + next(8));
            let (mut follow, mut view) = Follow::open(&path, 0).unwrap();
            follow.look_at_subagents(&mut view);
            let mut log = Log::of(&follow, &view);
            let mut tail = Tail::of(&log.ledger, &log.view).unwrap();
            for (agent, call) in [("one", "noted"), ("three", "deep")] {
                let note = format!(r#"{{"toolUseId":"{call}"}}"#);
                fs::write(notes.join(format!("agent-{agent}.meta.json")), note).unwrap();
            }
            while files.iter().any(|(_, lines, at)| *at < lines.len()) {
                append_lines(&mut files[next(4)], 1 + next(3));
                if next(2) == 0 {
                    log.look(&mut tail);
                }
                if next(8) == 0 {
                    // A new life knows what the log says.
                    log.ledger = Ledger::of(log.view.records());
                    tail = Tail::of(&log.ledger, &log.view).unwrap();
                }
            }
            while log.look(&mut tail) {}
            same(&log.view, &Follow::open(&path, 0).unwrap().1, seed);
        }
    }

    #[test]
    fn a_subagent_s_line_is_kept_once_it_is_whole_and_nothing_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let agent = folder.path().join("s/subagents/agent-one.jsonl");
        fs::create_dir_all(agent.parent().unwrap()).unwrap();
        fs::write(agent.with_extension("meta.json"), r#"{"toolUseId":"noted"}"#).unwrap();
        let [(name, lines), (_, work), ..] = delegating();
        append_lines(&mut (folder.path().join(name), lines, 0), 9);
        let (follow, view) = Follow::open(&path, 0).unwrap();
        let mut log = Log::of(&follow, &view);
        let mut tail = Tail::of(&log.ledger, &log.view).unwrap();
        let text = work.join("\n") + "\n";
        for end in (1..=text.len()).step_by(7).chain([text.len()]) {
            fs::write(&agent, &text[..end]).unwrap();
            log.look(&mut tail);
            log.look(&mut tail);
        }
        let under = |log: &Log| log.view.entries().iter().filter(|entry| entry.parent.is_some()).count();
        assert_eq!((log.ledger.nested["one"], under(&log)), (5, 4));
        fs::write(&agent, "").unwrap();
        assert!(!log.look(&mut tail), "what was said stays said");
    }

    #[test]
    fn what_a_run_of_the_house_has_told_is_not_told_again_and_what_came_after_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let notes = folder.path().join("s/subagents");
        fs::create_dir_all(&notes).unwrap();
        let mut files = delegating().map(|(name, lines)| (folder.path().join(name), lines, 0));
        fs::write(notes.join("agent-one.meta.json"), r#"{"toolUseId":"noted"}"#).unwrap();
        let mut log = Log { view: View::new("log".into(), None), ledger: Ledger::default() };
        let format = Format::ClaudeStream.name().into();
        let run = Seen::Started { run: "r".into(), format, program: "claude".to_owned(), pid: None };
        let told = r#"{"type":"assistant","uuid":"c1","session_id":"s","parent_tool_use_id":null,"message":{"id":"m-c1","role":"assistant","content":[{"type":"tool_use","id":"noted","name":"Task","input":{}}]}}"#;
        log.take(vec![log::host(&run), Draft { at: Time(0), origin: Origin::Agent, body: told.into() }]);
        // The call of the run with its result, and what its subagent did.
        files[0].1.swap(2, 5);
        append_lines(&mut files[0], 3);
        append_lines(&mut files[1], 5);
        let (format, read) = (Format::ClaudeSession, fs::metadata(&path).unwrap().len());
        let mut tail = Tail::new(path.clone(), format, "s".into(), read, &log.ledger, &log.view);
        log.take(vec![log::host(&tail.marker())]);
        assert!(!log.look(&mut tail), "all of it was the run's");
        append_lines(&mut files[0], 9);
        append_lines(&mut files[2], 9);
        while log.look(&mut tail) {}
        let parents: Vec<_> = log.view.entries().iter().filter_map(|entry| entry.parent.as_deref()).collect();
        assert_eq!(parents, ["1:named"; 3], "under the call as the log knows it");
    }
}
