use super::*;

fn read(json: &str) -> Vec<Content> {
    let line = Line::new(Bytes::copy_from_slice(json.as_bytes()));
    contents(&mut Reader::new(line.bytes()), &line)
}

fn said(json: &str) -> String {
    let mut said = Vec::new();
    for content in read(json) {
        said.push(match content {
            Content::Text(text) => format!("text {text}"),
            Content::Thinking { text, redacted } => {
                format!("thinking {text}{}", if redacted { "redacted" } else { "" })
            }
            Content::Call { id, name, input } => {
                format!("call {} {name} {}", id.unwrap_or_default(), input.lossy())
            }
            Content::Result(outcome) => {
                format!("result {} {} {}", outcome.id, outcome.failed, outcome.output.joined())
            }
            Content::Attachment { attachment, .. } => format!("attachment {}", attachment.media_type),
            Content::Other { kind, .. } => format!("other {kind}"),
        });
    }
    said.join("; ")
}

#[test]
fn blocks_are_known_by_type_or_by_their_keys() {
    for (json, expected) in [
        (r#""plain""#, "text plain"),
        (r#"null"#, ""),
        (r#"[{"text":"a","type":"text"},{"text":"b"},"c"]"#, "text a; text b; text c"),
        (
            r#"[{"type":"thinking","thinking":"hm","signature":"x"},{"thinking":"hm","signature":"x"}]"#,
            "thinking hm; thinking hm",
        ),
        (
            r#"[{"type":"thinking","text":"hm"},{"type":"redacted_thinking","data":"x"}]"#,
            "thinking hm; thinking redacted",
        ),
        (r#"[{"id":"t1","name":"Bash","input":{"command":"ls"}}]"#, r#"call t1 Bash {"command":"ls"}"#),
        (
            r#"[{"type":"tool_use","tool_id":"t1","tool_name":"Bash","tool_input":"{\"a\":1}"}]"#,
            r#"call t1 Bash {"a":1}"#,
        ),
        (r#"[{"tool_use_id":"t1","content":"out","is_error":null}]"#, "result t1 false out"),
        (
            r#"[{"type":"tool_result","id":"t1","output":[{"type":"text","text":"a"},{"text":"b"}],"success":false}]"#,
            "result t1 true a\nb",
        ),
        (
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#,
            "attachment image/png",
        ),
        (
            r#"[{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"new"},7,{}]"#,
            "result s false ; other new; other untyped; other untyped",
        ),
        (r#"[{"type":"text"},{"type":7,"text":"x"}]"#, "other text; text x"),
    ] {
        assert_eq!(said(json), expected, "{json}");
    }
}

#[test]
fn pictures_belong_to_the_first_words_of_their_message() {
    let contents = read(
        r#"[{"type":"image","source":{"type":"url","url":"u"}},{"type":"text","text":"look"},{"type":"text","text":"again"}]"#,
    );
    let mut out = Vec::new();
    assert!(Place { key: "m".into(), ..Place::default() }.ask(contents, &mut out));
    let counts = out.iter().map(|event| match event {
        Event::Put { block: Block::Prompt(prompt), .. } => {
            (prompt.text.to_string(), prompt.attachments.len())
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(counts.collect::<Vec<_>>(), [("look".to_owned(), 1), ("again".to_owned(), 0)]);
}

#[test]
fn a_structured_patch_keeps_its_line_numbers() {
    let line = Line::new(Bytes::from_static(br#"{"filePath":"/a","structuredPatch":[{"oldStart":41,"newStart":"42","lines":[" x","-y","+z",7]}]}"#));
    let patches = patches(&mut Reader::new(line.bytes()), &line);
    assert_eq!((patches[0].hunks[0].old_start, patches[0].hunks[0].new_start), (41, 42));
    assert_eq!(patches[0].hunks[0].lines.len(), 3);
}
