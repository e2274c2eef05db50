//! The REST twin as an OpenAPI document, and the frames of the socket as schemas in it.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::error::ProblemBody;
use crate::routes::{Answer, Parameter, Route, Who, table};
use crate::wire::{Ask, Tell};

/// The OpenAPI 3.1 document.
pub fn document() -> Value {
    let mut schemas = Schemas::at("/components/schemas");
    let problem = schemas.told.subschema_for::<ProblemBody>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for route in table() {
        let operation = operation(&route, &problem, &mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    // The socket has no place in OpenAPI; its frames are schemas like the others.
    schemas.add_frames();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Parlor",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The REST twin of the WebSocket at `/ws`, on which clients send frames of the schema `Ask` and receive frames of the schema `Tell`.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.definitions(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "browser": {"type": "apiKey", "in": "cookie", "name": crate::door::COOKIE},
            },
        },
    })
}

/// Schemas of what is asked, in which much may be left out, and of what is told, in which nothing is.
pub(crate) struct Schemas {
    pub(crate) asked: SchemaGenerator,
    pub(crate) told: SchemaGenerator,
}

impl Schemas {
    /// Schemas whose definitions stand at `path`.
    pub(crate) fn at(path: &str) -> Schemas {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = path.to_owned().into();
            settings.meta_schema = None;
        });
        Schemas { asked: settings.clone().into_generator(), told: settings.for_serialize().into_generator() }
    }

    /// The frames of the socket.
    pub(crate) fn add_frames(&mut self) {
        let _ = (self.asked.subschema_for::<Ask>(), self.told.subschema_for::<Tell>());
    }

    /// All definitions, by name. What is both asked and told is told in full.
    pub(crate) fn definitions(mut self) -> BTreeMap<String, Value> {
        let mut all: BTreeMap<String, Value> = self.told.take_definitions(true).into_iter().collect();
        for (name, schema) in self.asked.take_definitions(true) {
            all.entry(name).or_insert(schema);
        }
        all
    }
}

fn operation(route: &Route, problem: &Value, schemas: &mut Schemas) -> Value {
    let content = match &route.answer {
        Answer::Json(make) => json!({"application/json": {"schema": make(&mut schemas.told).to_value()}}),
        Answer::Other(kinds) => kinds.iter().map(|kind| ((*kind).to_owned(), json!({}))).collect(),
    };
    let mut operation = json!({
        "summary": route.summary,
        "operationId": name(route),
        "parameters": parameters(route),
        "responses": {
            "200": {"description": route.summary, "content": content},
            "default": {"description": "What went wrong", "content": {"application/json": {"schema": problem}}},
        },
        "security": match route.who {
            Who::Anyone => json!([]),
            Who::Reader | Who::Owner => json!([{"token": []}, {"browser": []}]),
        },
    });
    if let Some(make) = route.body {
        operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": make(&mut schemas.asked).to_value()}}});
    }
    operation
}

/// `getSessionsIdEntries`.
fn name(route: &Route) -> String {
    let words = route.path.trim_start_matches("/api").split(|one: char| !one.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).map(|word| {
        let (first, rest) = word.split_at(1);
        format!("{}{rest}", first.to_ascii_uppercase())
    });
    format!("{}{}", route.method, words.collect::<String>())
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route.path.split('{').skip(1).filter_map(|part| part.split('}').next());
    let in_path = in_path
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let in_query = |one: &Parameter| json!({"name": one.name, "in": "query", "required": one.required, "description": one.words, "schema": {"type": one.kind}});
    in_path.chain(route.query.iter().map(in_query)).collect()
}
