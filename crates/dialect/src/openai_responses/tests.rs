use crate::Format::OpenaiResponses as Responses;
use crate::telling::tell;

const CREATED: &str = r#"data: {"type":"response.created","response":{"id":"r","model":"m"}}"#;

fn item(index: u64, item: &str) -> String {
    format!(r#"data: {{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#)
}

#[test]
fn text_belongs_to_its_place_even_when_ids_change() {
    let told = tell(
        Responses,
        &[
            "event: response.created",
            CREATED,
            r#"data: {"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message"}}"#,
            r#"data: {"type":"response.output_text.delta","output_index":0,"item_id":"m2","content_index":0,"delta":"x"}"#,
            &item(0, r#"{"id":"m3","type":"message","content":[{"type":"output_text","text":"x"}]}"#),
            r#"data: {"type":"response.completed","response":{"id":"r","status":"completed","usage":{"input_tokens":5,"output_tokens":1,"input_tokens_details":{"cached_tokens":2}}}}"#,
        ],
    );
    assert_eq!(told, ["start", "m1/0 + x", "m1/0 reply x", "r usage 3+2+1", "done"]);
}

#[test]
fn calls_are_named_by_their_call_id_and_keep_the_turn_open() {
    let told = tell(
        Responses,
        &[
            CREATED,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"f1","type":"function_call","call_id":"c","name":"f","arguments":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f1","delta":"{}"}"#,
            &item(0, r#"{"id":"f1","type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#),
            r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#,
        ],
    );
    assert_eq!(told, ["start", "c tool f  Pending", "c + {}", "c tool f {} Pending"]);
}

#[test]
fn tools_of_the_server_come_with_their_result() {
    let told = tell(
        Responses,
        &[
            CREATED,
            &item(
                0,
                r#"{"id":"w","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}"#,
            ),
            &item(
                1,
                r#"{"id":"m","type":"mcp_call","name":"n","server_label":"s","arguments":"{}","error":"bad"}"#,
            ),
            &item(
                2,
                r#"{"id":"o","type":"shell_call_output","call_id":"c","output":[{"stdout":"out","outcome":{"exit_code":0}}]}"#,
            ),
            &item(3, r#"{"id":"n","type":"novelty"}"#),
        ],
    );
    assert_eq!(
        told,
        [
            "start",
            r#"w tool web_search_call {"action":{"type":"search","query":"q"}} Pending"#,
            "w = Done ",
            "m tool mcp__s__n {} Pending",
            "m = Failed bad",
            "c = Done out",
            "n unknown novelty",
        ]
    );
}

#[test]
fn sealed_reasoning_is_a_hidden_thought_and_an_error_is_said_once() {
    let told = tell(
        Responses,
        &[
            CREATED,
            &item(0, r#"{"id":"t","type":"reasoning","summary":[],"encrypted_content":"x"}"#),
            r#"data: {"type":"error","error":{"message":"no"}}"#,
            r#"data: {"type":"response.failed","response":{"id":"r","status":"failed","error":{"message":"no"}}}"#,
        ],
    );
    assert_eq!(told, ["start", "t/0 thought# ", "failed no"]);
}
