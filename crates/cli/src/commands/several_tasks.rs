//! Carries out a command on one task or on several, and prints the result of each.

use std::process::ExitCode;

use adjutant_model::TaskId;
use serde_json::{Value, json};

use super::task::ChangedTask;
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::{self, CommandFailure};

/// The end of the help of each such command: what several ids do, and examples.
macro_rules! several_ids_help {
    ($examples:literal) => {
        concat!(
            "With several ids, each task has its own result. A refused task does not stop the others; \
             the exit code is then not 0. With --json, the results of several ids are one list.\n\n\
             Examples:\n",
            $examples
        )
    };
}

pub(crate) use several_ids_help;

/// Carries out a command on each task. With one id, the output is that of the command alone. With
/// several, every task is tried, and the exit code is that of the worst failure.
pub(crate) fn for_each_task(
    data: &ProjectData,
    out: &CommandOutput,
    ids: &[String],
    mut change: impl FnMut(&TaskId) -> Result<ChangedTask, CommandFailure>,
) -> Result<ExitCode, CommandFailure> {
    if let [only] = ids {
        return change(&data.task_id(only)?)?.show(out);
    }
    let mut results = Vec::new();
    let mut done: Vec<TaskId> = Vec::new();
    let mut worst = 0;
    for text in ids {
        let id = data.task_id(text);
        // The same task may be given twice, by its id and by the end of it.
        if id.as_ref().is_ok_and(|id| done.contains(id)) {
            continue;
        }
        let changed = id.and_then(|id| {
            done.push(id.clone());
            change(&id)
        });
        match changed {
            Ok(changed) => {
                worst = worst.max(changed.exit_code());
                if out.is_json() {
                    results.push(json!(changed.document()));
                } else {
                    changed.print_line(out)?;
                }
            }
            Err(failure) if failure.is_output_closed() => return Err(failure),
            Err(failure) => {
                worst = worst.max(error::exit_code(&failure));
                report(text, &failure, out, &mut results);
            }
        }
    }
    if out.is_json() {
        out.document(&results)?;
    }
    Ok(ExitCode::from(worst))
}

fn report(id: &str, failure: &CommandFailure, out: &CommandOutput, results: &mut Vec<Value>) {
    if out.is_json() {
        results.push(json!({"id": id, "error": error::error_document(failure)}));
    } else {
        error::report(failure, out);
    }
}
