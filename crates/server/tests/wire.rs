//! The wire's types are those that the page is written against, and the document that describes them is whole.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

#[test]
fn the_pages_types_are_those_of_the_server() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/wire.d.ts");
    let made = parlor_server::declarations();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "web/wire.d.ts is stale; run `UPDATE=1 cargo test -p parlor-server --test wire`");
    for name in ["export type Ask =", "export type Tell =", "export type State =", "export type Ordered ="] {
        assert!(made.contains(name), "{name}");
    }
}

/// Every `$ref` of a document leads somewhere.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn the_openapi_document_is_whole() {
    let document = parlor_server::document();
    assert_eq!(document["openapi"], "3.1.0");
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("a reference into the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let mut names = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            assert!(["get", "post"].contains(&method.as_str()), "{method} {path}");
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
            assert!(operation["responses"]["200"]["description"].is_string());
            let in_path =
                operation["parameters"].as_array().unwrap().iter().filter(|one| one["in"] == "path");
            assert_eq!(in_path.count(), path.matches('{').count(), "{path}");
        }
    }
    for frame in ["Ask", "Tell"] {
        assert!(document["components"]["schemas"][frame].is_object());
    }
}

#[test]
fn the_document_names_every_route_of_the_protocol() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../PROTOCOL.md");
    let protocol = std::fs::read_to_string(path).unwrap();
    let document = parlor_server::document();
    let mut told = BTreeSet::new();
    for line in protocol.lines().filter_map(|line| line.strip_prefix("| `")) {
        let route = line.split('`').next().unwrap();
        let Some((method, path)) = route.split_once(' ').filter(|(_, path)| path.starts_with("/api")) else {
            continue;
        };
        let path = path.split('?').next().unwrap().replace("ENTRY", "{entry}").replace("ID", "{id}");
        let operation = &document["paths"][path.as_str()][method.to_lowercase().as_str()];
        assert!(operation.is_object(), "PROTOCOL.md tells {method} {path}, which does not exist");
        told.insert(format!("{} {path}", method.to_lowercase()));
    }
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            assert!(told.contains(&format!("{method} {path}")), "PROTOCOL.md does not tell {method} {path}");
        }
    }
}
