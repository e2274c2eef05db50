//! `parlor`: the thin shell over the pure crates. Files, terminals, clocks and exit codes are here; what
//! records mean and how they look is not.

mod account;
mod args;
mod cache;
mod conversation;
mod convert;
mod doctor;
mod export;
mod find;
mod form;
mod ls;
mod output;
mod pager;
mod progress;
mod show;
mod skim;
mod source;
mod subagent;
mod terminal;
mod welcome;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser};

use crate::args::{Command, Typed};
use crate::terminal::Terminal;

/// Folding a session makes many small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let typed = Typed::parse();
    match run(&typed) {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::remark(&format!("parlor: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run(typed: &Typed) -> Result<ExitCode> {
    let terminal = Terminal::of_stdout(typed.color);
    match &typed.command {
        None => welcome::run(&terminal, typed.no_pager),
        Some(Command::Show(args)) => show::run(args, &terminal, typed.no_pager),
        Some(Command::Export(args)) => export::run(args),
        Some(Command::Convert(args)) => convert::run(args),
        Some(Command::Ls(args)) => ls::run(args, &terminal, typed.no_pager),
        Some(Command::Doctor(args)) => doctor::run(args, &terminal, typed.no_pager),
        Some(Command::Completions { shell }) => completions(*shell),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Typed::command(), "parlor", &mut script);
    let mut output = output::Output::stdout();
    std::io::Write::write_all(&mut output, &script)?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}
