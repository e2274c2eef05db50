//! A tool call as a card: a line that opens. It lays out what the view says and must not know any tool.

use std::collections::HashSet;

use parlor_model::action::TodoStatus;
use parlor_model::block::Block;
use parlor_model::entry::Entry;
use parlor_model::order::Choice;
use parlor_model::text::Text;
use parlor_model::tool::{Output, Piece, Tool, ToolState};

use crate::attachment_html::{attachment, link};
use crate::clip::{Clip, count_lines, indented, last_lines, one_line, output_text, split_lines};
use crate::context::Context;
use crate::entry_html::{cut, entry as entry_html, folded, prose, terminal};
use crate::html::Html;
use crate::measure::{self, duration, plural};
use crate::run::{Row, Run, calls_under};
use crate::view::{Body, Fact, FileDiff, PREVIEW_LINES, Showing, Tone, View, state_word, totals_line};
use crate::{ansi, highlight};

/// Appends the card of a call, or of the run of reads and searches that it leads.
pub(crate) fn card(context: &Context<'_>, index: usize, entry: &Entry, tool: &Tool, html: &mut Html) {
    if context.outline.members(index).len() > 1 {
        explored(context, index, html);
        return;
    }
    let cwd = context.cwd();
    let view = View::of(entry, tool, cwd.as_deref(), context.options.limits.lines);
    let showing = result_showing(context, tool, &view);
    let output = tool.output.as_deref();
    let text = output.filter(|_| showing != Showing::Hidden).map(output_text).unwrap_or_default();
    let long_command = long_argument(&view);
    let foldable = !matches!(view.body, Body::Nothing | Body::Link { .. })
        || !text.trim().is_empty()
        || long_command
        || has_extras(output)
        || !context.outline.children(index).is_empty();
    html.markup(if foldable { "<details class=\"card" } else { "<div class=\"card" });
    view.classes.iter().for_each(|class| {
        html.markup(" ").markup(class);
    });
    html.markup("\"");
    if let Some(at) = entry.at.filter(|_| !tool.state.is_final()) {
        html.markup(" data-since=\"").text(&at.iso_millis()).markup("\"");
    }
    // A picture is worth more than the line it would take to hide it.
    let open = view.open || (tool.state == ToolState::Done && has_picture(output));
    html.markup(if foldable && open { " open>" } else { ">" });
    html.markup(if foldable { "<summary class=\"head\">" } else { "<div class=\"head\">" });
    head(&view, tool, html);
    if !view.open {
        peek(tool, &view, &text, html);
    }
    html.markup(if foldable { "</summary>" } else { "</div>" });
    if long_command {
        html.markup("<pre class=\"whole\">").text(clipped(context, &view.argument).head).markup("</pre>");
    }
    body(context, index, entry, tool, &view, &text, html);
    if !matches!(view.body, Body::Nested { .. }) {
        work(context, index, html);
        result(context, showing, &text, html);
    }
    extras(context, output, html);
    html.markup(if foldable { "</details>" } else { "</div>" });
    ask(tool, &view, html);
    decided(context, tool, html);
}

fn result_showing(context: &Context<'_>, tool: &Tool, view: &View) -> Showing {
    match view.result {
        Showing::Hidden if context.options.file_contents && tool.action().explores() => Showing::Text,
        showing => showing,
    }
}

/// The most of an argument that the title of a card shows.
const TITLE_LINES: usize = 12;
const TITLE_BYTES: usize = 1_500;

fn long_argument(view: &View) -> bool {
    view.argument.len() > TITLE_BYTES || count_lines(&view.argument) > TITLE_LINES as u64
}

fn clipped<'a>(context: &Context<'_>, text: &'a str) -> Clip<'a> {
    Clip::new(text, context.options.limits.bytes, context.options.limits.lines)
}

