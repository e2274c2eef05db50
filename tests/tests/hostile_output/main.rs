//! Whatever agents write, and wherever they write it: a page holds only our own markup, a terminal only our own
//! colours, and the words are still there to read.

mod fields;
mod markup;
mod strings;

use std::collections::HashMap;

use fields::{Field, Shown};
use parlor_dialect::Format;
use parlor_model::entry::Entry;
use parlor_model::session::Session;
use parlor_render::{
    Context, Html, Limits, Options, Outline, Paint, entry_html, export_markdown, page, plain, terminal,
};
use parlor_tests::screen::{self, squeezed, visible};
use parlor_tests::{Whole, sessions};
use pulldown_cmark::{Event, Parser, Tag};
use serde_json::Value;
use strings::{POLYGLOT, Trick};

/// A terminal so wide that titles are not cut.
const WIDTH: usize = 4_000;

/// The usual reader, one who wants to see everything, and one who sees little of each thing.
fn readers() -> [Options; 3] {
    let small = Limits { bytes: 50, lines: 2, prose_bytes: 30, image_bytes: 8, items: 1 };
    [
        Options::default(),
        Options { file_contents: true, unfolded: true, limits: Limits::none(), ..Options::default() },
        Options { unfolded: true, limits: small, ..Options::default() },
    ]
}

/// Renders in every way and checks that all of it is harmless. Gives the texts of the first reader's page by id.
fn harmless(
    readers: &[Options],
    session: &Session,
    entries: &[Entry],
    context: &str,
) -> HashMap<String, String> {
    let mut texts = HashMap::new();
    for (number, options) in readers.iter().enumerate() {
        let page = page::page(session, entries, options);
        let found = markup::check_page(page.as_str(), context);
        if number == 0 {
            texts = found;
        }
        for (width, colour) in [(WIDTH, true), (20, true), (WIDTH, false), (7, false)] {
            let text = terminal::transcript(session, entries, options, width, Paint { colour });
            if colour {
                screen::check_coloured(&text, context)
            } else {
                screen::check(&text, context);
                text
            };
        }
        screen::check(&plain::transcript(session, entries, options), context);
        let export = export_markdown::transcript(session, entries, options);
        screen::check(&export, context);
        let html = Parser::new(&export).into_offset_iter().find(|(event, _)| is_html(event));
        if let Some((_, range)) = html {
            let from = export.floor_char_boundary(range.start.saturating_sub(200));
            panic!("{context}: HTML in the export: {}", &export[from..range.end]);
        }
    }
    texts
}

fn is_html(event: &Event<'_>) -> bool {
    matches!(event, Event::Html(_) | Event::InlineHtml(_) | Event::Start(Tag::HtmlBlock))
}

/// What a reader must find of a field with this text, without white space; `None` when the field shows it changed.
fn expected(trick: Trick, shown: Shown, text: &str) -> Option<String> {
    let inert = trick == Trick::Markup;
    let words = match shown {
        Shown::Words => visible(text),
        Shown::Line(most) => {
            let line = text.trim().lines().next().unwrap_or_default();
            visible(&line.chars().take(most).collect::<String>())
        }
        Shown::Screen if inert || trick == Trick::Markdown => visible(text),
        Shown::Prose if inert => visible(text),
        Shown::Json => {
            let quoted = Value::from(text).to_string();
            visible(quoted.trim_matches('"'))
        }
        Shown::Screen | Shown::Prose | Shown::Aside => return None,
    };
    Some(squeezed(&words))
}

