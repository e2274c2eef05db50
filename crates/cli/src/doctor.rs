//! `parlor doctor`: what became of every line, and what is on this machine.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use parlor_agent::{Program, Settings};
use parlor_found::Stamp;
use rayon::prelude::*;
use serde_json::json;

use crate::account::{Account, Total};
use crate::args::Doctor;
use crate::output::Output;
use crate::terminal::{Terminal, plain};
use crate::{cache, progress};

/// How many damaged lines of a file are printed; the JSON form has more.
const PRINTED_DAMAGE: usize = 20;

/// Looks at files, or at this machine. Exits with 1 when something needs a look, and with 2 when a file is
/// unreadable.
pub(crate) fn run(args: &Doctor, terminal: &Terminal, no_pager: bool) -> Result<ExitCode> {
    let machine = args.paths.is_empty();
    let files = if machine { files_of_machine() } else { files_of(&args.paths)? };
    let bar = progress::bar(files.iter().map(|file| file.size).sum());
    let accounts: Vec<Account> = files
        .par_iter()
        .map(|file| {
            let account = Account::of_file(&file.path);
            bar.inc(file.size);
            account
        })
        .collect();
    bar.finish_and_clear();
    let total = Total::of(&accounts);
    let output = if args.json { Output::stdout() } else { Output::paged(terminal, no_pager) };
    match args.json {
        true => write_json(output, machine, &accounts, &total)?,
        false => write_text(output, machine, &accounts, &total)?,
    }
    Ok(match () {
        () if total.unreadable > 0 => ExitCode::from(2),
        () if accounts.iter().all(Account::is_healthy) => ExitCode::SUCCESS,
        () => ExitCode::from(1),
    })
}

fn files_of_machine() -> Vec<Stamp> {
    parlor_found::folders().iter().flat_map(|folder| parlor_found::files_in(&folder.path)).collect()
}

fn files_of(paths: &[PathBuf]) -> Result<Vec<Stamp>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let inside = parlor_found::files_in(path);
            if inside.is_empty() {
                bail!("there are no `.jsonl` files in `{}`; name a file", plain(&path.to_string_lossy()));
            }
            files.extend(inside);
        } else {
            let size = path.metadata().map_or(0, |metadata| metadata.len());
            files.push(Stamp { path: path.clone(), size, modified_ns: 0 });
        }
    }
    Ok(files)
}

fn write_json(mut output: Output, machine: bool, accounts: &[Account], total: &Total) -> Result<()> {
    let mut report = json!({ "files": accounts, "total": total });
    if machine {
        let program = |program: &Program| {
            let path = program.path.as_ref().map(|path| path.to_string_lossy().into_owned());
            let facts = json!({ "path": path, "version": program.version, "problem": program.problem });
            (program.kind.name().to_owned(), facts)
        };
        let programs: serde_json::Map<String, serde_json::Value> = programs().iter().map(program).collect();
        let folder = |folder: &parlor_found::Folder| json!({ "agent": folder.agent.name(), "path": folder.path.to_string_lossy(), "exists": folder.path.is_dir() });
        report["programs"] = programs.into();
        report["folders"] = parlor_found::folders().iter().map(folder).collect();
    }
    serde_json::to_writer_pretty(&mut output, &report)?;
    writeln!(output)?;
    output.finish()?;
    Ok(())
}

fn write_text(mut output: Output, machine: bool, accounts: &[Account], total: &Total) -> Result<()> {
    if machine {
        write_machine(&mut output)?;
    }
    for account in accounts {
        // All sessions of a machine are many: only those that need a look are told one by one.
        if !machine || !account.is_healthy() || !account.unknown.is_empty() {
            write_account(&mut output, account)?;
        }
    }
    if machine || accounts.len() > 1 {
        writeln!(output, "total: {}", total.summary())?;
    }
    let verdict = match total.unaccounted {
        0 => {
            "nothing unaccounted: every line is shown, hidden by a rule, unknown, damaged or blank".to_owned()
        }
        lines => format!("{lines} lines are unaccounted for: this is a fault of Parlor, please report it"),
    };
    writeln!(output, "{verdict}")?;
    output.finish()?;
    Ok(())
}

fn write_machine(output: &mut Output) -> Result<()> {
    writeln!(output, "agents")?;
    for program in programs() {
        let path = program.path.as_ref().map(|path| path.display().to_string());
        let facts = [program.version, path, program.problem].into_iter().flatten().collect::<Vec<_>>();
        writeln!(output, "  {:<7} {}", program.kind.name(), plain(&facts.join(" · ")))?;
    }
    writeln!(output, "folders")?;
    for folder in parlor_found::folders() {
        let files = if folder.path.is_dir() {
            format!("{} files", parlor_found::files_in(&folder.path).len())
        } else {
            "not there".to_owned()
        };
        writeln!(output, "  {:<7} {} ({files})", folder.agent.name(), plain(&folder.path.to_string_lossy()))?;
    }
    if let Some(cache) = cache::path() {
        writeln!(output, "cache\n  {}", plain(&cache.to_string_lossy()))?;
    }
    writeln!(output)?;
    Ok(())
}

fn write_account(output: &mut Output, account: &Account) -> Result<()> {
    writeln!(output, "{}", plain(&account.path))?;
    if let Some(error) = &account.error {
        writeln!(output, "  cannot be read: {error}\n")?;
        return Ok(());
    }
    writeln!(output, "  format   {}", account.format.unwrap_or("none that Parlor knows"))?;
    writeln!(output, "  lines    {}", account.lines)?;
    writeln!(output, "  shown    {}", account.shown)?;
    let list = |counts: Vec<String>| {
        if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) }
    };
    let hidden = account.hidden.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
    writeln!(output, "  hidden   {}{}", account.hidden.values().sum::<u64>(), list(hidden))?;
    let unknown = account.unknown.iter().map(|(kind, count)| format!("{} {count}", plain(kind))).collect();
    writeln!(output, "  unknown  {}{}", account.unknown.values().sum::<u64>(), list(unknown))?;
    writeln!(output, "  damaged  {}", account.damaged)?;
    for damage in account.damage.iter().take(PRINTED_DAMAGE) {
        let hint = if damage.unfinished { "; the last line, perhaps still being written" } else { "" };
        writeln!(output, "    line {}: {}{hint}", damage.line, damage.reason)?;
    }
    if account.damaged > PRINTED_DAMAGE as u64 {
        writeln!(output, "    and {} more", account.damaged - PRINTED_DAMAGE as u64)?;
    }
    writeln!(output, "  blank    {}\n", account.blank)?;
    Ok(())
}

/// The agents of this machine, asked for their versions.
fn programs() -> Vec<Program> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_or_else(
        |_| Vec::new(),
        |runtime| runtime.block_on(parlor_agent::programs(&Settings::from_env())),
    )
}
