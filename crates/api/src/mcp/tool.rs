//! What a tool is made of: a name, what it is for, what it takes; and what it says in the end.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::office::Trouble;

/// What a tool says.
pub(super) enum Said {
    /// Words, for a model.
    Text(String),
    /// Data, for a model or a program.
    Data(Value),
    /// That it was not done, why not, and what to do.
    Refused(String),
}

/// What a tool does to the world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// It only looks.
    Looks,
    /// It changes something; called again, it changes nothing more.
    Changes,
}

/// A tool that takes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// Describes a tool whose arguments are of this type.
pub(super) fn tool<A: JsonSchema>(name: &'static str, does: Does, about: &'static str) -> Tool {
    let hints = ToolAnnotations::new()
        .read_only(does == Does::Looks)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, about, schema::<A>()).with_annotations(hints)
}

/// Returns the schema of arguments, all in one piece: some clients follow no references.
fn schema<A: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    schema.remove("title");
    schema.remove("description");
    let mut object = schema.as_object().cloned().unwrap_or_default();
    // Some clients refuse a schema of no arguments without this.
    object.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    Arc::new(object)
}

/// Reads the arguments of a tool, or says what is wrong with them.
pub(super) fn read<A: DeserializeOwned>(arguments: Value) -> Result<A, Said> {
    serde_json::from_value(arguments).map_err(|error| {
        Said::Refused(format!("nothing was done: the arguments do not fit: {error}"))
    })
}

/// Says in words what went wrong: what was tried, why not, what to do.
pub(super) fn in_words(trouble: &Trouble) -> String {
    let mut text = trouble.message.clone();
    for cause in &trouble.causes {
        text.push_str(": ");
        text.push_str(cause);
    }
    if let Some(hint) = &trouble.hint {
        text.push_str(" (");
        text.push_str(hint);
        text.push(')');
    }
    text
}

impl From<Trouble> for Said {
    fn from(trouble: Trouble) -> Self {
        Self::Refused(in_words(&trouble))
    }
}

impl From<Result<Self, Self>> for Said {
    fn from(said: Result<Self, Self>) -> Self {
        said.unwrap_or_else(|refused| refused)
    }
}
