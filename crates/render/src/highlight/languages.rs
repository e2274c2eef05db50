//! The languages, as data. Word lists are sorted, which a test checks; a new language is a new table here.

use super::language::{Block, Code, Grammar, Heredoc, Inside, Language, NOTHING, Prefixes, Quote};

/// Every language that is marked.
pub(super) static LANGUAGES: &[Language] = &[
    Language { names: &["rust", "rs"], files: &[".rs"], grammar: Grammar::Code(&RUST) },
    Language {
        names: &["python", "py", "python3", "pycon", "ipython"],
        files: &[".py", ".pyi", ".pyw"],
        grammar: Grammar::Code(&PYTHON),
    },
    Language {
        names: &["javascript", "js", "jsx", "mjs", "cjs", "node"],
        files: &[".js", ".jsx", ".mjs", ".cjs"],
        grammar: Grammar::Code(&JAVASCRIPT),
    },
    Language {
        names: &["typescript", "ts", "tsx", "mts", "cts"],
        files: &[".ts", ".tsx", ".mts", ".cts"],
        grammar: Grammar::Code(&TYPESCRIPT),
    },
    Language { names: &["go", "golang"], files: &[".go"], grammar: Grammar::Code(&GO) },
    Language { names: &["java"], files: &[".java"], grammar: Grammar::Code(&JAVA) },
    Language { names: &["c", "h"], files: &[".c", ".h"], grammar: Grammar::Code(&C) },
    Language {
        names: &["cpp", "c++", "cc", "cxx", "hpp", "objective-c", "objc", "cuda", "arduino"],
        files: &[".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ino", ".cu", ".m", ".mm"],
        grammar: Grammar::Code(&CPP),
    },
    Language { names: &["csharp", "cs", "c#"], files: &[".cs", ".csx"], grammar: Grammar::Code(&CSHARP) },
    Language {
        names: &["ruby", "rb"],
        files: &[".rb", ".rake", ".gemspec", "gemfile", "rakefile"],
        grammar: Grammar::Code(&RUBY),
    },
    Language { names: &["php"], files: &[".php", ".phtml"], grammar: Grammar::Code(&PHP) },
    Language {
        names: &["shell", "bash", "sh", "zsh", "ksh", "console", "shellsession", "shell-session", "terminal", "fish"],
        files: &[".sh", ".bash", ".zsh", ".ksh", ".bashrc", ".zshrc", ".profile", ".fish"],
        grammar: Grammar::Code(&SHELL),
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl", "ndjson"],
        files: &[".json", ".jsonc", ".json5", ".jsonl", ".ndjson", ".webmanifest"],
        grammar: Grammar::Code(&JSON),
    },
    Language { names: &["yaml", "yml"], files: &[".yaml", ".yml"], grammar: Grammar::Code(&YAML) },
    Language {
        names: &["toml", "ini", "conf", "cfg", "properties", "dotenv", "editorconfig"],
        files: &[".toml", ".ini", ".cfg", ".conf", ".properties", ".lock", ".env", ".editorconfig"],
        grammar: Grammar::Code(&TOML),
    },
    Language {
        names: &["css", "scss", "less", "sass"],
        files: &[".css", ".scss", ".less", ".sass"],
        grammar: Grammar::Code(&CSS),
    },
    Language {
        names: &["sql", "mysql", "postgres", "postgresql", "psql", "plsql", "sqlite", "tsql"],
        files: &[".sql"],
        grammar: Grammar::Code(&SQL),
    },
    Language { names: &["kotlin", "kt", "kts"], files: &[".kt", ".kts"], grammar: Grammar::Code(&KOTLIN) },
    Language { names: &["swift"], files: &[".swift"], grammar: Grammar::Code(&SWIFT) },
    Language {
        names: &["dockerfile", "docker"],
        files: &["dockerfile", "containerfile"],
        grammar: Grammar::Code(&DOCKERFILE),
    },
    Language { names: &["lua"], files: &[".lua"], grammar: Grammar::Code(&LUA) },
    Language {
        names: &["html", "xml", "svg", "xhtml", "vue", "svelte", "plist"],
        files: &[".html", ".htm", ".xml", ".svg", ".xhtml", ".vue", ".svelte", ".plist", ".xsd", ".xsl", ".csproj"],
        grammar: Grammar::Markup,
    },
    Language {
        names: &["markdown", "md", "mdx"],
        files: &[".md", ".markdown", ".mdx"],
        grammar: Grammar::Markdown,
    },
    Language { names: &["diff", "patch", "udiff"], files: &[".diff", ".patch"], grammar: Grammar::Diff },
];

