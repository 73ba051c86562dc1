//! JSON Schemas of the documents that go in and come out, generated from types that describe them.
//!
//! The types say what the validators check, as far as a schema can say it: nothing here reads or
//! writes a document. What a schema cannot say (that two fields agree, that counts add up, how
//! large and deep a message may be) is in the description.

#![expect(dead_code, reason = "the fields of these types are described and never filled")]

mod id;
mod name;
mod path;
mod text;
mod time;
mod word;

mod foreign;

mod acknowledgement;
mod completion;
mod handoff;
mod status_update;

mod answer;
mod delegation;
mod envelope;
mod event;
mod mission;
mod run_result;
mod story;
mod task;

use adjutant_runtime::config::Config;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The documents that have a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// An AOF/1 message
    Envelope,
    /// A mission of Agent Protocol v1
    Mission,
    /// The result of a mission
    Result,
    /// Work given to a mode
    #[value(name = "new_task", alias = "new-task")]
    NewTask,
    /// What came of a `new_task`
    #[value(name = "attempt_completion", alias = "attempt-completion")]
    AttemptCompletion,
    /// The front matter of a task file
    Task,
    /// A line of the record
    Events,
    /// The `run_result.json` of a run
    #[value(name = "run_result", alias = "run-result")]
    RunResult,
    /// The `inputs/handoff.json` of a task that was given on
    #[value(name = "handoff_json", alias = "handoff-json")]
    HandoffJson,
    /// Where a story stands: `STATE.json`
    State,
    /// What an executor leaves: the front matter of `HANDOFF.md`
    Handoff,
    /// The rules of a project's stories: `step-rules.yaml`
    StepRules,
    /// The configuration, `adjutant.toml`
    Config,
    /// What a message is answered with
    Answer,
    /// The HTTP interface, as `OpenAPI` has it
    Openapi,
}

impl Kind {
    /// Returns the schema of this kind of document.
    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Envelope => strict::<envelope::Envelope>(),
            Self::Mission => strict::<mission::Mission>(),
            Self::Result => strict::<mission::ResultDoc>(),
            Self::NewTask => strict::<delegation::NewTask>(),
            Self::AttemptCompletion => strict::<delegation::AttemptCompletion>(),
            Self::Task => lenient::<task::Task>(),
            Self::Events => strict::<event::Line>(),
            Self::RunResult => strict::<run_result::RunResult>(),
            Self::HandoffJson => strict::<handoff::Handoff>(),
            Self::State => lenient::<story::State>(),
            Self::Handoff => lenient::<story::Handoff>(),
            Self::StepRules => strict::<story::StepRules>(),
            Self::Openapi => adjutant_api::http::openapi(),
            Self::Config => strict::<Config>(),
            Self::Answer => lenient::<answer::Answer>(),
        }
    }
}

/// Makes a schema in which null says as much as absence.
fn lenient<T: JsonSchema>() -> Value {
    finish(root::<T>())
}

/// Makes a schema in which null is a wrong value like any other.
fn strict<T: JsonSchema>() -> Value {
    let mut schema = root::<T>();
    RecursiveTransform(without_null).transform(&mut schema);
    finish(schema)
}

fn root<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

/// Puts what a person looks for first, and every description on one line.
fn finish(mut schema: Schema) -> Value {
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

/// Takes null out of what an optional field may be.
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
        // What is said of the field counts, not what is said of its type.
        [Value::Object(only)] => std::mem::take(only).into_iter().for_each(|(key, value)| {
            object.entry(key).or_insert(value);
        }),
        _ => drop(object.insert("anyOf".into(), branches.into())),
    }
}

/// Makes a type that stands for a text, with a schema written out.
macro_rules! described {
    ($(#[doc = $doc:literal])+ $name:ident => $schema:expr) => {
        $(#[doc = $doc])+
        pub(super) struct $name;

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema: schemars::Schema = $schema;
                let description = [$($doc.trim()),+].join(" ");
                schema.insert("description".into(), description.into());
                schema
            }
        }
    };
}

use described;
