//! `parlor ls`: the sessions on this machine, newest first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parlor_found::{Found, Row, arrange, skim};
use rayon::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::args::{House, Ls};
use crate::cache::Cache;
use crate::data;
use crate::kept::Kept;
use crate::output::{Output, remark};
use crate::progress;
use crate::terminal::{Terminal, cut, pad, plain};

/// The shortest start of an id that is printed: what people are used to from git.
const SHORT_ID: usize = 8;

/// The widest column but the last: beyond it a project's name is cut.
const PROJECT_WIDTH: usize = 24;

/// Lists the sessions of this machine.
pub(crate) fn run(args: &Ls, terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    let rows = all(&args.house)?;
    if args.json {
        return json(&rows);
    }
    if rows.is_empty() {
        let folders: Vec<String> =
            parlor_found::folders().iter().map(|folder| format!("  {}", folder.path.display())).collect();
        remark(&format!("no sessions found in\n{}", folders.join("\n")));
        return Ok(ExitCode::SUCCESS);
    }
    table(&rows, terminal, no_pager)?;
    Ok(ExitCode::SUCCESS)
}

/// The id of the session that changed last.
pub(crate) fn newest(house: &House) -> Result<Option<String>> {
    Ok(all(house)?.into_iter().next().map(|row| row.id))
}

/// All sessions, those in files and those that the house keeps, newest first.
fn all(house: &House) -> Result<Vec<Row>> {
    let kept = Kept::look(&data::folder(house)?)?;
    let mut sessions = parlor_found::sessions();
    sessions.extend(kept.as_ref().map(Kept::sessions).transpose()?.unwrap_or_default());
    Ok(rows(&sessions, kept.as_ref()))
}

/// What a list says of these sessions, newest first. Sessions whose files have not changed are not read
/// again.
fn rows(sessions: &[Found], kept: Option<&Kept>) -> Vec<Row> {
    let cache = Cache::load();
    let known: Vec<Option<Option<Row>>> = sessions.iter().map(|found| cache.get(found)).collect();
    let mut unread: Vec<&Found> =
        sessions.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(found, _)| found).collect();
    let read = read_all(&mut unread, kept);
    let all = |(found, known): (&'_ Found, Option<Option<Row>>)| {
        known.unwrap_or_else(|| read.get(found.file.path.as_path()).cloned().flatten())
    };
    let rows: Vec<Option<Row>> = sessions.iter().zip(known).map(all).collect();
    if !read.is_empty() {
        Cache::store(&sessions.iter().zip(rows.iter().cloned()).collect::<Vec<_>>());
    }
    arranged(rows.into_iter().flatten())
}

/// Reads sessions on all cores, the largest first, so that no core is left alone with it at the end.
fn read_all<'a>(sessions: &mut [&'a Found], kept: Option<&Kept>) -> HashMap<&'a Path, Option<Row>> {
    if sessions.is_empty() {
        // No thread is started for nothing.
        return HashMap::new();
    }
    sessions.sort_by_key(|found| std::cmp::Reverse(found.file.size));
    let bar = progress::bar(sessions.iter().map(|found| found.file.size).sum());
    let read = sessions.par_iter().map(|found| {
        let row = kept.and_then(|kept| kept.row(found)).or_else(|| skim(found));
        bar.inc(found.file.size);
        (found.file.path.as_path(), row)
    });
    let read = read.collect();
    bar.finish_and_clear();
    read
}

/// The same for sessions outside of the agents' folders, whose rows are not kept.
pub(crate) fn rows_uncached(sessions: &[Found]) -> Vec<Row> {
    arranged(sessions.par_iter().filter_map(skim).collect::<Vec<_>>())
}

fn arranged(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let rows = rows.into_iter().map(Cow::Owned).collect();
    arrange(rows).into_iter().map(Cow::into_owned).collect()
}