fn head(view: &View, tool: &Tool, html: &mut Html) {
    html.markup("<span class=\"state\" role=\"img\" aria-label=\"").markup(state_word(tool.state));
    html.markup("\"></span><span class=\"name\" title=\"");
    html.markup(if tool.orphan { "Tool Result · " } else { "Tool Call · " }).text(&one_line(&tool.name, 120));
    html.markup("\"><i class=\"icon i-")
        .markup(view.icon)
        .markup("\"></i>")
        .text(&view.verb)
        .markup("</span>");
    if let Body::Link { url } = &view.body {
        html.markup("<span class=\"arg\">");
        link(&url.as_str(), html);
        html.markup("</span>");
        facts(&view.facts, html);
        return;
    }
    // A command is always visible in full, as far as a title can hold it.
    html.markup(if view.icon == "run" { "<code class=\"arg whole\">" } else { "<span class=\"arg\">" });
    let (first, rest) = split_lines(view.argument.trim_end(), TITLE_LINES);
    let shown = &first[..first.floor_char_boundary(TITLE_BYTES)];
    html.text(shown.trim_end_matches('\n'));
    if shown.len() < first.len() || !rest.is_empty() {
        html.markup(" …");
    }
    html.markup(if view.icon == "run" { "</code>" } else { "</span>" });
    facts(&view.facts, html);
}

/// Remarks at the end of a title.
pub(crate) fn facts(facts: &[Fact], html: &mut Html) {
    html.markup("<span class=\"facts\">");
    for (number, fact) in facts.iter().enumerate() {
        let apart = number > 0 && !(fact.tone == Tone::Minus && facts[number - 1].tone == Tone::Plus);
        html.markup(if apart {
            " · "
        } else if number > 0 {
            " "
        } else {
            ""
        });
        html.markup(match fact.tone {
            Tone::Plain | Tone::Took => "<span>",
            Tone::Plus => "<span class=\"plus\">",
            Tone::Minus => "<span class=\"minus\">",
            Tone::Warn => "<span class=\"warn\">",
            Tone::Bad => "<span class=\"bad\">",
        });
        html.text(&fact.text).markup("</span>");
    }
    html.markup("</span>");
}

/// The end of what came back, for as long as the card is closed: one line of what went well, three of what did not.
fn peek(tool: &Tool, view: &View, text: &str, html: &mut Html) {
    let failed = matches!(tool.state, ToolState::Failed | ToolState::Denied);
    if text.trim().is_empty() || !(failed || view.result == Showing::Terminal) {
        return;
    }
    let lines = last_lines(text, if failed { 3 } else { 1 });
    html.markup("<span class=\"peek\">");
    for line in &lines {
        let plain = ansi::to_plain(line);
        html.markup("<span>").text(&one_line(&plain, 200)).markup("</span>");
    }
    let more = count_lines(text).saturating_sub(lines.len() as u64);
    if more > 0 {
        html.markup("<small>+").text(&plural(more, "line")).markup("</small>");
    }
    html.markup("</span>");
}

fn body(
    context: &Context<'_>,
    index: usize,
    entry: &Entry,
    tool: &Tool,
    view: &View,
    text: &str,
    html: &mut Html,
) {
    match &view.body {
        Body::Nothing | Body::Link { .. } => {}
        Body::Diff(files) => diffs(files, view.argument == files.first().map_or("", |file| &file.path), html),
        Body::Preview { path, content } => preview(context, path, &content.as_str(), html),
        Body::Files(files) => file_list(context, files, html),
        Body::Todo(todos) => {
            html.markup("<ul class=\"todo\">");
            for todo in todos.iter().take(context.options.limits.items) {
                html.markup(match todo.status {
                    TodoStatus::Done => "<li class=\"done\"><b>☑</b> ",
                    TodoStatus::Active => "<li class=\"active\"><b>▸</b> ",
                    TodoStatus::Pending => "<li><b>☐</b> ",
                });
                html.text(&todo.text.as_str()).markup("</li>");
            }
            html.markup("</ul>");
        }
        Body::Nested { prompt } => nested(context, index, entry, tool, prompt, text, html),
        Body::Message { content } => {
            html.markup("<div class=\"message\">");
            prose(context, &content.as_str(), html);
            html.markup("</div>");
        }
        Body::Questions(questions) => {
            html.markup("<ol class=\"questions\">");
            for question in questions.iter().take(context.options.limits.items) {
                html.markup("<li>").text(&question.as_str()).markup("</li>");
            }
            html.markup("</ol>");
        }
        Body::Input => {
            html.markup("<pre class=\"input\">")
                .text(&indented(&tool.input, context.options.limits.bytes))
                .markup("</pre>");
        }
    }
}

