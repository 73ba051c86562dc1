//! Finds the data folder of a project and updates its tasks from the story files.

use std::path::Path;

use adjutant_engine::Request;
use adjutant_model::command::CommandCaller;
use adjutant_store::file::DATA_FOLDER;

use crate::caller::caller_from_env;
use crate::data::{ProjectData, data_folder_from_env};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Returns the data folder of a project: the named one or the project's own. `None` if there is
/// none or if it belongs to another project.
pub(super) fn find_data(
    root: &Path,
    named: Option<&Path>,
) -> Result<Option<ProjectData>, CommandFailure> {
    let named = named.map(Path::to_owned).or_else(data_folder_from_env);
    let own = root.join(DATA_FOLDER);
    let data = match named {
        Some(named) => ProjectData::find(Some(&named))?,
        None if own.is_dir() => ProjectData::find(Some(&own))?,
        None => return Ok(None),
    };
    let is_same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    Ok(Some(data).filter(|data| is_same(&data.folder.workspace(), root)))
}

/// Updates the tasks of a project's stories, if there is a data folder. The story files are already
/// written, so an error here is only a warning.
pub(super) fn update_tasks(root: &Path, named: Option<&Path>, out: &CommandOutput) {
    match find_data(root, named) {
        Ok(Some(data)) => submit_update(&data, out),
        Ok(None) => {}
        Err(failure) => warn(&failure, out),
    }
}

/// Updates the tasks of the stories in a data folder; an error is only a warning.
pub(in crate::commands) fn submit_update(data: &ProjectData, out: &CommandOutput) {
    let (CommandCaller::Operator(by) | CommandCaller::InsideRun(by)) = caller_from_env();
    let request = Request::Stories { by, told: None, facts: vec![] };
    if let Err(failure) = data.submit(request, out) {
        warn(&failure, out);
    }
}

fn warn(failure: &CommandFailure, out: &CommandOutput) {
    out.warn(&format!(
        "the task on the board is not updated yet: {}",
        failure.message_with_causes()
    ));
}
