//! The account of a file: each of its lines has exactly one fate, and the sum is checked against the lines
//! there are.

use std::collections::BTreeMap;
use std::path::Path;

use parlor_dialect::{Decoder, Format};
use parlor_found::Source;
use parlor_model::event::Fate;
use serde::Serialize;

/// How many damaged lines are kept by number: a file that is no session at all has nothing else.
const KEPT_DAMAGE: usize = 1000;

/// What became of the lines of one file.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Account {
    /// The file; a name that is not Unicode only nearly.
    pub(crate) path: String,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// The name of its format.
    pub(crate) format: Option<&'static str>,
    /// How many lines there are, counted apart from the reading.
    pub(crate) lines: u64,
    /// Lines that are part of what a reader sees.
    pub(crate) shown: u64,
    /// Lines hidden, by rule.
    pub(crate) hidden: BTreeMap<&'static str, u64>,
    /// Lines nobody understands, by kind.
    pub(crate) unknown: BTreeMap<String, u64>,
    /// How many lines are damaged.
    pub(crate) damaged: u64,
    /// The first of them.
    pub(crate) damage: Vec<Damage>,
    /// Empty lines.
    pub(crate) blank: u64,
    /// Lines that have none of these fates. Zero, or Parlor is at fault.
    pub(crate) unaccounted: u64,
}

/// A damaged line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Damage {
    /// Its number, from 1.
    pub(crate) line: u64,
    /// What is wrong with it.
    pub(crate) reason: &'static str,
    /// True for a last line without a line end: its writer may be in the middle of it.
    pub(crate) unfinished: bool,
}

/// What became of the lines of several files.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Total {
    /// Files.
    pub(crate) files: u64,
    /// Files that could not be read.
    pub(crate) unreadable: u64,
    /// Lines.
    pub(crate) lines: u64,
    /// Lines shown.
    pub(crate) shown: u64,
    /// Lines hidden.
    pub(crate) hidden: u64,
    /// Lines unknown.
    pub(crate) unknown: u64,
    /// Lines damaged.
    pub(crate) damaged: u64,
    /// Lines blank.
    pub(crate) blank: u64,
    /// Lines without a fate.
    pub(crate) unaccounted: u64,
}

impl Account {
    /// Reads a file and accounts for it.
    pub(crate) fn of_file(path: &Path) -> Account {
        let name = path.to_string_lossy().into_owned();
        match Source::file(path) {
            Ok(source) => Account { path: name, ..Account::of(&source) },
            Err(error) => Account { path: name, error: Some(format!("{error:#}")), ..Account::default() },
        }
    }

    fn of(source: &Source) -> Account {
        let format = source.detect();
        let mut account = Account {
            format: format.map(Format::name),
            lines: count_lines(&source.bytes),
            ..Account::default()
        };
        let mut decoder = Decoder::new(format);
        let mut events = Vec::new();
        let ends_open = source.bytes.last().is_some_and(|byte| *byte != b'\n');
        for (index, line) in source.lines().enumerate() {
            events.clear();
            let number = index as u64 + 1;
            let unfinished = ends_open && number == account.lines;
            account.enter(number, unfinished, decoder.read(&line, &mut events).fate);
        }
        let fates =
            account.shown + account.hidden.values().sum::<u64>() + account.unknown.values().sum::<u64>();
        account.unaccounted = account.lines.abs_diff(fates + account.damaged + account.blank);
        account
    }

    /// True when nothing needs a look: no damage but a last line that is still being written, and a format.
    pub(crate) fn is_healthy(&self) -> bool {
        let unfinished = self.damage.iter().filter(|damage| damage.unfinished).count() as u64;
        let known = self.format.is_some() || self.lines == self.blank;
        self.error.is_none() && self.damaged == unfinished && self.unaccounted == 0 && known
    }

    fn enter(&mut self, line: u64, unfinished: bool, fate: Fate) {
        match fate {
            Fate::Shown | Fate::Nested => self.shown += 1,
            Fate::Hidden(rule) => *self.hidden.entry(rule.name()).or_default() += 1,
            Fate::Unknown(kind) => *self.unknown.entry(kind.to_string()).or_default() += 1,
            Fate::Damaged(reason) => {
                self.damaged += 1;
                if self.damage.len() < KEPT_DAMAGE || unfinished {
                    self.damage.push(Damage { line, reason, unfinished });
                }
            }
            Fate::Blank => self.blank += 1,
        }
    }
}

impl Total {
    /// Adds up.
    pub(crate) fn of(accounts: &[Account]) -> Total {
        let mut total = Total { files: accounts.len() as u64, ..Total::default() };
        for account in accounts {
            total.unreadable += u64::from(account.error.is_some());
            total.lines += account.lines;
            total.shown += account.shown;
            total.hidden += account.hidden.values().sum::<u64>();
            total.unknown += account.unknown.values().sum::<u64>();
            total.damaged += account.damaged;
            total.blank += account.blank;
            total.unaccounted += account.unaccounted;
        }
        total
    }

    /// One line that says it.
    pub(crate) fn summary(&self) -> String {
        let unreadable = match self.unreadable {
            0 => String::new(),
            files => format!(" ({files} cannot be read)"),
        };
        format!(
            "{} files{unreadable}, {} lines: {} shown, {} hidden, {} unknown, {} damaged, {} blank",
            self.files, self.lines, self.shown, self.hidden, self.unknown, self.damaged, self.blank
        )
    }
}

/// The lines there are, by their ends: counted without the splitter, so that the sum checks it too.
fn count_lines(bytes: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', bytes).count() as u64;
    ends + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}
