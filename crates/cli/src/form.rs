//! A conversation in one of the forms that people and programs ask for. Only the choice is made here; the
//! forms are the renderer's.

use std::io::Write;

use anyhow::Result;
use parlor_model::entry::Entry;
use parlor_model::session::Session;
use parlor_render::{Options, Paint, export_markdown, page, plain, terminal};
use serde::Serialize;

use crate::args::ShowFormat;
use crate::conversation::Conversation;

/// How a conversation is to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The form.
    pub(crate) form: ShowFormat,
    /// Whether thoughts are shown in full.
    pub(crate) thinking: bool,
    /// Whether there are colours, in a terminal.
    pub(crate) color: bool,
    /// The width of a terminal.
    pub(crate) width: usize,
}

/// Writes the conversation.
pub(crate) fn write(conversation: &Conversation, look: Look, output: &mut impl Write) -> Result<()> {
    let Conversation { session, entries } = conversation;
    // A page folds thoughts away by itself.
    let thinking = look.thinking || look.form == ShowFormat::Html;
    let options = Options { offset_s: offset_s(), thinking, ..Options::default() };
    let paint = Paint { colour: look.color };
    let text = match look.form {
        ShowFormat::Terminal => terminal::transcript(session, entries, &options, look.width, paint),
        ShowFormat::Html => return html(conversation, &options, output),
        ShowFormat::Markdown => export_markdown::transcript(session, entries, &options),
        ShowFormat::Text => plain::transcript(session, entries, &options),
        ShowFormat::Json => return json(conversation, output),
    };
    output.write_all(text.as_bytes())?;
    Ok(())
}

/// Piece by piece: a page may be larger than memory should hold.
fn html(conversation: &Conversation, options: &Options, output: &mut impl Write) -> Result<()> {
    let mut written = Ok(());
    page::pieces(&conversation.session, &conversation.entries, options, |piece| {
        if written.is_ok() {
            written = output.write_all(piece.as_str().as_bytes());
        }
    });
    Ok(written?)
}

/// Entry by entry: a tree of the whole conversation would be many times its size.
fn json(conversation: &Conversation, output: &mut impl Write) -> Result<()> {
    #[derive(Serialize)]
    struct Whole<'a> {
        session: &'a Session,
        entries: &'a [Entry],
    }
    let whole = Whole { session: &conversation.session, entries: &conversation.entries };
    serde_json::to_writer_pretty(&mut *output, &whole)?;
    output.write_all(b"\n")?;
    Ok(())
}

/// Seconds to add to UTC for the times of this machine.
fn offset_s() -> i32 {
    jiff::Zoned::now().offset().seconds()
}
