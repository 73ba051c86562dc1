//! `adjutant undo`: restores uncommitted work that an agent left in a work tree.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_git::worktree::{RestorableWork, RestoreTarget, WorktreeError, Worktrees};
use adjutant_model::TaskId;
use adjutant_model::command::OperatorAction;
use serde_json::{Value, json};

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

const FILES_SHOWN: usize = 5;

/// Restore uncommitted work that an agent left behind
///
/// Adjutant saves uncommitted work before it reuses or removes a worktree. Without an id, this
/// lists the saved work.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant undo                  list what can be restored
  adjutant undo 042              restore into the task's worktree
  adjutant undo 042 --to ./look  restore into a new folder")]
pub(crate) struct UndoArgs {
    /// The id of the task
    id: Option<String>,
    /// Restore the work of this attempt [default: the last in the list]
    #[arg(long, value_name = "N", requires = "id")]
    attempt: Option<String>,
    /// Restore into this folder, which must be new or empty [default: the task's worktree]
    #[arg(long, value_name = "DIR", requires = "id")]
    to: Option<PathBuf>,
}

impl UndoArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let yard = data.worktrees();
        let Some(id) = &self.id else { return list(&yard, out) };
        let id = data.task_id(id)?;
        let attempt = format!("cannot restore the work on {id}");
        data.require_operator(OperatorAction::Undo, &attempt, out)?;
        let found = yard.saved_work(Some(&id)).map_err(|why| not_possible(&attempt, &why))?;
        let found = self.choose_saved_work(found, &attempt)?;
        let into = self.to.map_or(RestoreTarget::Worktree, RestoreTarget::Folder);
        if into == RestoreTarget::Worktree {
            require_idle_worktree(data, &id, &attempt, out)?;
        }
        let folder = yard.restore(&found, &into).map_err(|why| not_possible(&attempt, &why))?;
        if out.is_json() {
            let mut document = document(&found);
            document["folder"] = folder.to_string_lossy().into();
            out.document(&document)?;
        } else {
            let folder = clean(&folder.to_string_lossy());
            out.line(&format!(
                "{id}: the work of attempt {} is restored in {folder}",
                found.attempt
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the saved work of the wanted attempt, or of the last one.
    fn choose_saved_work(
        &self,
        found: Vec<RestorableWork>,
        attempt: &str,
    ) -> Result<RestorableWork, CommandFailure> {
        let fits = |one: &RestorableWork| {
            self.attempt.as_ref().is_none_or(|wanted| *wanted == one.attempt)
        };
        let chosen = found.into_iter().rfind(fits);
        chosen.ok_or_else(|| {
            let why = match &self.attempt {
                Some(wanted) => format!("no work of attempt {wanted} was saved"),
                None => "no work on it was saved".to_owned(),
            };
            CommandFailure::not_possible(attempt, &clean(&why))
                .with_hint("`adjutant undo` lists what can be restored")
        })
    }
}

/// Fails if an agent works in the work tree that would be overwritten.
fn require_idle_worktree(
    data: &ProjectData,
    id: &TaskId,
    attempt: &str,
    out: &CommandOutput,
) -> Result<(), CommandFailure> {
    let world = data.load_world(out)?;
    let task = world.task(id);
    let busy = task.is_some_and(|task| task.lease().is_some() || task.history.open.is_some());
    if !busy {
        return Ok(());
    }
    let why = "an agent is working in its worktree";
    Err(CommandFailure::not_possible(attempt, why)
        .with_hint("wait until it has finished, or restore elsewhere with `--to DIR`"))
}

fn list(yard: &Worktrees, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
    let found = yard.saved_work(None);
    let found = found.map_err(|why| not_possible("cannot list saved work", &why))?;
    if out.is_json() {
        out.document(&found.iter().map(document).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        out.line("no work was saved")?;
    }
    for one in &found {
        out.line(&line(one))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(found: &RestorableWork) -> String {
    let all = found.files.len();
    let mut names: Vec<String> =
        found.files.iter().take(FILES_SHOWN).map(|name| clean(name)).collect();
    if all > FILES_SHOWN {
        names.push(format!("and {} more", all - FILES_SHOWN));
    }
    let names = if names.is_empty() { "commits only".to_owned() } else { names.join(", ") };
    format!("{}  attempt {:<4} {names}", found.task, found.attempt)
}

fn document(found: &RestorableWork) -> Value {
    json!({
        "taskId": found.task.as_str(),
        "attempt": found.attempt,
        "ref": found.reference,
        "commit": found.commit,
        "files": found.files,
    })
}

fn not_possible(attempt: &str, why: &WorktreeError) -> CommandFailure {
    CommandFailure::not_possible(attempt, &clean(&why.0))
}