const SLASHES: Option<Block> = Some(Block { open: "/*", close: "*/", nested: false });
const NESTED_SLASHES: Option<Block> = Some(Block { open: "/*", close: "*/", nested: true });

/// A string in one line with escapes.
const fn line(sign: &'static str) -> Quote {
    Quote { open: sign, close: sign, escapes: true, lines: false, inside: Inside::Nothing }
}

/// A string that goes on over line ends, with escapes.
const fn lines(sign: &'static str) -> Quote {
    Quote { open: sign, close: sign, escapes: true, lines: true, inside: Inside::Nothing }
}

/// A string in which a backslash is a backslash.
const fn raw(sign: &'static str) -> Quote {
    Quote { open: sign, close: sign, escapes: false, lines: true, inside: Inside::Nothing }
}

/// A string that holds code.
const fn holding(sign: &'static str, inside: Inside, lines: bool) -> Quote {
    Quote { open: sign, close: sign, escapes: true, lines, inside }
}

static RUST: Code = Code {
    keywords: &[
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
        "false", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro_rules", "match", "mod",
        "move", "mut", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "type",
        "unsafe", "use", "where", "while", "yield",
    ],
    soft: &["auto", "default", "raw", "union"],
    types: &[
        "Self", "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "str", "u128",
        "u16", "u32", "u64", "u8", "usize",
    ],
    line_comments: &["//"],
    block_comment: NESTED_SLASHES,
    strings: &[lines("\"")],
    capital_types: true,
    lifetimes: true,
    attributes: true,
    macros: true,
    prefixes: Prefixes::Rust,
    ..NOTHING
};

static PYTHON: Code = Code {
    keywords: &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
        "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in",
        "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ],
    soft: &["case", "match", "type"],
    types: &[
        "bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "object",
        "set", "str", "tuple",
    ],
    line_comments: &["#"],
    strings: &[lines("\"\"\""), lines("'''"), line("\""), line("'")],
    capital_types: true,
    soft_starts_line: true,
    decorators: true,
    prefixes: Prefixes::Python,
    ..NOTHING
};

pub(super) static JAVASCRIPT: Code = Code {
    keywords: &[
        "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
        "do", "else", "export", "extends", "false", "finally", "for", "function", "if", "import", "in",
        "instanceof", "let", "new", "null", "return", "super", "switch", "this", "throw", "true", "try",
        "typeof", "undefined", "var", "void", "while", "with", "yield",
    ],
    soft: &["as", "async", "from", "get", "of", "set", "static"],
    line_comments: &["//"],
    block_comment: SLASHES,
    strings: &[line("\""), line("'"), holding("`", Inside::DollarBrace, true)],
    capital_types: true,
    members_are_names: true,
    regex: true,
    decorators: true,
    word_signs: b"$",
    ..NOTHING
};