/// Changes to files, each under its path; a card of one file has it in its title.
pub(crate) fn diffs(files: &[FileDiff], titled: bool, html: &mut Html) {
    let mut last = files.first().filter(|_| titled && files.len() == 1).map(|file| file.path.as_str());
    for file in files {
        if last != Some(&file.path) {
            html.markup("<div class=\"path\">").text(&file.path).markup("</div>");
            last = Some(&file.path);
        }
        file.diff.to_html(html);
        if file.missing > 0 {
            cut(&format!("… {} not shown", plural(file.missing, "line")), html);
        }
    }
}

fn preview(context: &Context<'_>, path: &str, content: &str, html: &mut Html) {
    let language = highlight::language_of_path(path);
    let clip = clipped(context, content);
    let part = |code: &str, html: &mut Html| {
        html.markup("<pre>");
        highlight::to_html(language, code, html);
        html.markup("</pre>");
    };
    html.markup("<div class=\"preview\">");
    folded(clip.head, PREVIEW_LINES, html, part);
    if let Some(missing) = clip.missing {
        cut(&missing.words(), html);
    }
    html.markup("</div>");
}

fn file_list(context: &Context<'_>, files: &[Text], html: &mut Html) {
    html.markup("<ul class=\"files\">");
    let cwd = context.cwd();
    let mut seen = HashSet::new();
    let unique = files.iter().map(Text::as_str).filter(|file| seen.insert(file.to_string()));
    for file in unique.take(context.options.limits.items) {
        html.markup("<li>").text(&crate::title::relative(&file, cwd.as_deref())).markup("</li>");
    }
    html.markup("</ul>");
    if files.len() > context.options.limits.items {
        cut(
            &format!("… {} not shown", plural((files.len() - context.options.limits.items) as u64, "file")),
            html,
        );
    }
}

/// A subagent: its last three calls, its answer, everything it did behind a toggle, and its totals.
fn nested(
    context: &Context<'_>,
    index: usize,
    entry: &Entry,
    tool: &Tool,
    prompt: &Text,
    answer: &str,
    html: &mut Html,
) {
    let children = context.outline.children(index);
    let calls: Vec<usize> = calls_under(context, children);
    html.markup("<div class=\"nested\">");
    if !prompt.is_blank() {
        html.markup("<details class=\"quiet\"><summary>Task</summary>");
        prose(context, &prompt.as_str(), html);
        html.markup("</details>");
    }
    let cwd = context.cwd();
    for &call in &calls[calls.len().saturating_sub(3)..] {
        if let Some(Entry { block: Block::Tool(tool), .. }) = context.entries.get(call) {
            let view = View::of(&context.entries[call], tool, cwd.as_deref(), 0);
            html.markup("<div class=\"line ").markup(view.classes.first().unwrap_or(&""));
            html.markup("\"><b>")
                .text(&view.verb)
                .markup("</b> ")
                .text(&one_line(&view.argument, 160))
                .markup("</div>");
        }
    }
    work(context, index, html);
    if !answer.trim().is_empty() {
        prose(context, answer, html);
    }
    html.markup("<footer>").text(&totals_line(entry, tool, calls.len() as u64)).markup("</footer></div>");
}

/// Everything that was done under a call, whatever kind of call it is.
fn work(context: &Context<'_>, index: usize, html: &mut Html) {
    let children = context.outline.children(index);
    if children.is_empty() {
        return;
    }
    html.markup("<details class=\"work\"><summary>")
        .text(&plural(children.len() as u64, "step"))
        .markup("</summary>");
    for &child in children.iter().take(context.options.limits.items) {
        entry_html(context, child, html);
    }
    if children.len() > context.options.limits.items {
        let missing = (children.len() - context.options.limits.items) as u64;
        cut(&format!("… {} not shown", plural(missing, "step")), html);
    }
    html.markup("</details>");
}

fn result(context: &Context<'_>, showing: Showing, text: &str, html: &mut Html) {
    if text.trim().is_empty() || showing == Showing::Hidden {
        return;
    }
    html.markup("<section class=\"result\"><div class=\"label\"><i class=\"icon i-tool-result\"></i>Tool Result</div>");
    match showing {
        Showing::Prose => prose(context, text, html),
        Showing::Terminal | Showing::Text | Showing::Hidden => terminal(context, text, html),
    }
    html.markup("</section>");
}

fn has_extras(output: Option<&Output>) -> bool {
    output.is_some_and(|output| output.parts.iter().any(|piece| !matches!(piece, Piece::Text { .. })))
}

fn has_picture(output: Option<&Output>) -> bool {
    output.is_some_and(|output| output.parts.iter().any(|piece| matches!(piece, Piece::Attachment { .. })))
}

