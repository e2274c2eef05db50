//! A conversation in one of the forms that people and programs ask for. Only the choice is made here; the forms are the
//! renderer's.

use std::io::Write;

use anyhow::Result;
use parlor_render::{Options, page};
use serde_json::json;

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
    let options = Options { offset_s: offset_s(), thinking: look.thinking, ..Options::default() };
    match look.form {
        ShowFormat::Terminal => todo!(),
        ShowFormat::Html => output.write_all(page::page(session, entries, &options).as_str().as_bytes())?,
        ShowFormat::Markdown => todo!(),
        ShowFormat::Text => todo!(),
        ShowFormat::Json => {
            serde_json::to_writer_pretty(&mut *output, &json!({ "session": session, "entries": entries }))?;
            output.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Seconds to add to UTC for the times of this machine.
fn offset_s() -> i32 {
    jiff::Zoned::now().offset().seconds()
}