#[test]
fn every_field_is_harmless_and_readable_in_a_page() {
    let mut lost = Vec::new();
    for (trick, text) in strings::all() {
        let fields = fields::all(&text);
        let entries: Vec<Entry> = fields.iter().map(|field| field.entry.clone()).collect();
        let context = format!("{text:.60?}");
        let texts = harmless(&readers(), &fields::session(&text), &entries, &context);
        if trick == Trick::Long {
            continue;
        }
        for Field { shown, entry } in &fields {
            let Some(expected) = expected(trick, *shown, &text) else { continue };
            let found = texts.get(&format!("e-{}", entry.id)).unwrap_or_else(|| panic!("{}", entry.id));
            if !squeezed(found).contains(&expected) {
                lost.push(format!("{} of {context}: {found}", entry.id));
            }
        }
        let top = squeezed(&texts["top"]);
        assert!(top.contains(&squeezed(&visible(&text))), "{context}: {top}");
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn every_field_is_readable_in_terminals_and_files() {
    let everything = &readers()[1];
    let mut lost = Vec::new();
    for (_, text) in strings::all().into_iter().filter(|(trick, _)| *trick == Trick::Markup) {
        let fields = fields::all(&text);
        let entries: Vec<Entry> = fields.iter().map(|field| field.entry.clone()).collect();
        let session = Session::default();
        let outline = Outline::of(&entries);
        let context =
            Context { session: &session, entries: &entries, outline: &outline, options: everything };
        for (index, Field { shown, entry }) in fields.iter().enumerate() {
            let Some(expected) = expected(Trick::Markup, *shown, &text) else { continue };
            if SHORTENED.contains(&entry.id.as_str()) {
                continue;
            }
            // What lies within a run is shown with its first entry.
            let index = if entry.group.is_some() { outline.root_of(index) } else { index };
            let coloured = terminal::entry(&context, index, WIDTH, Paint { colour: true });
            let colourless = terminal::entry(&context, index, WIDTH, Paint { colour: false });
            let coloured = screen::check_coloured(&coloured, &text);
            let mut export = String::new();
            export_markdown::entry(&context, index, &mut export);
            for (name, found) in
                [("coloured", &coloured), ("colourless", &colourless), ("Markdown", &read_back(&export))]
            {
                if !squeezed(found).contains(&expected) {
                    lost.push(format!("{} in {name}: {text:?} {found}", entry.id));
                }
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

/// Fields of which terminals and files show less than the page: a path's last part, a message's words without its
/// subject, and no document.
const SHORTENED: [&str; 4] = ["attachment-text", "edit-path", "message-summary", "task-prompt"];

/// The text of a Markdown document as a viewer shows it.
fn read_back(markdown: &str) -> String {
    let mut text = String::new();
    for event in Parser::new(markdown) {
        if let Event::Text(piece) | Event::Code(piece) = event {
            text.push_str(&piece);
        }
    }
    text
}

#[test]
fn every_entry_by_itself_is_harmless() {
    for (_, text) in strings::all() {
        let (entries, session) = (
            fields::all(&text).into_iter().map(|field| field.entry).collect::<Vec<_>>(),
            fields::session(&text),
        );
        let outline = Outline::of(&entries);
        let options = &readers()[0];
        let context = Context { session: &session, entries: &entries, outline: &outline, options };
        for (index, entry) in entries.iter().enumerate() {
            let mut html = Html::default();
            entry_html::entry(&context, index, &mut html);
            markup::check_piece(html.as_str(), &format!("{} of {text:.60?}", entry.id));
        }
    }
}

#[test]
fn names_of_entries_are_harmless() {
    for (_, text) in strings::all() {
        let mut entries: Vec<Entry> = fields::all("x").into_iter().map(|field| field.entry).collect();
        for entry in &mut entries {
            entry.id = format!("{}{text}", entry.id).into();
            entry.message = Some(text.as_str().into());
            entry.parent = entry.parent.as_ref().map(|parent| format!("{parent}{text}").into());
            entry.group = entry.group.as_ref().map(|group| format!("{group}{text}").into());
        }
        harmless(&readers()[..1], &Session::default(), &entries, &format!("{text:.60?}"));
    }
}

/// A line with `text` in place of a word.
fn with(line: &str, word: &str, text: &str) -> String {
    let quoted = Value::from(text).to_string();
    line.replace(word, &quoted[1..quoted.len() - 1])
}

#[test]
fn what_agents_say_and_tools_print_is_harmless_in_every_format() {
    for format in Format::ALL {
        for (trick, text) in strings::all() {
            let said = sessions::lines(format)
                .iter()
                .map(|line| with(line, &sessions::reply(format), &text))
                .collect::<Vec<_>>();
            let lines =
                said.iter().map(|line| with(line, &sessions::output(format), &text)).collect::<Vec<_>>();
            let whole = Whole::read(Some(format), &sessions::join(&lines));
            let context = format!("{} {text:.60?}", format.name());
            let texts = harmless(&readers()[..1], whole.transcript.session(), whole.entries(), &context);
            if trick == Trick::Markup {
                // Where the input is JSON in a string, a quote ends it.
                let times = if text.contains('"') { 1 } else { 2 };
                let shown = texts.values().filter(|found| squeezed(found).contains(&squeezed(&text))).count();
                assert!(shown >= times, "{context}: {texts:?}");
            }
        }
    }
}

/// Gives a copy of `value` for each string and each key in it, with `text` in its place.
fn replaced(value: &Value, text: &str, give: &mut dyn FnMut(Value)) {
    match value {
        Value::String(_) => give(text.into()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                replaced(item, text, &mut |changed| {
                    let mut copy = items.clone();
                    copy[index] = changed;
                    give(copy.into());
                });
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                replaced(member, text, &mut |changed| {
                    let mut copy = members.clone();
                    copy.insert(key.clone(), changed);
                    give(copy.into());
                });
                let renamed = members.iter().map(|(other, member)| {
                    (if other == key { text.to_owned() } else { other.clone() }, member.clone())
                });
                give(Value::Object(renamed.collect()));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn every_string_of_every_record_is_harmless() {
    for format in Format::ALL {
        let lines = sessions::lines(format);
        for index in 0..lines.len() {
            let (prefix, json) = lines[index].split_at(lines[index].find('{').unwrap_or_default());
            let Ok(record) = serde_json::from_str::<Value>(json) else { continue };
            replaced(&record, POLYGLOT, &mut |changed| {
                let mut copy = lines.clone();
                copy[index] = format!("{prefix}{changed}");
                let whole = Whole::read(Some(format), &sessions::join(&copy));
                let page = page::page(whole.transcript.session(), whole.entries(), &readers()[1]);
                markup::check_page(page.as_str(), &copy[index]);
                let text = terminal::transcript(
                    whole.transcript.session(),
                    whole.entries(),
                    &readers()[1],
                    80,
                    Paint { colour: true },
                );
                screen::check_coloured(&text, &copy[index]);
            });
        }
    }
}

#[test]
fn lines_that_are_no_records_are_harmless_and_readable() {
    for (trick, text) in strings::all().into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        let whole = Whole::read(Some(Format::ClaudeStream), format!("x {text}").as_bytes());
        let texts =
            harmless(&readers()[..1], whole.transcript.session(), whole.entries(), &format!("{text:.60?}"));
        if trick != Trick::Long {
            let found: String = texts.values().map(|found| squeezed(found)).collect();
            let line = text.lines().next().unwrap_or_default();
            assert!(found.contains(&squeezed(&visible(line))), "{text:?}: {found}");
        }
    }
}