/// Pictures, documents and pieces nobody understands.
fn extras(context: &Context<'_>, output: Option<&Output>, html: &mut Html) {
    for piece in output.map_or(&[][..], |output| &output.parts) {
        match piece {
            Piece::Text { .. } => {}
            Piece::Attachment { attachment: one } => {
                attachment(one, context.options.limits.image_bytes, html)
            }
            Piece::Other { raw } => {
                html.markup("<pre class=\"input\">")
                    .text(&indented(raw, context.options.limits.bytes))
                    .markup("</pre>");
            }
        }
    }
}

/// What a person said when the call asked.
fn decided(context: &Context<'_>, tool: &Tool, html: &mut Html) {
    if let Some(decision) = &tool.decision {
        let no = decision.choice == Choice::Deny;
        html.markup(if no { "<p class=\"decision no\">" } else { "<p class=\"decision\">" });
        html.text(&measure::decision(decision, context.options.offset_s)).markup("</p>");
    }
}

/// What a call waits for. The answers are words here; a client that can answer makes buttons of them.
fn ask(tool: &Tool, view: &View, html: &mut Html) {
    let Some(ask) = &tool.ask else { return };
    html.markup("<div class=\"ask\" data-ask=\"")
        .text(&ask.id)
        .markup("\"><b>Wants to use ")
        .text(&view.verb);
    html.markup("</b> <code>").text(&one_line(&view.argument, 300)).markup("</code>");
    if let Some(reason) = &ask.reason {
        html.markup("<p>").text(&one_line(&reason.as_str(), 1_000)).markup("</p>");
    }
    if !ask.options.is_empty() {
        html.markup("<ul class=\"options\">");
        for option in ask.options.iter().take(20) {
            html.markup("<li>").text(&one_line(&option.as_str(), 200)).markup("</li>");
        }
        html.markup("</ul>");
    }
    html.markup("</div>");
}

/// A run of reads and searches as one card: each file and each search once, contents hidden.
fn explored(context: &Context<'_>, index: usize, html: &mut Html) {
    const OPEN_ROWS: usize = 16;
    let members = context.outline.members(index);
    let run = Run::of(context, members);
    html.markup("<details class=\"card ").markup(run.class());
    html.markup(if run.rows.len() > OPEN_ROWS { "\">" } else { "\" open>" });
    html.markup("<summary class=\"head\"><span class=\"state\" role=\"img\" aria-label=\"")
        .markup(run.word());
    html.markup(
        "\"></span><span class=\"name\" title=\"Tool Call\"><i class=\"icon i-search\"></i>Explored</span>",
    );
    html.markup("<span class=\"arg\">").text(&run.title()).markup("</span><span class=\"facts\">");
    if run.took_ms >= 100 {
        html.text(&duration(run.took_ms));
    }
    html.markup("</span></summary><ul class=\"files\">");
    for row in run.rows.iter().take(context.options.limits.items) {
        html.markup("<li");
        // The first entry's id is the card's own.
        if row.index != index {
            html.markup(" id=\"e-").text(&context.entries[row.index].id).markup("\"");
        }
        explored_row(row, html);
    }
    html.markup("</ul>");
    if run.rows.len() > context.options.limits.items {
        cut(&format!("… {} not shown", run.rows.len() - context.options.limits.items), html);
    }
    html.markup("</details>");
    let cwd = context.cwd();
    for entry in members.iter().filter_map(|member| context.entries.get(*member)) {
        if let Block::Tool(tool) = &entry.block {
            extras(context, tool.output.as_deref(), html);
            if tool.ask.is_some() {
                ask(tool, &View::of(entry, tool, cwd.as_deref(), 0), html);
            }
        }
    }
}

/// The rest of a row, from the end of its tag's name and id.
fn explored_row(row: &Row, html: &mut Html) {
    html.markup(match (row.again, &row.failed) {
        (true, None) => " hidden>",
        (_, Some(_)) => " class=\"error\">",
        (false, None) => ">",
    });
    if !row.again || row.failed.is_some() {
        if row.search {
            html.markup("<b>").text(&row.verb).markup("</b> ");
        }
        html.text(&row.what);
    }
    if let Some(why) = &row.failed {
        html.markup(" <small>").text(why).markup("</small>");
    }
    html.markup("</li>");
}
