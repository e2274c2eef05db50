//! One entry, or the run it stands for, as HTML. The same entry in the same context gives the same bytes, live and
//! years later. It must not know pages, sockets or scripts.

use parlor_model::block::{Author, Block, Prompt, Reply, Thought, Unknown};
use parlor_model::entry::Entry;
use parlor_model::role::Role;

use crate::attachment_html::attachment;
use crate::card_html;
use crate::clip::{Clip, count_lines, indented, one_line, split_lines};
use crate::context::Context;
use crate::html::Html;
use crate::measure::{clock, duration};
use crate::notice_html;
use crate::{ansi, markdown};

/// Appends the entry at `index`. Entries that are shown within another (`Outline::root_of`) are part of that one's
/// HTML; rendered by themselves, they are a row of their own.
pub fn entry(context: &Context<'_>, index: usize, html: &mut Html) {
    let Some(entry) = context.entries.get(index) else { return };
    if matches!(entry.block, Block::Thought(_)) && !context.options.thinking {
        return;
    }
    open(context, entry, index, html);
    match &entry.block {
        Block::Prompt(prompt) => prompt_body(context, prompt, html),
        Block::Reply(reply) => reply_body(context, reply, html),
        Block::Thought(thought) => thought_body(context, thought, html),
        Block::Tool(tool) => card_html::card(context, index, entry, tool, html),
        Block::Notice(notice) => notice_html::notice(context, notice, html),
        Block::Unknown(unknown) => unknown_body(context, unknown, html),
    }
    html.markup("</article>\n");
}

/// Text that may be long: its first lines, and the rest behind a toggle.
pub(crate) fn folded(text: &str, lines: usize, html: &mut Html, part: impl Fn(&str, &mut Html)) {
    let (first, rest) = split_lines(text, lines);
    if rest.trim().is_empty() {
        part(text.trim_end_matches('\n'), html);
        return;
    }
    part(first.trim_end_matches('\n'), html);
    html.markup("<details class=\"rest\"><summary>+").number(count_lines(rest));
    html.markup(" lines</summary>");
    part(rest.trim_end_matches('\n'), html);
    html.markup("</details>");
}

/// What is left out, as a line of its own.
pub(crate) fn cut(words: &str, html: &mut Html) {
    html.markup("<p class=\"cut\">").text(words).markup("</p>");
}

/// Markdown within the limits.
pub(crate) fn prose(context: &Context<'_>, text: &str, html: &mut Html) {
    let clip = Clip::new(text, context.options.limits.prose_bytes, usize::MAX);
    html.markup("<div class=\"prose\">");
    markdown::to_html(clip.head, html);
    if let Some(missing) = clip.missing {
        cut(&missing.words(), html);
        markdown::to_html(clip.tail, html);
    }
    html.markup("</div>");
}

/// What a program wrote, within the limits.
pub(crate) fn terminal(context: &Context<'_>, text: &str, html: &mut Html) {
    let limits = &context.options.limits;
    let clip = Clip::new(text.trim_end_matches('\n'), limits.bytes, limits.lines);
    html.markup("<pre>");
    ansi::to_html(clip.head, html);
    if let Some(missing) = clip.missing {
        html.markup("</pre>");
        cut(&missing.words(), html);
        html.markup("<pre>");
        ansi::to_html(clip.tail, html);
    }
    html.markup("</pre>");
}

/// The class under which style sheets know a role.
pub(crate) fn role_class(role: &Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::ToolCall => "tool-call",
        Role::ToolResult => "tool-result",
        Role::Other(_) => "other",
    }
}

/// Whose bubble a block lies in: calls are part of what the assistant does.
fn bubble(block: &Block) -> Role {
    match Role::of_block(block) {
        Role::ToolCall => Role::Assistant,
        role => role,
    }
}

fn open(context: &Context<'_>, entry: &Entry, index: usize, html: &mut Html) {
    let role = bubble(&entry.block);
    let headed = entry.opens && !matches!(entry.block, Block::Notice(_) | Block::Unknown(_));
    html.markup("<article class=\"entry ").markup(role_class(&role));
    if matches!(entry.block, Block::Notice(_)) {
        html.markup(" notice");
    }
    if headed {
        html.markup(" opens");
    }
    if entry.overtaken {
        html.markup(" overtaken");
    }
    html.markup("\" id=\"e-").text(&entry.id).markup("\">");
    // A run of rewound entries is marked where it starts.
    let marked =
        entry.overtaken && !index.checked_sub(1).is_some_and(|before| context.entries[before].overtaken);
    if marked || (headed && entry.overtaken) {
        html.markup("<span class=\"tag rewound\">rewound</span>");
    }
    if headed {
        header(context, entry, &role, html);
    }
}

