//! Prints a conversation as it grows: what is settled stays, what still changes is drawn again below it. It must not know
//! where the conversation comes from.

use std::io::{self, Write};

use anyhow::Result;
use parlor_hub::View;
use parlor_model::block::Block;
use parlor_render::{Context, Options, Paint, terminal as renderer};
use unicode_width::UnicodeWidthStr;

use crate::terminal::Terminal;

/// At most this many lines are drawn again and again; the rest of what still changes is shown when it is settled.
const LIVE_LINES: usize = 12;

/// Where the printing stands.
pub(crate) struct Printer {
    /// Roots that are printed for good.
    printed: usize,
    /// Lines below them that will be drawn again.
    drawn: usize,
    last: String,
    width: usize,
    paint: Paint,
    redraws: bool,
    silent: bool,
}

impl Printer {
    /// A printer for this terminal; a silent one prints nothing.
    pub(crate) fn new(terminal: &Terminal, silent: bool) -> Printer {
        Printer {
            printed: 0,
            drawn: 0,
            last: String::new(),
            width: terminal.width,
            paint: Paint { colour: terminal.color },
            redraws: terminal.is_terminal && !silent,
            silent,
        }
    }

    /// Leaves out what is before a place.
    pub(crate) fn skip_to(&mut self, place: usize) {
        self.printed = place;
    }

    /// Somebody else has written a line below what will be drawn again: it goes when that is drawn.
    pub(crate) fn wrote(&mut self, line: &str) {
        if self.redraws {
            self.drawn += line.width() / self.width.max(1) + 1;
        }
    }

    /// Prints what is new.
    pub(crate) fn update(&mut self, view: &View) -> Result<()> {
        if self.silent {
            return Ok(());
        }
        let settled = (self.printed..view.roots().len()).take_while(|place| is_settled(view, *place)).last();
        let end = settled.map_or(self.printed, |place| place + 1);
        let mut text = String::new();
        for place in self.printed..end {
            text.push_str(&self.render(view, place));
        }
        let live = if self.redraws { self.live(view, end) } else { String::new() };
        if text.is_empty() && live == self.last {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        self.erase(&mut out)?;
        out.write_all(text.as_bytes())?;
        out.write_all(live.as_bytes())?;
        out.flush()?;
        self.printed = end;
        self.drawn = live.matches('\n').count();
        self.last = live;
        Ok(())
    }

    /// Prints everything that is left: nothing more comes.
    pub(crate) fn finish(&mut self, view: &View) -> Result<()> {
        if self.silent {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        self.erase(&mut out)?;
        for place in self.printed..view.roots().len() {
            out.write_all(self.render(view, place).as_bytes())?;
        }
        out.flush()?;
        self.printed = view.roots().len();
        self.drawn = 0;
        Ok(())
    }

    fn erase(&self, out: &mut impl Write) -> io::Result<()> {
        match self.drawn {
            0 => Ok(()),
            lines => write!(out, "\x1b[{lines}F\x1b[J"),
        }
    }

    /// The last lines of what still changes.
    fn live(&self, view: &View, from: usize) -> String {
        let text: String = (from..view.roots().len()).map(|place| self.render(view, place)).collect();
        let lines: Vec<&str> = text.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LIVE_LINES)..];
        let mut live = shown.join("\n");
        if !shown.is_empty() {
            live.push('\n');
        }
        live
    }

    fn render(&self, view: &View, place: usize) -> String {
        let options = Options {
            offset_s: jiff::Zoned::now().offset().seconds(),
            thinking: false,
            ..Options::default()
        };
        let context = Context {
            session: view.session(),
            entries: view.entries(),
            outline: view.outline(),
            options: &options,
        };
        renderer::entry(&context, view.roots()[place], self.width, self.paint)
    }
}

/// True when nothing more will change: a run of reads goes on until something else follows it.
fn is_settled(view: &View, place: usize) -> bool {
    let entry = &view.entries()[view.roots()[place]];
    match &entry.block {
        Block::Reply(reply) => !reply.streaming,
        Block::Thought(thought) => !thought.streaming,
        Block::Tool(tool) => {
            tool.state.is_final()
                && (entry.group.is_none() || place + 1 < view.roots().len() || view.is_idle())
        }
        Block::Prompt(_) | Block::Notice(_) | Block::Unknown(_) => true,
    }
}