static TYPESCRIPT: Code = Code {
    keywords: &[
        "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
        "do", "else", "export", "extends", "false", "finally", "for", "function", "if", "import", "in",
        "instanceof", "let", "new", "null", "return", "super", "switch", "this", "throw", "true", "try",
        "typeof", "undefined", "var", "void", "while", "with", "yield",
    ],
    soft: &[
        "abstract", "accessor", "as", "asserts", "async", "declare", "enum", "from", "get", "global",
        "implements", "infer", "interface", "is", "keyof", "module", "namespace", "of", "override",
        "private", "protected", "public", "readonly", "satisfies", "set", "static", "type", "unique",
    ],
    types: &["any", "bigint", "boolean", "never", "number", "object", "string", "symbol", "unknown"],
    line_comments: &["//"],
    block_comment: SLASHES,
    strings: &[line("\""), line("'"), holding("`", Inside::DollarBrace, true)],
    capital_types: true,
    members_are_names: true,
    regex: true,
    decorators: true,
    word_signs: b"$",
    ..NOTHING
};

static GO: Code = Code {
    keywords: &[
        "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "false",
        "for", "func", "go", "goto", "if", "import", "interface", "iota", "map", "nil", "package", "range",
        "return", "select", "struct", "switch", "true", "type", "var",
    ],
    types: &[
        "any", "bool", "byte", "comparable", "complex128", "complex64", "error", "float32", "float64",
        "int", "int16", "int32", "int64", "int8", "rune", "string", "uint", "uint16", "uint32", "uint64",
        "uint8", "uintptr",
    ],
    line_comments: &["//"],
    block_comment: SLASHES,
    strings: &[line("\""), line("'"), raw("`")],
    capital_types: true,
    ..NOTHING
};

static JAVA: Code = Code {
    keywords: &[
        "abstract", "assert", "break", "case", "catch", "class", "continue", "default", "do", "else",
        "enum", "extends", "false", "final", "finally", "for", "goto", "if", "implements", "import",
        "instanceof", "interface", "native", "new", "null", "package", "private", "protected", "public",
        "return", "static", "strictfp", "super", "switch", "synchronized", "this", "throw", "throws",
        "transient", "true", "try", "volatile", "while",
    ],
    soft: &[
        "exports", "module", "open", "opens", "permits", "provides", "record", "requires", "sealed", "uses",
        "when", "yield",
    ],
    types: &["boolean", "byte", "char", "double", "float", "int", "long", "short", "var", "void"],
    line_comments: &["//"],
    block_comment: SLASHES,
    strings: &[lines("\"\"\""), line("\""), line("'")],
    capital_types: true,
    decorators: true,
    ..NOTHING
};

static C: Code = Code {
    keywords: &[
        "NULL", "_Alignas", "_Alignof", "_Atomic", "_Generic", "_Noreturn", "_Static_assert",
        "_Thread_local", "alignas", "alignof", "break", "case", "const", "continue", "default", "do",
        "else", "enum", "extern", "false", "for", "goto", "if", "inline", "nullptr", "register", "restrict",
        "return", "sizeof", "static", "static_assert", "struct", "switch", "thread_local", "true",
        "typedef", "union", "volatile", "while",
    ],
    types: &[
        "_Bool", "bool", "char", "double", "float", "int", "int16_t", "int32_t", "int64_t", "int8_t",
        "intptr_t", "long", "ptrdiff_t", "short", "signed", "size_t", "ssize_t", "uint16_t", "uint32_t",
        "uint64_t", "uint8_t", "uintptr_t", "unsigned", "void", "wchar_t",
    ],
    line_comments: &["//"],
    block_comment: SLASHES,
    strings: &[line("\""), line("'")],
    directives: true,
    prefixes: Prefixes::Cpp,
    ..NOTHING
};

