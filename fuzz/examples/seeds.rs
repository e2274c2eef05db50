//! Writes the seed corpus: the small sessions that the suites read, and a few texts for the renderers.

use std::path::Path;

use parlor_dialect::Format;
use parlor_tests::sessions;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let write = |target: &str, name: &str, bytes: &[u8]| {
        let folder = corpus.join(target);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(name), bytes)
    };
    for format in Format::ALL {
        for target in [&format.name().replace('-', "_"), "render_html", "terminal"] {
            write(target, format.name(), &sessions::file(format))?;
            for (number, line) in sessions::lines(format).iter().enumerate() {
                write(target, &format!("{}-{number}", format.name()), line.as_bytes())?;
            }
        }
    }
    let sessions = Format::ALL.map(|format| (format.name(), sessions::lines(format)));
    for (number, log) in parlor_fuzz::house::seeds(&sessions).iter().enumerate() {
        write("house", &format!("log-{number}"), log)?;
    }
    for (target, texts) in [("markdown", &MARKDOWN[..]), ("ansi", &ANSI), ("diff", &DIFF)] {
        for (number, text) in texts.iter().enumerate() {
            write(target, &format!("text-{number}"), text.as_bytes())?;
        }
    }
    Ok(())
}

const MARKDOWN: [&str; 9] = [
    "# Title\n\nWords *soft* **loud** ~~gone~~ `code` <https://a.test> [link](https://b.test \"t\") ![alt](x.png)\n",
    "- one\n  - two\n    1. three\n- [x] done\n- [ ] open\n\n> quote\n> > deeper\n",
    "| a | b |\n|:--|--:|\n| 1 | `|` |\n",
    "```rust\nfn main() { println!(\"{}\", 'x'); } // end\n```\n~~~sh\nls | wc -l # count\n~~~\n",
    "<b onclick=\"x\">raw</b>\n\n<!-- note -->\n\n<script>x</script>\n",
    "[a][r] [r] &amp; &#60; \\* a\\\nb  \nc\n\n[r]: https://c.test 'title'\n",
    "Setext\n===\n\n---\n\n    indented\n\nmail <a@b.test> http://d.test/e_(f).\n",
    "```json\n{\"a\": [1, true, null, \"x\\n\"]}\n```\n```diff\n- a\n+ b\n@@ -1 +1 @@\n```\n```python\n'''x\n",
    "|lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem` ` **x**|b ☝`\u{fe0f}` ` `|\n|-|-|\n|`   ` ` ` a|日本` `|\n",
];

const ANSI: [&str; 5] = [
    "\x1b[1;31mred\x1b[0m \x1b[38;5;208mmany\x1b[39m \x1b[48;2;1;2;3mtrue\x1b[m\n",
    "10%\r20%\r\x1b[2Kdone\n\x1b[1A\x1b[Kup\x08\x08ab\n",
    "\x1b]0;title\x07\x1b]8;;https://a.test\x1b\\link\x1b]8;;\x1b\\\n\x1bPq#0\x1b\\",
    "\u{9b}31mc1\u{9b}0m \x1b[4:3mcurly\x1b[0m \x1b[7mturned\x1b[27m\tx\n",
    "\x1b[38;5m\x1b[99999999999m\x1b[;;;m\x1b[?25l\x1b(B\x1b",
];

const DIFF: [&str; 4] = [
    "fn a() {}\nfn b() {}\n\0fn a() {}\nfn c(x: u8) {}\nfn d() {}\n",
    "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -41,2 +41,3 @@ fn x\n keep\n-old word\n+new word\n+more\n\\ No newline at end of file\n",
    "*** Begin Patch\n*** Update File: a.rs\n@@ fn x\n-a\n+b\n*** Add File: b.rs\n+c\n*** Delete File: d.rs\n*** End Patch\n",
    "same\r\n\té😀 one two three\n\0same\n\té😀 one 2 three\r\n",
];
