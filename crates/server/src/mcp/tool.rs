//! The building blocks of tools: description, arguments and result.

use std::sync::Arc;

use adjutant_query::failure::CommandFailure;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The result of a tool.
pub(super) enum ToolResult {
    /// Text for a model.
    Text(String),
    /// Data for a model or a program.
    Data(Value),
    /// The call was refused: why, and what to do instead.
    Refused(String),
}

/// What a tool does to the world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolEffect {
    ReadOnly,
    /// Changes something; calling the tool again changes nothing more.
    Writes,
}

/// The arguments of a tool that takes none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArgs {}

/// Describes a tool whose arguments have the type `A`.
pub(super) fn describe_tool<A: JsonSchema>(
    name: &'static str,
    does: ToolEffect,
    about: &'static str,
) -> Tool {
    let hints = ToolAnnotations::new()
        .read_only(does == ToolEffect::ReadOnly)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(name, about, schema::<A>()).with_annotations(hints)
}

/// Returns the schema of the arguments without references, because some clients cannot follow them.
fn schema<A: JsonSchema>() -> Arc<JsonObject> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>();
    schema.remove("title");
    schema.remove("description");
    let mut object = schema.as_object().cloned().unwrap_or_default();
    // Some clients refuse the schema of a tool without arguments unless it has this.
    object.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    Arc::new(object)
}

/// Parses the arguments of a tool, or refuses the call.
pub(super) fn parse_args<A: DeserializeOwned>(arguments: Value) -> Result<A, ToolResult> {
    serde_json::from_value(arguments).map_err(|error| {
        ToolResult::Refused(format!("nothing was changed: invalid arguments: {error}"))
    })
}

/// Joins the message, its causes and the hint.
pub(super) fn describe_error(failure: &CommandFailure) -> String {
    let mut text = failure.message.clone();
    for cause in &failure.causes {
        text.push_str(": ");
        text.push_str(cause);
    }
    if let Some(hint) = &failure.hint {
        text.push_str(" (");
        text.push_str(hint);
        text.push(')');
    }
    text
}

impl From<CommandFailure> for ToolResult {
    fn from(failure: CommandFailure) -> Self {
        Self::Refused(describe_error(&failure))
    }
}

impl From<Result<Self, Self>> for ToolResult {
    fn from(result: Result<Self, Self>) -> Self {
        result.unwrap_or_else(|refused| refused)
    }
}
