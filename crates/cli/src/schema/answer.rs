//! The answer every message gets.

use std::borrow::Cow;
use std::marker::PhantomData;

use adjutant_core::Verdict;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::described;
use super::id::TaskId;
use super::word::{Reason, Status};

/// What a message is answered with, whatever way it came in.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    result: VerdictWord,
    /// Why, where there is something to say.
    reason: OrNull<Reason>,
    /// The task it is about.
    task_id: OrNull<TaskId>,
    /// The numbers of the events it caused.
    events: Vec<u64>,
    /// Where the task stands now.
    status: OrNull<Status>,
    /// Everything that is wrong with it, each as `path: what is wrong`.
    errors: Vec<String>,
}

/// A field that is always there, if only as null.
struct OrNull<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}OrNull", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Option<T>>()
    }
}

const VERDICTS: [Verdict; 5] =
    [Verdict::Applied, Verdict::Noop, Verdict::Rejected, Verdict::Unknown, Verdict::Ignored];

described! {
    /// What became of it, in one word.
    VerdictWord => json_schema!({"type": "string", "enum": VERDICTS.map(Verdict::as_str)})
}
