//! `parlor`: the thin shell over the pure crates. Files, terminals, clocks and exit codes are here; what
//! records mean and how they look is not.

mod account;
mod args;
mod cache;
mod client;
mod conversation;
mod convert;
mod data;
mod doctor;
mod export;
mod form;
mod guest;
mod input;
mod kept;
mod link;
mod listen;
mod ls;
mod mcp;
mod output;
mod pager;
mod permits;
mod printer;
mod progress;
mod run;
mod search;
mod serve;
mod show;
mod tail;
mod terminal;

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
    match carry_out(&typed) {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::remark(&format!("parlor: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn carry_out(typed: &Typed) -> Result<ExitCode> {
    let terminal = Terminal::of_stdout(typed.color);
    match &typed.command {
        None => serve::run(&args::Serve::default()),
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Run(args)) => run::run(args, &terminal),
        Some(Command::Link(args)) => link::link(args),
        Some(Command::StopAll(args)) => link::stop_all(args),
        Some(Command::Tail(args)) => tail::run(args, &terminal),
        Some(Command::Permits(args)) => permits::run(args),
        Some(Command::Search(args)) => search::run(args, &terminal),
        Some(Command::Mcp) => mcp::run(),
        Some(Command::DemoAgent) => Ok(parlor_agent::demo::main()),
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
