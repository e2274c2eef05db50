//! A notice as HTML: what the agent or the house remarks beside the conversation.

use parlor_model::block::{Notice, NoticeKind};
use parlor_model::role::Role;

use crate::clip::{Clip, one_line};
use crate::context::Context;
use crate::entry_html::{cut, folded, prose, terminal};
use crate::html::Html;
use crate::measure::{compaction, plural, stop_words};
use crate::view::{FileDiff, change_facts};
use crate::{card_html, patch};

/// Appends what a notice says.
pub(crate) fn notice(context: &Context<'_>, notice: &Notice, html: &mut Html) {
    let text = notice.text.as_str();
    match &notice.kind {
        NoticeKind::Interrupted => {
            html.markup("<div class=\"mark interrupted\">⚠ Interrupted");
            let words = one_line(stop_words(&text), 120);
            html.text(if words.is_empty() { "" } else { " · " }).text(&words);
            html.markup("</div>");
        }
        NoticeKind::Compaction { before, after } => {
            html.markup("<div class=\"mark\">").text(&compaction(*before, *after)).markup("</div>");
            toggled_prose(context, "Summary", &text, html);
        }
        NoticeKind::Command { command } => {
            html.markup("<div class=\"command\"><code>").text(&command.as_str()).markup("</code>");
            if !text.trim().is_empty() {
                folded(&text, 6, html, |part, html| terminal(context, part, html));
            }
            html.markup("</div>");
        }
        NoticeKind::Diff => working_tree(context, &text, html),
        NoticeKind::Result => {
            html.markup("<div class=\"label\">Result</div>");
            prose(context, &text, html);
        }
        NoticeKind::Error => remark("<div class=\"remark bad\">", "! ", &text, html),
        NoticeKind::Warning => remark("<div class=\"remark warn\">", "⚠ ", &text, html),
        NoticeKind::Retry => remark("<div class=\"remark\">", "↻ ", &text, html),
        NoticeKind::Info => remark("<div class=\"remark\">", "", &text, html),
        NoticeKind::Task => remark("<div class=\"remark\">", "Task · ", &text, html),
        NoticeKind::Hook { name } => {
            remark("<div class=\"remark\">", &format!("Hook {} · ", name.as_str()), &text, html)
        }
        NoticeKind::Status { name } => {
            remark("<div class=\"remark faint\">", &format!("{} · ", Role::named(name).label()), &text, html);
        }
    }
}

fn toggled_prose(context: &Context<'_>, title: &'static str, text: &str, html: &mut Html) {
    if !text.trim().is_empty() {
        html.markup("<details class=\"quiet\"><summary>").markup(title).markup("</summary>");
        prose(context, text, html);
        html.markup("</details>");
    }
}

/// A remark is a line; what does not fit is behind a toggle.
fn remark(markup: &'static str, prefix: &str, text: &str, html: &mut Html) {
    const LINE: usize = 300;
    let text = text.trim();
    let line = one_line(text, LINE);
    html.markup(markup);
    if line == text {
        html.text(prefix.trim_end_matches(if text.is_empty() { " · " } else { "" }))
            .text(text)
            .markup("</div>");
        return;
    }
    html.markup("<details><summary>").text(prefix).text(&line).markup("</summary><div class=\"words\">");
    let clip = Clip::new(text, 16 << 10, 400);
    html.text(clip.head);
    if let Some(missing) = clip.missing {
        cut(&missing.words(), html);
        html.text(clip.tail);
    }
    html.markup("</div></details></div>");
}

fn working_tree(context: &Context<'_>, text: &str, html: &mut Html) {
    html.markup("<details class=\"card\"><summary class=\"head\"><span class=\"state\"></span>");
    html.markup("<span class=\"name\"><i class=\"icon i-edit\"></i>Working tree</span><span class=\"arg\">");
    let mut files: Vec<FileDiff> =
        patch::files(text).iter().map(|file| FileDiff::of_patch(file, None)).collect();
    files.iter_mut().for_each(|file| file.shorten(context.options.limits.lines));
    html.text(&plural(files.len() as u64, "file")).markup("</span>");
    card_html::facts(&change_facts(&files), html);
    html.markup("</summary>");
    card_html::diffs(&files, false, html);
    html.markup("</details>");
}