static CPP: Code = Code {
    keywords: &[
        "NULL", "_Alignas", "_Alignof", "_Atomic", "_Generic", "_Noreturn", "_Static_assert",
        "_Thread_local", "alignas", "alignof", "asm", "break", "case", "catch", "class", "co_await",
        "co_return", "co_yield", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
        "continue", "decltype", "default", "delete", "do", "dynamic_cast", "else", "enum", "explicit",
        "export", "extern", "false", "final", "for", "friend", "goto", "if", "inline", "mutable",
        "namespace", "new", "noexcept", "nullptr", "operator", "override", "private", "protected", "public",
        "register", "reinterpret_cast", "requires", "restrict", "return", "sizeof", "static",
        "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
        "true", "try", "typedef", "typeid", "typename", "union", "using", "virtual", "volatile", "while",
    ],
    types: &[
        "_Bool", "auto", "bool", "char", "char16_t", "char32_t", "char8_t", "double", "float", "int",
        "int16_t", "int32_t", "int64_t", "int8_t", "intptr_t", "long", "ptrdiff_t", "short", "signed",
        "size_t", "ssize_t", "uint16_t", "uint32_t", "uint64_t", "uint8_t", "uintptr_t", "unsigned", "void",
        "wchar_t",
    ],
    line_comments: &["//"],
    block_comment: SLASHES,
    strings: &[line("\""), line("'")],
    directives: true,
    capital_types: true,
    prefixes: Prefixes::Cpp,
    ..NOTHING
};

static CSHARP: Code = Code {
    keywords: &[
        "abstract", "as", "async", "await", "base", "break", "case", "catch", "checked", "class", "const",
        "continue", "default", "delegate", "do", "else", "enum", "event", "explicit", "extern", "false",
        "finally", "fixed", "for", "foreach", "get", "goto", "if", "implicit", "in", "init", "interface",
        "internal", "is", "lock", "namespace", "new", "null", "operator", "out", "override", "params",
        "private", "protected", "public", "readonly", "ref", "return", "sealed", "set", "sizeof",
        "stackalloc", "static", "struct", "switch", "this", "throw", "true", "try", "typeof", "unchecked",
        "unsafe", "using", "virtual", "volatile", "while",
    ],
    soft: &[
        "add", "alias", "from", "global", "let", "nameof", "notnull", "partial", "record", "remove",
        "required", "select", "unmanaged", "var", "when", "where", "with", "yield",
    ],
    types: &[
        "bool", "byte", "char", "decimal", "double", "dynamic", "float", "int", "long", "nint", "nuint",
        "object", "sbyte", "short", "string", "uint", "ulong", "ushort", "void",
    ],
    line_comments: &["//"],
    block_comment: SLASHES,
    strings: &[raw("\"\"\""), line("\""), line("'")],
    capital_types: true,
    directives: true,
    prefixes: Prefixes::CSharp,
    ..NOTHING
};

static RUBY: Code = Code {
    keywords: &[
        "BEGIN", "END", "__FILE__", "__LINE__", "alias", "and", "attr_accessor", "attr_reader",
        "attr_writer", "begin", "break", "case", "class", "def", "do", "else", "elsif", "end", "ensure",
        "extend", "false", "for", "if", "in", "include", "module", "next", "nil", "not", "or", "private",
        "protected", "public", "raise", "redo", "require", "require_relative", "rescue", "retry", "return",
        "self", "super", "then", "true", "undef", "unless", "until", "when", "while", "yield",
    ],
    line_comments: &["#"],
    block_comment: Some(Block { open: "=begin", close: "=end", nested: false }),
    strings: &[holding("\"", Inside::HashBrace, true), lines("'"), holding("`", Inside::HashBrace, true)],
    capital_types: true,
    members_are_names: true,
    regex: true,
    heredoc: Heredoc::Ruby,
    word_signs: b"@$",
    ..NOTHING
};