fn header(context: &Context<'_>, entry: &Entry, role: &Role, html: &mut Html) {
    html.markup("<header class=\"role\"><span class=\"who\"><i class=\"icon i-").markup(role_class(role));
    html.markup("\"></i>").text(&role.label());
    if let Block::Prompt(Prompt { author: Author::Peer { name }, exchange, .. }) = &entry.block {
        html.markup(" ");
        match exchange {
            // In an export there is nothing at this place, and the link does nothing.
            Some(exchange) => {
                html.markup("<a href=\"#/s/").text(&in_address(&exchange.session)).markup("\">");
                html.text(&one_line(&name.as_str(), 60)).markup("</a>");
            }
            None => _ = html.text(&one_line(&name.as_str(), 60)),
        }
    }
    html.markup("</span>");
    if let Some(at) = entry.at {
        html.markup("<time datetime=\"").text(&at.iso_millis()).markup("\">");
        html.text(&clock(at, context.options.offset_s)).markup("</time>");
    }
    html.markup("</header>");
}

/// A session's id as a part of an address: what has no place in one is left out.
fn in_address(id: &str) -> String {
    id.chars().filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.')).collect()
}

fn prompt_body(context: &Context<'_>, prompt: &Prompt, html: &mut Html) {
    if prompt.queued {
        html.markup("<span class=\"tag\">queued</span>");
    }
    if prompt.steered {
        html.markup("<span class=\"tag\">sent while it worked</span>");
    }
    let text = prompt.text.as_str();
    match prompt.author {
        _ if text.trim().is_empty() => {}
        Author::Person => person_words(context, &text, html),
        Author::Peer { .. } => prose(context, &text, html),
        Author::Caller | Author::Machine => {
            html.markup("<details class=\"quiet\"><summary>")
                .text(&one_line(&text, 140))
                .markup("</summary>");
            prose(context, &text, html);
            html.markup("</details>");
        }
    }
    for one in &prompt.attachments {
        attachment(one, context.options.limits.image_bytes, html);
    }
}

/// A person's words stand as they were typed: what was pasted need not be Markdown.
fn person_words(context: &Context<'_>, text: &str, html: &mut Html) {
    const VISIBLE_LINES: usize = 40;
    let limits = &context.options.limits;
    let clip = Clip::new(text.trim(), limits.prose_bytes, limits.lines);
    let words = |part: &str, html: &mut Html| {
        html.markup("<div class=\"words\">").text(part).markup("</div>");
    };
    folded(clip.head, VISIBLE_LINES, html, words);
    if let Some(missing) = clip.missing {
        cut(&missing.words(), html);
        words(clip.tail, html);
    }
}

fn reply_body(context: &Context<'_>, reply: &Reply, html: &mut Html) {
    prose(context, &reply.text.as_str(), html);
    if reply.streaming {
        html.markup("<span class=\"caret\" aria-label=\"being written\"></span>");
    }
    if reply.interrupted {
        html.markup("<span class=\"tag warn\">⚠ Interrupted</span>");
    }
}

fn thought_body(context: &Context<'_>, thought: &Thought, html: &mut Html) {
    let hidden = thought.redacted || thought.text.is_blank();
    html.markup(if hidden { "<div class=\"thought\">" } else { "<details class=\"thought\"><summary>" });
    html.markup("<i class=\"icon i-brain\"></i>");
    match (thought.streaming, thought.duration_ms) {
        (true, _) => html.markup("Thinking"),
        (false, Some(ms)) => html.markup("Thought for ").text(&duration(ms)),
        (false, None) => html.markup("Thought"),
    };
    if thought.interrupted {
        html.markup(" <span class=\"tag warn\">⚠ Interrupted</span>");
    }
    if hidden {
        html.markup(if thought.redacted { " · kept by the provider</div>" } else { "</div>" });
        return;
    }
    html.markup("</summary>");
    prose(context, &thought.text.as_str(), html);
    html.markup("</details>");
}

/// What nobody understands is shown under its own name, with every byte behind a toggle.
fn unknown_body(context: &Context<'_>, unknown: &Unknown, html: &mut Html) {
    let role = Role::Other(unknown.kind.to_string());
    html.markup("<details class=\"unknown\"><summary><i class=\"icon i-other\"></i>")
        .text(&one_line(&role.label(), 80));
    html.markup("</summary><pre>").text(&indented(&unknown.raw, context.options.limits.bytes));
    html.markup("</pre></details>");
}

#[cfg(test)]
mod tests;
