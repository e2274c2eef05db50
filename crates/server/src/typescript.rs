//! The wire's types for scripts, made from the same schemas as everything else. It knows as much JSON Schema as our own
//! types make, and says `unknown` to the rest.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::openapi::Schemas;
use crate::routes::{Answer, table};

/// The declarations of all types on the wire.
pub fn declarations() -> String {
    let mut schemas = Schemas::at("/$defs");
    schemas.add_frames();
    for route in table() {
        route.body.iter().for_each(|make| drop(make(&mut schemas.asked)));
        if let Answer::Json(make) = route.answer {
            let _ = make(&mut schemas.told);
        }
    }
    let mut out = String::from(
        "// The types on the wire. Made from the server's own types by `UPDATE=1 cargo test -p parlor-server --test wire`;\n\
         // do not edit.\n",
    );
    for (name, schema) in &schemas.definitions() {
        // The value of any type has no name in scripts.
        if name == "AnyValue" {
            continue;
        }
        out.push('\n');
        comment(&mut out, schema, "");
        let kind = kind(schema, "");
        let space = if kind.starts_with('\n') { "" } else { " " };
        let _ = writeln!(out, "export type {name} ={space}{kind};");
    }
    out
}

fn comment(out: &mut String, schema: &Value, indent: &str) {
    if let Some(words) = schema.get("description").and_then(Value::as_str) {
        let words = words.replace("*/", "*\u{200b}/").replace('\n', " ");
        let _ = writeln!(out, "{indent}/** {words} */");
    }
}

/// The type of a schema.
fn kind(schema: &Value, indent: &str) -> String {
    let Some(schema) = schema.as_object() else { return "unknown".to_owned() };
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or_default();
        return if name == "AnyValue" { "unknown".to_owned() } else { name.to_owned() };
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(kinds) = schema.get(key).and_then(Value::as_array) {
            let kinds =
                kinds.iter().map(|one| format!("\n{indent}  | {}", kind(one, &format!("{indent}    "))));
            let union: String = match kinds.len() {
                0..=2 if kinds.clone().all(|one| !one.contains('{')) => {
                    kinds.map(|one| one.trim().to_owned()).collect::<Vec<_>>().join(" ")
                }
                _ => kinds.collect(),
            };
            let union = union.strip_prefix("| ").unwrap_or(&union).to_owned();
            // Fields beside a union are those that all its kinds share.
            return match schema.contains_key("properties") {
                true => format!("{} & ({union}\n{indent})", object(schema, indent)),
                false => union,
            };
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => named(name, schema, indent),
        Some(Value::Array(names)) => {
            let kinds = names.iter().filter_map(Value::as_str).map(|name| named(name, schema, indent));
            kinds.collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn named(name: &str, schema: &Map<String, Value>, indent: &str) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "string" | "boolean" | "null" => name.to_owned(),
        "array" => array(schema, indent),
        "object" => object(schema, indent),
        _ => "unknown".to_owned(),
    }
}

fn array(schema: &Map<String, Value>, indent: &str) -> String {
    if let Some(items) = schema.get("prefixItems").and_then(Value::as_array) {
        let items: Vec<String> = items.iter().map(|item| kind(item, indent)).collect();
        return format!("[{}]", items.join(", "));
    }
    let item = schema.get("items").map_or_else(|| "unknown".to_owned(), |items| kind(items, indent));
    if item.contains([' ', '|']) && !item.starts_with('[') {
        format!("({item})[]")
    } else {
        format!("{item}[]")
    }
}

fn object(schema: &Map<String, Value>, indent: &str) -> String {
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return "{ [name: string]: unknown }".to_owned();
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let inner = format!("{indent}  ");
    let mut out = String::from("{\n");
    for (name, field) in fields {
        comment(&mut out, field, &inner);
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        let _ = writeln!(out, "{inner}{name}{mark}: {};", kind(field, &inner));
    }
    let _ = write!(out, "{indent}}}");
    out
}