static PHP: Code = Code {
    keywords: &[
        "abstract", "and", "array", "as", "break", "callable", "case", "catch", "class", "clone", "const",
        "continue", "declare", "default", "do", "echo", "else", "elseif", "empty", "enddeclare", "endfor",
        "endforeach", "endif", "endswitch", "endwhile", "enum", "eval", "exit", "extends", "false", "final",
        "finally", "fn", "for", "foreach", "function", "global", "goto", "if", "implements", "include",
        "include_once", "instanceof", "insteadof", "interface", "isset", "list", "match", "namespace",
        "new", "null", "or", "parent", "print", "private", "protected", "public", "readonly", "require",
        "require_once", "return", "self", "static", "switch", "throw", "trait", "true", "try", "unset",
        "use", "var", "while", "xor", "yield",
    ],
    types: &["bool", "float", "int", "iterable", "mixed", "never", "object", "string", "void"],
    line_comments: &["//", "#"],
    block_comment: SLASHES,
    strings: &[lines("\""), lines("'"), lines("`")],
    capital_types: true,
    attributes: true,
    any_case: true,
    heredoc: Heredoc::Php,
    word_signs: b"$",
    ..NOTHING
};

static SHELL: Code = Code {
    keywords: &[
        "case", "declare", "do", "done", "elif", "else", "esac", "export", "fi", "for", "function", "if",
        "in", "local", "readonly", "select", "then", "time", "typeset", "unset", "until", "while",
    ],
    line_comments: &["#"],
    strings: &[holding("\"", Inside::Shell, true), raw("'")],
    shell: true,
    needs_gap: true,
    heredoc: Heredoc::Shell,
    word_signs: b"-./+:@%~,^",
    ..NOTHING
};

static JSON: Code = Code {
    keywords: &["Infinity", "NaN", "false", "null", "true", "undefined"],
    line_comments: &["//"],
    block_comment: SLASHES,
    strings: &[line("\""), line("'")],
    key: Some(b':'),
    word_signs: b"$",
    ..NOTHING
};

static YAML: Code = Code {
    keywords: &[
        "FALSE", "False", "NULL", "No", "Null", "Off", "On", "TRUE", "True", "Yes", "false", "no", "null",
        "off", "on", "true", "yes",
    ],
    line_comments: &["#"],
    strings: &[lines("\""), raw("'")],
    needs_gap: true,
    key: Some(b':'),
    word_signs: b"-./$+@%~&*",
    ..NOTHING
};

static TOML: Code = Code {
    keywords: &["false", "inf", "nan", "true"],
    line_comments: &["#", ";"],
    strings: &[lines("\"\"\""), raw("'''"), line("\""), Quote { open: "'", close: "'", escapes: false, lines: false, inside: Inside::Nothing }],
    needs_gap: true,
    key: Some(b'='),
    word_signs: b"-.",
    ..NOTHING
};

pub(super) static CSS: Code = Code {
    keywords: &["important"],
    block_comment: SLASHES,
    strings: &[line("\""), line("'")],
    at_keywords: true,
    key: Some(b':'),
    word_signs: b"-$",
    ..NOTHING
};

static SQL: Code = Code {
    keywords: &[
        "add", "after", "all", "alter", "analyze", "and", "any", "as", "asc", "before", "begin", "between",
        "by", "cascade", "case", "cast", "check", "collate", "column", "commit", "concurrently", "conflict",
        "constraint", "create", "cross", "current_date", "current_timestamp", "database", "declare",
        "default", "deferrable", "delete", "desc", "distinct", "do", "drop", "each", "else", "end",
        "escape", "except", "execute", "exists", "explain", "extension", "false", "fetch", "first",
        "following", "for", "foreign", "from", "full", "function", "grant", "group", "having", "if",
        "ilike", "in", "index", "inner", "insert", "instead", "intersect", "into", "is", "isnull", "join",
        "key", "language", "last", "lateral", "left", "like", "limit", "lock", "materialized", "merge",
        "natural", "new", "no", "not", "nothing", "notnull", "null", "nulls", "of", "off", "offset", "old",
        "on", "only", "or", "order", "outer", "over", "partition", "policy", "preceding", "primary",
        "procedure", "range", "recursive", "references", "release", "rename", "replace", "restrict",
        "return", "returning", "returns", "revoke", "right", "rollback", "row", "rows", "savepoint",
        "schema", "select", "sequence", "set", "show", "similar", "some", "start", "table", "temp",
        "temporary", "then", "to", "transaction", "trigger", "true", "truncate", "union", "unique",
        "update", "using", "vacuum", "values", "view", "virtual", "when", "where", "window", "with",
        "without",
    ],
    types: &[
        "bigint", "binary", "bit", "blob", "bool", "boolean", "bytea", "char", "character", "date",
        "datetime", "decimal", "double", "enum", "float", "int", "int4", "int8", "integer", "interval",
        "json", "jsonb", "money", "nchar", "numeric", "nvarchar", "precision", "real", "serial", "smallint",
        "text", "time", "timestamp", "timestamptz", "tinyint", "uuid", "varbinary", "varchar",
    ],
    line_comments: &["--"],
    block_comment: SLASHES,
    strings: &[raw("'"), raw("\""), raw("`")],
    any_case: true,
    ..NOTHING
};

