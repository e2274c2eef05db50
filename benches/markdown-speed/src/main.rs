//! How fast Markdown becomes HTML, beside pulldown-cmark's own writer, and how fast command output does. Usage:
//! `cargo run --release -- <folder>…`, where the folders hold Markdown files.

/// The renderer's own files, so that nothing of it has to be public.
#[path = "../../../crates/render/src"]
#[allow(dead_code)]
mod render {
    pub(crate) mod ansi;
    pub(crate) mod highlight;
    pub(crate) mod html;
    pub(crate) mod markdown;
    pub(crate) mod paint;
    pub(crate) mod visible;
}

use std::path::{Path, PathBuf};
use std::time::Instant;

#[allow(unused_imports)]
use render::{ansi, highlight, html, markdown, paint, visible};

fn main() {
    let mut texts = Vec::new();
    std::env::args().skip(1).for_each(|folder| walk(&PathBuf::from(folder), &mut texts));
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{} files, {} KB", texts.len(), bytes / 1000);
    let bare = best(&texts, |text| {
        let options = pulldown_cmark::Options::ENABLE_TABLES
            | pulldown_cmark::Options::ENABLE_STRIKETHROUGH
            | pulldown_cmark::Options::ENABLE_TASKLISTS;
        let mut out = String::with_capacity(text.len() * 3 / 2);
        pulldown_cmark::html::push_html(&mut out, pulldown_cmark::Parser::new_ext(text, options));
        out.len()
    });
    let page = |text: &str| {
        let mut html = html::Html::with_capacity(text.len() * 3 / 2);
        markdown::to_html(text, &mut html);
        html.as_str().len()
    };
    let marked = best(&texts, page);
    let unmarked: Vec<String> = texts.iter().map(|text| without_languages(text)).collect();
    let plain = best(&unmarked, page);
    let terminal = best(&texts, |text| markdown::to_terminal(text, 100, paint::Paint { colour: true }).len());
    let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
    println!("pulldown-cmark's writer    {:>6.0} MB/s", rate(bare));
    println!("ours, code not marked      {:>6.0} MB/s, {:.2} of it", rate(plain), bare / plain);
    println!("ours, code marked          {:>6.0} MB/s, {:.2} of it", rate(marked), bare / marked);
    println!("ours, terminal             {:>6.0} MB/s", rate(terminal));
    let output = ["\x1b[32mok\x1b[0m test sync::backoff::caps_delay ... 14 ms\n".repeat(20_000)];
    let seconds = best(&output, |text| {
        let mut html = html::Html::with_capacity(text.len() * 2);
        ansi::to_html(text, &mut html);
        html.as_str().len()
    });
    println!("command output             {:>6.0} MB/s", output[0].len() as f64 / seconds / 1e6);
}

/// The sum of the best times of each text.
fn best(texts: &[String], mut run: impl FnMut(&str) -> usize) -> f64 {
    let mut once = |text: &str| {
        let start = Instant::now();
        std::hint::black_box(run(text));
        start.elapsed().as_secs_f64()
    };
    texts.iter().map(|text| (0..100).map(|_| once(text)).fold(f64::MAX, f64::min)).sum()
}

fn without_languages(text: &str) -> String {
    let plain = |line: &str| match line.trim_start().starts_with("```") {
        true => "```\n".to_owned(),
        false => line.to_owned(),
    };
    text.split_inclusive('\n').map(plain).collect()
}

fn walk(path: &Path, texts: &mut Vec<String>) {
    if path.extension().is_some_and(|end| end == "md")
        && let Ok(text) = std::fs::read_to_string(path)
        && (1000..200_000).contains(&text.len())
    {
        texts.push(text);
    }
    let Ok(entries) = std::fs::read_dir(path) else { return };
    entries.flatten().filter(|entry| !entry.path().is_symlink()).for_each(|entry| walk(&entry.path(), texts));
}
