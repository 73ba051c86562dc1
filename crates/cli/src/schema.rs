//! JSON Schemas of the documents that Adjutant reads and writes, generated from the types of the
//! model.
//!
//! A schema says what the validators check. Its descriptions say what a schema cannot: that two
//! fields agree, that counts add up, how large and deep a message may be.

mod envelope;
mod story;
mod task;

use adjutant_config::Config;
use adjutant_model::answer::AnswerDocument;
use adjutant_model::completion::RunResult;
use adjutant_model::delegation::{AttemptCompletion, NewTaskDocument};
use adjutant_model::event::EventLine;
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::mission::{MissionOrder, MissionResult};
use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The documents that have a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaKind {
    /// An AOF/1 message
    Envelope,
    /// A mission of Agent Protocol v1
    Mission,
    /// The result of a mission
    Result,
    /// A delegation to a mode: `new_task`
    #[value(name = "new_task", alias = "new-task")]
    NewTask,
    /// The report on a `new_task`
    #[value(name = "attempt_completion", alias = "attempt-completion")]
    AttemptCompletion,
    /// The front matter of a task file
    Task,
    /// A line of the event log
    Events,
    /// The `run_result.json` of a run
    #[value(name = "run_result", alias = "run-result")]
    RunResult,
    /// The `inputs/handoff.json` of a delegated task
    #[value(name = "handoff_json", alias = "handoff-json")]
    HandoffJson,
    /// The state of a story: `STATE.json`
    State,
    /// An executor's hand-over: the front matter of `HANDOFF.md`
    Handoff,
    /// The step rules of a project: `step-rules.yaml`
    StepRules,
    /// The configuration: `adjutant.toml`
    Config,
    /// The answer to a message
    Answer,
    /// The HTTP API, as an `OpenAPI` document
    Openapi,
}

impl SchemaKind {
    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Envelope => schema_as_read::<envelope::Envelope>(),
            Self::Mission => schema_with_null::<MissionOrder>(),
            Self::Result => schema_with_null::<MissionResult>(),
            Self::NewTask => schema_with_null::<NewTaskDocument>(),
            Self::AttemptCompletion => schema_with_null::<AttemptCompletion>(),
            Self::Task => order_keys(task::front_matter_schema()),
            Self::Events => schema_as_written::<EventLine>(),
            Self::RunResult => schema_as_read::<RunResult>(),
            Self::HandoffJson => schema_as_written::<TaskHandoff>(),
            Self::State => order_keys(root_schema::<story::State>(Contract::Deserialize)),
            Self::Handoff => order_keys(root_schema::<story::Handoff>(Contract::Deserialize)),
            Self::StepRules => schema_as_read::<story::StepRules>(),
            Self::Openapi => adjutant_server::http::openapi(),
            Self::Config => config_schema(),
            Self::Answer => order_keys(root_schema::<AnswerDocument>(Contract::Serialize)),
        }
    }
}

/// Makes the schema of a document that Adjutant reads. An optional field is absent, not null.
fn schema_as_read<T: JsonSchema>() -> Value {
    schema_without_null(root_schema::<T>(Contract::Deserialize))
}

/// Makes the schema of a document that Adjutant reads, in which null means absent.
fn schema_with_null<T: JsonSchema>() -> Value {
    let mut schema = root_schema::<T>(Contract::Deserialize);
    RecursiveTransform(without_null).transform(&mut schema);
    RecursiveTransform(without_default).transform(&mut schema);
    RecursiveTransform(with_null).transform(&mut schema);
    order_keys(schema)
}

/// Accepts null for the fields of an object that are not required.
fn with_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let fields = object.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in fields.into_iter().flatten() {
        let Some(inner) = field.as_object_mut() else { continue };
        if required.iter().any(|needed| needed.as_str() == Some(name)) {
            continue;
        }
        let description = inner.shift_remove("description");
        let mut accepted = serde_json::json!({"anyOf": [inner, {"type": "null"}]});
        if let Some(text) = description {
            accepted["description"] = text;
        }
        *field = accepted;
    }
}

/// Makes the schema of a document that Adjutant writes. An optional field is absent, not null.
fn schema_as_written<T: JsonSchema>() -> Value {
    schema_without_null(root_schema::<T>(Contract::Serialize))
}

fn schema_without_null(mut schema: Schema) -> Value {
    RecursiveTransform(without_null).transform(&mut schema);
    RecursiveTransform(without_default).transform(&mut schema);
    order_keys(schema)
}

/// The schema of the configuration has the default of every setting.
fn config_schema() -> Value {
    let mut schema = root_schema::<Config>(Contract::Deserialize);
    RecursiveTransform(without_null).transform(&mut schema);
    order_keys(schema)
}

fn root_schema<T: JsonSchema>(contract: Contract) -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.contract = contract);
    settings.into_generator().into_root_schema_for::<T>()
}

/// Removes the value that a reader assumes for an absent field.
fn without_default(schema: &mut Schema) {
    schema.remove("default");
}

/// Puts title and description first, and every description on one line.
fn order_keys(mut schema: Schema) -> Value {
    RecursiveTransform(on_one_line).transform(&mut schema);
    let Value::Object(mut rest) = schema.to_value() else { return Value::Bool(true) };
    let first = ["$schema", "title", "description"];
    let head: Vec<_> = first.into_iter().filter_map(|key| rest.shift_remove_entry(key)).collect();
    Value::Object(head.into_iter().chain(rest).collect())
}

fn on_one_line(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}

/// Removes null from the values of an optional field.
fn without_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    for list in ["type", "enum"] {
        if let Some(Value::Array(values)) = object.get_mut(list) {
            values.retain(|value| !value.is_null() && value != "null");
        }
    }
    if let Some(Value::Array(types)) = object.get_mut("type")
        && let [only] = &mut types[..]
    {
        let only = only.take();
        object.insert("type".into(), only);
    }
    let Some(Value::Array(mut branches)) = object.remove("anyOf") else { return };
    branches.retain(|branch| branch["type"] != "null");
    match &mut branches[..] {
        // The description of the field takes precedence over that of its type.
        [Value::Object(only)] => std::mem::take(only).into_iter().for_each(|(key, value)| {
            object.entry(key).or_insert(value);
        }),
        _ => drop(object.insert("anyOf".into(), branches.into())),
    }
}