static KOTLIN: Code = Code {
    keywords: &[
        "abstract", "actual", "annotation", "as", "break", "by", "catch", "class", "companion", "const",
        "constructor", "continue", "crossinline", "data", "do", "else", "enum", "expect", "external",
        "false", "final", "finally", "for", "fun", "get", "if", "import", "in", "infix", "init", "inline",
        "inner", "interface", "internal", "is", "lateinit", "noinline", "null", "object", "open",
        "operator", "out", "override", "package", "private", "protected", "public", "reified", "return",
        "sealed", "set", "super", "suspend", "tailrec", "this", "throw", "true", "try", "typealias", "val",
        "var", "vararg", "when", "where", "while",
    ],
    line_comments: &["//"],
    block_comment: NESTED_SLASHES,
    strings: &[holding("\"\"\"", Inside::DollarBrace, true), holding("\"", Inside::DollarBrace, false), line("'")],
    capital_types: true,
    members_are_names: true,
    decorators: true,
    ..NOTHING
};

static SWIFT: Code = Code {
    keywords: &[
        "actor", "any", "as", "associatedtype", "async", "await", "break", "case", "catch", "class",
        "continue", "convenience", "default", "defer", "deinit", "didSet", "do", "else", "enum",
        "extension", "fallthrough", "false", "fileprivate", "final", "for", "func", "get", "guard", "if",
        "import", "in", "indirect", "infix", "init", "inout", "internal", "is", "isolated", "lazy", "let",
        "mutating", "nil", "nonisolated", "open", "operator", "optional", "override", "postfix",
        "precedencegroup", "prefix", "private", "protocol", "public", "repeat", "required", "rethrows",
        "return", "self", "set", "some", "static", "struct", "subscript", "super", "switch", "throw",
        "throws", "true", "try", "typealias", "unowned", "var", "weak", "where", "while", "willSet",
    ],
    line_comments: &["//"],
    block_comment: NESTED_SLASHES,
    strings: &[holding("\"\"\"", Inside::BackslashParen, true), holding("\"", Inside::BackslashParen, false)],
    capital_types: true,
    members_are_names: true,
    decorators: true,
    directives: true,
    ..NOTHING
};

static DOCKERFILE: Code = Code {
    keywords: &[
        "ADD", "ARG", "AS", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL",
        "MAINTAINER", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
    ],
    line_comments: &["#"],
    strings: &[holding("\"", Inside::Shell, true), raw("'")],
    needs_gap: true,
    ..NOTHING
};

static LUA: Code = Code {
    block_comment: Some(Block { open: "--[[", close: "]]", nested: false }),
    line_comments: &["--"],
    keywords: &[
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in",
        "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    ],
    strings: &[line("\""), line("'"), Quote { open: "[[", close: "]]", escapes: false, lines: true, inside: Inside::Nothing }],
    ..NOTHING
};
