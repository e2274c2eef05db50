//! Runs of reads and searches, and the calls of subagents: entries that are shown together. It says which and how
//! many, never in which markup.

use std::collections::HashSet;

use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::tool::{Tool, ToolState};

use crate::clip::{one_line, output_text};
use crate::context::Context;
use crate::measure::plural;
use crate::view::{View, took_ms};

/// A run of reads and searches.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) rows: Vec<Row>,
    pub(crate) took_ms: u64,
    files: u64,
    searches: u64,
    failed: usize,
    open: bool,
    interrupted: bool,
}

/// One call of a run.
#[derive(Debug)]
pub(crate) struct Row {
    /// Which entry.
    pub(crate) index: usize,
    pub(crate) verb: String,
    pub(crate) what: String,
    pub(crate) search: bool,
    /// Why it failed.
    pub(crate) failed: Option<String>,
    /// True when the same was read or searched before.
    pub(crate) again: bool,
}

impl Run {
    pub(crate) fn of(context: &Context<'_>, members: &[usize]) -> Run {
        let cwd = context.cwd();
        let mut run = Run::default();
        let mut seen = HashSet::new();
        for &index in members {
            let Some(entry) = context.entries.get(index) else { continue };
            let Block::Tool(tool) = &entry.block else { continue };
            let view = View::of(entry, tool, cwd.as_deref(), 0);
            let search = view.icon != "read";
            let failed = matches!(tool.state, ToolState::Failed | ToolState::Denied);
            let again = !seen.insert((search, view.argument.clone()));
            run.files += u64::from(!search && !again);
            run.searches += u64::from(search && !again);
            let failed = failed.then(|| failure(tool));
            run.failed += usize::from(failed.is_some());
            run.open |= !tool.state.is_final();
            run.interrupted |= tool.state == ToolState::Interrupted;
            run.took_ms = run.took_ms.saturating_add(took_ms(entry, tool).unwrap_or(0));
            run.rows.push(Row {
                index,
                verb: view.verb.into_owned(),
                what: view.argument,
                search,
                failed,
                again,
            });
        }
        run
    }

    /// `4 files, 2 searches`.
    pub(crate) fn title(&self) -> String {
        let searches = || plural(self.searches, "search").replace("searchs", "searches");
        match (self.files, self.searches) {
            (files, 0) => plural(files, "file"),
            (0, _) => searches(),
            (files, _) => format!("{}, {}", plural(files, "file"), searches()),
        }
    }

    /// Where the run stands: it fails only when all of it does.
    pub(crate) fn class(&self) -> &'static str {
        match () {
            () if self.open => "pending",
            () if self.interrupted => "interrupted",
            () if self.failed == self.rows.len() => "error",
            () => "success",
        }
    }

    /// The same for those who do not see it.
    pub(crate) fn word(&self) -> &'static str {
        match self.class() {
            "pending" => "Running",
            "interrupted" => "Interrupted",
            "error" => "Failed",
            _ => "Done",
        }
    }
}

/// The first line of what a failed call says.
fn failure(tool: &Tool) -> String {
    let text = tool.output.as_deref().map(output_text).unwrap_or_default();
    one_line(&text, 160).into_owned()
}

/// The tool calls among these entries, runs taken apart.
pub(crate) fn calls_under(context: &Context<'_>, children: &[usize]) -> Vec<usize> {
    let mut calls = Vec::new();
    for &child in children {
        match context.outline.members(child) {
            [] if matches!(context.entries.get(child), Some(Entry { block: Block::Tool(_), .. })) => {
                calls.push(child)
            }
            members => calls.extend(members),
        }
    }
    calls
}
