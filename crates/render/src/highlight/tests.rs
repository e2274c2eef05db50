//! The highlighter as a whole: tokens by language, text kept whole, hostile input.

use super::languages::LANGUAGES;
use super::*;

/// The tokens as `class:text`, without those that only a reader of the whole line would miss.
fn marked(language: &str, code: &str) -> Vec<String> {
    let mut out = Vec::new();
    tokens(language, code, &mut |token, range| {
        let class = match token {
            Token::Comment => "c",
            Token::String => "s",
            Token::Number => "n",
            Token::Keyword => "k",
            Token::Type => "y",
            Token::Function => "f",
            Token::Meta => "a",
            Token::Added => "+",
            Token::Removed => "-",
        };
        out.push(format!("{class}:{}", &code[range]));
    });
    out
}

#[test]
fn tokens_by_language() {
    for (language, code, expected) in [
        ("rust", "fn a<'x>(b: &'x str) -> Vec<u8> {}", "k:fn y:str y:Vec y:u8"),
        ("rust", "let c = '\\''; // done", "k:let s:'\\'' c:// done"),
        (
            "rust",
            "r#\"a\"b\"# br\"c\" b'x' 'é' 1..2 1.5e-3f64 0xffu8",
            "s:r#\"a\"b\"# s:br\"c\" s:b'x' s:'é' n:1 n:2 n:1.5e-3f64 n:0xffu8",
        ),
        ("rust", "#[derive(Debug)] println!(\"x\")", "a:#[ a:derive a:Debug f:println! s:\"x\""),
        ("rust", "/* a /* b */ c */ x", "c:/* a /* b */ c */"),
        ("python", "@app.get\ndef f(x: int): # hi", "a:@app.get k:def f:f y:int c:# hi"),
        ("python", "f'a{b(1)}c' + rb\"\\\"\"", "s:f'a f:b n:1 s:c' s:rb\"\\\"\""),
        ("python", "\"\"\"doc\n\"quoted\" \"\"\" x", "s:\"\"\"doc\n\"quoted\" \"\"\""),
        ("python", "match x:\n  case 1: pass\nmatch = 2", "k:match k:case n:1 k:pass n:2"),
        ("javascript", "a = b / c / d; e = /[/]x/g.test(f)", "s:/[/]x/g f:test"),
        ("js", "`a${b + `c${1}`}d` // e", "s:`a s:`c n:1 s:` s:d` c:// e"),
        (
            "js",
            "x.default({ delete: 1, from: 2 }); import a from 'b'",
            "f:default n:1 n:2 k:import k:from s:'b'",
        ),
        ("ts", "type A = { type: string }; x as const", "k:type y:A y:string k:as k:const"),
        ("go", "x := `a\nb` + 'c'; func (t *T) F() {}", "s:`a\nb` s:'c' k:func y:T y:F"),
        (
            "java",
            "@Override public int a() { return \"b\\\"\"; }",
            "a:@Override k:public y:int f:a k:return s:\"b\\\"\"",
        ),
        (
            "c",
            "#include <a.h>\n#  define X 1'000 /* c */",
            "k:#include s:<a.h> k:#  define n:1'000 c:/* c */",
        ),
        ("c++", "R\"x(a\")\")x\" std::string s;", "s:R\"x(a\")\")x\""),
        ("c#", "$\"a{b:x}c{{\" @\"d\\\" e", "s:$\"a s:c{{\" s:@\"d\\\""),
        (
            "bash",
            "FOO=bar git commit -m \"a $HOME $(ls -l)\" # c",
            "a:FOO f:git a:-m s:\"a  a:$HOME s:  f:ls a:-l s:\" c:# c",
        ),
        ("bash", "for x in a; do echo ${x#y} 2>&1; done", "k:for k:in k:do f:echo a:${x#y} n:2 k:done"),
        ("bash", "cat <<'EOF' | wc\nif a\nEOF\nls", "f:cat s:'EOF' f:wc s:if a\nEOF f:ls"),
        ("json", "{\"a\": [1, -2.5e3, true, \"b\"]}", "a:\"a\" n:1 n:2.5e3 k:true s:\"b\""),
        ("yaml", "a: don't # c\n- b-c: 'd'\n", "a:a c:# c a:b-c s:'d'"),
        ("toml", "a.b = \"c\" # d\n[e]\nf = 1", "a:a.b s:\"c\" c:# d a:f n:1"),
        ("css", "@media x { a:hover { color: #fff; width: 10%; } }", "k:@media a:color n:#fff a:width n:10%"),
        ("sql", "SELECT 'it''s' From t -- c", "k:SELECT s:'it' s:'s' k:From c:-- c"),
        ("html", "<a href=\"x\">y</a><!-- c -->", "k:a a:href s:\"x\" k:a c:<!-- c -->"),
        ("html", "<script>let a = '<b>'</script>", "k:script k:let s:'<b>' k:script"),
        ("diff", "--- a\n+++ b\n@@ x\n c\n-d\n+e", "a:--- a a:+++ b a:@@ x -:-d +:+e"),
        ("markdown", "# A\n- b `c`\n```x\nd\n```", "k:# A k:- s:`c` a:```x s:d a:```"),
        ("swift", "\"a\\(b(1))c\"", "s:\"a f:b n:1 s:c\""),
        ("ruby", "x = \"a#{b}\" if /c/ =~ d", "s:\"a s:\" k:if s:/c/"),
        ("src/lib.rs", "fn", "k:fn"),
        ("nosuch", "fn \"a\"", ""),
    ] {
        let expected: Vec<&str> = expected.split(' ').collect();
        assert_eq!(marked(language, code).join(" "), expected.join(" "), "{language}: {code}");
    }
}

