//! The data folder that is there for a project, and the tasks on its board that follow stories.

use std::path::Path;

use adjutant_core::command::Caller;
use adjutant_runtime::Request;
use adjutant_runtime::story::Project;
use adjutant_store::file::DATA_FOLDER;

use crate::data::{Data, from_environment};
use crate::error::Failure;
use crate::output::Output;
use crate::person::caller;

/// Returns the data folder that is there for a project: one that the project's folder holds. None
/// is needed.
pub(super) fn of(project: &Project<'_>, named: Option<&Path>) -> Result<Option<Data>, Failure> {
    let root = project.folder().root();
    let named = named.map(Path::to_owned).or_else(from_environment);
    let own = root.join(DATA_FOLDER);
    let data = match named {
        Some(named) => Data::find(Some(&named))?,
        None if own.is_dir() => Data::find(Some(&own))?,
        None => return Ok(None),
    };
    let is_same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    Ok(Some(data).filter(|data| is_same(&data.folder.workspace(), root)))
}

/// Lets the tasks of a project's stories follow its files, where there is a data folder. The files
/// are right by now, whatever becomes of this.
pub(super) fn follow(project: &Project<'_>, named: Option<&Path>, out: &Output) {
    let told = of(project, named).and_then(|data| match data {
        Some(data) => data.submit(request(), out).map(drop),
        None => Ok(()),
    });
    if let Err(failure) = told {
        out.warn(&format!("the board does not show it yet: {}", failure.message()));
    }
}

fn request() -> Request {
    let (Caller::Operator(by) | Caller::InsideRun(by)) = caller();
    Request::Stories { by, told: None, facts: vec![] }
}