/// Writes the table.
pub(crate) fn table(rows: &[Row], terminal: &Terminal, no_pager: bool) -> Result<()> {
    let now = Timestamp::now();
    let short = short_ids(rows);
    let mut lines: Vec<[String; 7]> =
        vec![["ID", "AGENT", "AGE", "SIZE", "TOKENS", "PROJECT", "TITLE"].map(String::from)];
    for (row, id) in rows.iter().zip(short) {
        lines.push([
            plain(&id),
            row.agent.clone(),
            row.updated.parse().map_or_else(|_| String::new(), |updated| age(updated, now)),
            bytes(row.size),
            count(row.tokens.total),
            cut(&plain(project(row)), PROJECT_WIDTH),
            plain(row.title.as_deref().unwrap_or("(no title)")),
        ]);
    }
    let mut widths = [0; 7];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.width().max(*width);
        }
    }
    let mut output = Output::paged(terminal, no_pager);
    for (index, line) in lines.iter().enumerate() {
        let [id, agent, age, size, tokens, project, title] = line;
        let [id_width, agent_width, age_width, size_width, tokens_width, project_width, _] = widths;
        let text = format!(
            "{}  {}  {age:>age_width$}  {size:>size_width$}  {tokens:>tokens_width$}  {}  {title}",
            pad(id, id_width),
            pad(agent, agent_width),
            pad(project, project_width),
        );
        // A pipe gets whole titles: it has no width.
        let text = if terminal.is_terminal { cut(&text, terminal.width) } else { text };
        let (on, off) = if terminal.color && index == 0 { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        writeln!(output, "{on}{}{off}", text.trim_end())?;
    }
    output.finish()?;
    Ok(())
}

fn json(rows: &[Row]) -> Result<ExitCode> {
    let mut output = Output::stdout();
    serde_json::to_writer_pretty(&mut output, rows)?;
    writeln!(output)?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The shortest starts of the ids that tell them apart: `parlor show` takes them.
fn short_ids(rows: &[Row]) -> Vec<String> {
    let mut sorted: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    sorted.sort_unstable();
    let common = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let mut lengths: HashMap<&str, usize> = HashMap::new();
    for pair in sorted.windows(2) {
        if let [a, b] = pair {
            let needed = common(a, b) + 1;
            for id in [a, b] {
                let length = lengths.entry(id).or_insert(SHORT_ID);
                *length = (*length).max(needed);
            }
        }
    }
    rows.iter()
        .map(|row| row.id.chars().take(lengths.get(row.id.as_str()).copied().unwrap_or(SHORT_ID)).collect())
        .collect()
}

/// The last part of the working directory: what people call the project.
fn project(row: &Row) -> &str {
    let path = row.project.as_deref().unwrap_or_default().trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// How long ago, in one unit; a date when it is long ago.
fn age(then: Timestamp, now: Timestamp) -> String {
    match now.as_second().saturating_sub(then.as_second()) / 60 {
        ..1 => "now".to_owned(),
        minutes @ 1..60 => format!("{minutes}m"),
        minutes @ 60..1440 => format!("{}h", minutes / 60),
        minutes @ 1440..43_200 => format!("{}d", minutes / 1440),
        _ => then.to_zoned(TimeZone::system()).date().to_string(),
    }
}

/// A size in bytes, in the unit that gives at most three digits.
pub(crate) fn bytes(size: u64) -> String {
    scaled(size, 1024, ["B", "K", "M", "G", "T"])
}

fn count(number: u64) -> String {
    scaled(number, 1000, ["", "k", "M", "B", "T"])
}

fn scaled(number: u64, step: u64, units: [&str; 5]) -> String {
    let mut scaled = number as f64;
    let mut unit = 0;
    while scaled >= step as f64 * 0.9995 && unit + 1 < units.len() {
        scaled /= step as f64;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && scaled < 9.95);
    format!("{scaled:.digits$}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, size, tokens) in [
            (0, "0B", "0"),
            (999, "999B", "999"),
            (1000, "1000B", "1.0k"),
            (1024, "1.0K", "1.0k"),
            (12_345, "12K", "12k"),
            (999_999, "977K", "1.0M"),
            (5_000_000_000, "4.7G", "5.0B"),
        ] {
            assert_eq!((bytes(number).as_str(), count(number).as_str()), (size, tokens));
        }
    }

    #[test]
    fn ages_have_one_unit() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (then, expected) in [
            ("2026-11-15T11:59:30Z", "now"),
            ("2026-11-16T11:59:30Z", "now"),
            ("2026-11-15T11:01:00Z", "59m"),
            ("2026-11-15T10:30:00Z", "1h"),
            ("2026-11-13T11:00:00Z", "2d"),
        ] {
            assert_eq!(age(then.parse().unwrap(), now), expected, "{then}");
        }
    }
}