#[test]
fn files_have_languages() {
    for (path, language) in [
        ("src/main.rs", "rust"),
        ("C:\\a\\B.PY", "python"),
        ("a/Dockerfile", "dockerfile"),
        ("x.tar.yml", "yaml"),
        ("README", ""),
        ("", ""),
        ("a.b/c", ""),
        (".rs", "rust"),
        ("é", ""),
    ] {
        assert_eq!(language_of_path(path), language, "{path}");
    }
}

#[test]
fn word_lists_are_sorted_and_names_are_unique() {
    let mut names: Vec<&str> = LANGUAGES.iter().flat_map(|language| language.names).copied().collect();
    let mut files: Vec<&str> = LANGUAGES.iter().flat_map(|language| language.files).copied().collect();
    for list in [&mut names, &mut files] {
        list.sort_unstable();
        assert!(list.windows(2).all(|pair| pair[0] != pair[1]), "{list:?}");
    }
    for language in LANGUAGES {
        if let Grammar::Code(rules) = language.grammar {
            for list in [rules.keywords, rules.soft, rules.types] {
                assert!(list.is_sorted(), "{}", language.name());
            }
        }
    }
}

const HOSTILE: [&str; 40] = [
    "/*",
    "*/",
    "//",
    "\"",
    "'",
    "`",
    "\\",
    "${",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    "/[",
    "r#\"",
    "\"#",
    "R\"x(",
    "<<EOF\n",
    "EOF\n",
    "<<",
    "#",
    "#[",
    "@",
    "@\"",
    "$\"{",
    "f\"{",
    "\"\"\"",
    "'''",
    "<!--",
    "<script>",
    "</",
    "<a b='",
    "é",
    "😀'",
    "\n",
    " ",
    "0x",
    "1.",
    "#include <",
];

#[test]
fn tokens_are_in_order_and_whole_whatever_comes() {
    let mut seed = 7u32;
    for language in LANGUAGES {
        for _ in 0..200 {
            let mut code = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                code.push_str(HOSTILE[(seed >> 16) as usize % HOSTILE.len()]);
                code.push_str(["", "a", " for ", "x1"][(seed >> 8) as usize % 4]);
            }
            let mut done = 0;
            tokens(language.name(), &code, &mut |_, range| {
                assert!(
                    done <= range.start && range.start < range.end && range.end <= code.len(),
                    "{code:?}"
                );
                assert!(code.get(range.clone()).is_some(), "{} {code:?}", language.name());
                done = range.end;
            });
            let mut html = Html::default();
            to_html(language.name(), &code, &mut html);
            let mut plain = Html::default();
            plain.text(&code);
            assert_eq!(without_spans(html.as_str()), plain.as_str(), "{}", language.name());
            assert_eq!(
                crate::ansi::to_plain(&to_terminal(language.name(), &code, Paint { colour: true })),
                to_terminal(language.name(), &code, Paint { colour: false }),
            );
        }
    }
}

fn without_spans(html: &str) -> String {
    html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect()
}

/// Repeats each hostile piece and compares the time of one size with that of four: run by hand in a release build.
#[test]
#[ignore = "measures time"]
#[allow(clippy::disallowed_methods)]
fn measure_hostile_input() {
    for language in LANGUAGES {
        for first in HOSTILE {
            for second in ["", "a", "/", "[", "\"", "{"] {
                let code = format!("{first}{second}").repeat(BYTES_MAX / (first.len() + second.len()));
                let start = std::time::Instant::now();
                tokens(language.name(), &code, &mut |_, _| {});
                let time = start.elapsed();
                assert!(time.as_millis() < 250, "{} {first:?} {second:?}: {time:?}", language.name());
            }
        }
    }
}

#[test]
fn big_code_is_plain() {
    assert!(marked("rust", &"fn ".repeat(BYTES_MAX)).is_empty());
}
