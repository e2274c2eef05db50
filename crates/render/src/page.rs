//! A whole conversation as one page that stands by itself: no script, nothing loaded, nothing written elsewhere. It
//! must not lay out entries; that is `entry_html`'s.

use parlor_model::block::{Author, Block, Prompt};
use parlor_model::entry::Entry;
use parlor_model::session::{Counts, Session};
use parlor_model::time::Time;

use crate::clip::one_line;
use crate::context::{Context, Options, Outline};
use crate::entry_html;
use crate::html::Html;
use crate::measure::{clock, date, day, plural, tokens};

/// The style sheet of entries and pages, for clients that show entries in a page of their own.
pub const STYLE: &str = include_str!("page.css");

/// A page is handed out in pieces of about this size: a page of any length needs little memory.
const PIECE_BYTES: usize = 64 << 10;

/// The page of a conversation.
pub fn page(session: &Session, entries: &[Entry], options: &Options) -> Html {
    let mut page = Html::default();
    pieces(session, entries, options, |piece| {
        page.append(piece);
    });
    page
}

/// The page of a conversation, piece by piece.
pub fn pieces(session: &Session, entries: &[Entry], options: &Options, mut emit: impl FnMut(&Html)) {
    let outline = Outline::of(entries);
    let context = Context { session, entries, outline: &outline, options };
    let mut html = Html::with_capacity(STYLE.len() + 2 * PIECE_BYTES);
    let title = session.title.as_ref().map(|title| one_line(&title.as_str(), 200).into_owned());
    let title = title.filter(|title| !title.is_empty()).unwrap_or_else(|| "Conversation".to_owned());
    html.markup("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n");
    html.markup("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    html.markup("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    html.text(&title).markup("</title>\n<style>\n").markup(STYLE).markup("</style>\n</head>\n<body>\n");
    top(&context, &title, &mut html);
    html.markup("<main class=\"talk\">\n");
    conversation(&context, &mut html, &mut emit);
    html.markup("</main>\n</body>\n</html>\n");
    emit(&html);
}

/// What stands above the first entry of a day: its date. `before` is the time of the last entry that had one.
pub fn new_day(before: Option<Time>, at: Option<Time>, offset_s: i32) -> Option<String> {
    let at = at?;
    let same = before.is_some_and(|before| day(before, offset_s) == day(at, offset_s));
    (!same).then(|| date(at, offset_s))
}

fn conversation(context: &Context<'_>, html: &mut Html, emit: &mut impl FnMut(&Html)) {
    let offset = context.options.offset_s;
    let mut before = None;
    if context.entries.is_empty() {
        html.markup("<p class=\"empty\">Nothing has been said yet.</p>\n");
    }
    for index in context.outline.roots() {
        let at = context.entries[index].at;
        if let Some(date) = new_day(before, at, offset) {
            html.markup("<div class=\"date\">").text(&date).markup("</div>\n");
        }
        before = at.or(before);
        entry_html::entry(context, index, html);
        if html.as_str().len() >= PIECE_BYTES {
            emit(html);
            html.clear();
        }
    }
}

fn top(context: &Context<'_>, title: &str, html: &mut Html) {
    let session = context.session;
    html.markup("<header class=\"top\">\n<h1>").text(title).markup("</h1>\n<p class=\"meta\">");
    let mut words: Vec<String> = Vec::new();
    words.extend(session.model.as_ref().map(ToString::to_string));
    words.extend(session.cwd.as_ref().map(|cwd| cwd.as_str().into_owned()));
    words.extend(session.branch.as_ref().map(|branch| branch.as_str().into_owned()));
    words.extend(session.version.as_ref().map(|version| format!("version {version}")));
    words.extend(session.started.map(|started| {
        let offset = context.options.offset_s;
        format!("{}, {}", date(started, offset), clock(started, offset))
    }));
    html.text(&words.join(" · ")).markup("</p>\n<p class=\"meta\">").text(&usage(session)).markup("</p>\n");
    contents(context, html);
    html.markup("</header>\n");
}

/// `12 prompts · 40 tool calls · 148k tokens in · 12k out · $0.21`.
pub(crate) fn usage(session: &Session) -> String {
    let (counts, used) = (&session.counts, &session.usage);
    let mut words = Vec::new();
    // The end of a session does not say how much there is of it.
    if *counts != Counts::default() {
        words.extend([plural(counts.prompts, "prompt"), plural(counts.tools, "tool call")]);
    }
    if counts.failed > 0 {
        words.push(format!("{} failed", counts.failed));
    }
    if used.total() > 0 {
        let cached = used.cache_read.saturating_add(used.cache_write);
        let input = used.input.saturating_add(cached);
        words.push(format!(
            "{} tokens in ({} cached), {} out",
            tokens(input),
            tokens(used.cache_read),
            tokens(used.output)
        ));
    }
    if let Some(window) = session.context_window.filter(|window| *window > 0 && session.context > 0) {
        words.push(format!("context {} % full", session.context.saturating_mul(100) / window));
    }
    words.extend(session.cost_usd.filter(|usd| usd.is_finite()).map(|usd| format!("${usd:.2}")));
    words.join(" · ")
}

/// The prompts of people, to jump to. A conversation of one or two needs no table.
fn contents(context: &Context<'_>, html: &mut Html) {
    let prompts: Vec<(&Entry, &Prompt)> =
        context.outline.roots().filter_map(|index| person_prompt(&context.entries[index])).collect();
    if prompts.len() < 3 {
        return;
    }
    html.markup("<details class=\"contents\"><summary>")
        .text(&plural(prompts.len() as u64, "prompt"))
        .markup("</summary><ol>");
    for (entry, prompt) in prompts {
        html.markup("<li><a href=\"#e-")
            .text(&entry.id)
            .markup("\">")
            .text(&one_line(&prompt.text.as_str(), 100));
        html.markup("</a></li>");
    }
    html.markup("</ol></details>\n");
}

fn person_prompt(entry: &Entry) -> Option<(&Entry, &Prompt)> {
    match &entry.block {
        Block::Prompt(prompt) if prompt.author == Author::Person && !prompt.text.is_blank() => {
            Some((entry, prompt))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{done, prompt, reply};
    use parlor_model::time::Time;
    use parlor_model::usage::Usage;
    use serde_json::json;

    fn sample() -> (Session, Vec<Entry>) {
        let usage = Usage { input: 1_000, output: 2_000, cache_read: 97_000, ..Usage::default() };
        let title = Some("Retry </title> budget".into());
        let session =
            Session { title, model: Some("opus".into()), usage, cost_usd: Some(0.214), ..Session::default() };
        let mut entries = vec![
            prompt("p", "Hi", Author::Person),
            reply("r", "Hello."),
            done("t", "Bash", json!({"command": "ls"}), "x"),
        ];
        entries.extend([prompt("q", "More", Author::Person), prompt("s", "Again", Author::Person)]);
        entries[3].at = entries[3].at.map(|at| Time(at.0 + 86_400_000_000));
        entries[4].at = entries[3].at;
        (session, entries)
    }

    #[test]
    fn a_page_stands_by_itself() {
        let (session, entries) = sample();
        let html = page(&session, &entries, &Options::default()).into_string();
        assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
        assert!(html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\""));
        assert!(html.contains("<title>Retry &lt;/title&gt; budget</title>"));
        assert!(html.contains("98k tokens in (97k cached), 2.0k out · $0.21"), "{html}");
        assert_eq!(html.matches("<div class=\"date\">").count(), 2);
        assert!(html.contains("<li><a href=\"#e-p\">Hi</a></li>"));
        for never in ["<script", "<link", "@import", "url(\"http", "url(http", "src=\"http"] {
            assert!(!html.contains(never), "{never}");
        }
        assert_eq!(html, page(&session, &entries, &Options::default()).into_string());
    }

    #[test]
    fn every_entry_is_on_the_page_once() {
        let (session, mut entries) = sample();
        entries[2].parent = Some("nobody".into());
        let html = page(&session, &entries, &Options::default()).into_string();
        for entry in &entries {
            assert_eq!(html.matches(&format!("id=\"e-{}\"", entry.id)).count(), 1, "{}", entry.id);
        }
    }

    #[test]
    fn an_empty_session_has_a_page() {
        let html = page(&Session::default(), &[], &Options::default()).into_string();
        assert!(html.contains("<h1>Conversation</h1>"));
    }
}
