//! The tools that a request offers, whatever the wire. It must not know what a script wants of them.

use serde_json::Value;

/// The tools of a request.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    tools: Vec<Tool>,
}

/// One tool, as the request names it.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// Codex puts some tools into groups, and wants the group back with a call.
    pub(crate) namespace: Option<String>,
    /// Takes a text instead of an object.
    pub(crate) is_freeform: bool,
    /// Known by name alone until the agent's search gives it out.
    pub(crate) is_deferred: bool,
    properties: Value,
}

impl Offer {
    /// Reads a request's list of tools and adds it.
    pub(crate) fn add(&mut self, tools: &Value) {
        self.add_group(tools, None);
    }

    /// Adds tools that the agent's search gave out.
    pub(crate) fn add_found(&mut self, tools: &Value) {
        let known = self.tools.len();
        self.add_group(tools, None);
        self.tools[known..].iter_mut().for_each(|tool| tool.is_deferred = false);
    }

    fn add_group(&mut self, tools: &Value, namespace: Option<&str>) {
        for tool in tools.as_array().into_iter().flatten() {
            let function = tool.get("function").unwrap_or(tool);
            let kind = tool["type"].as_str().unwrap_or_default();
            let Some(name) = function["name"].as_str().or_else(|| tool["type"].as_str()) else { continue };
            if kind == "namespace" {
                self.add_group(&tool["tools"], Some(name));
                continue;
            }
            let schema = ["input_schema", "parameters"].into_iter().find_map(|key| function.get(key));
            self.tools.push(Tool {
                name: name.to_owned(),
                namespace: namespace.map(str::to_owned),
                is_freeform: kind == "custom",
                is_deferred: tool["defer_loading"] == true,
                properties: schema.map_or(Value::Null, |schema| schema["properties"].clone()),
            });
        }
    }

    /// Marks a deferred tool as given out by the agent's search.
    pub(crate) fn give_out(&mut self, name: &str) {
        for tool in self.tools.iter_mut().filter(|tool| tool.name == name) {
            tool.is_deferred = false;
        }
    }

    /// The first tool that has one of these names, in the order of the names.
    pub(crate) fn first(&self, names: &[&str]) -> Option<&Tool> {
        names.iter().find_map(|name| self.tools.iter().find(|tool| tool.name == *name && !tool.is_deferred))
    }

    /// The tool whose whole name ends with this one.
    pub(crate) fn ending(&self, end: &str) -> Option<&Tool> {
        let fits = |tool: &&Tool| {
            !tool.is_deferred
                && (tool.name.ends_with(end)
                    || tool
                        .namespace
                        .as_ref()
                        .is_some_and(|group| format!("{group}__{}", tool.name).ends_with(end)))
        };
        // A tool of exactly this name is meant before one that only ends so.
        self.tools.iter().filter(fits).min_by_key(|tool| tool.name.len())
    }
}

impl Tool {
    /// The first of these properties that the tool has; the first of all where the tool tells none.
    pub(crate) fn property<'a>(&self, candidates: &[&'a str]) -> &'a str {
        candidates.iter().find(|name| self.has(name)).or(candidates.first()).copied().unwrap_or_default()
    }

    /// Whether the tool takes a property.
    pub(crate) fn has(&self, property: &str) -> bool {
        self.properties.get(property).is_some()
    }

    /// Whether a property is a list.
    pub(crate) fn takes_list(&self, property: &str) -> bool {
        self.properties[property]["type"] == "array"
    }
}
