//! `adjutant undo`: brings back work that lay uncommitted in a work tree.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_core::TaskId;
use adjutant_core::command::Chore;
use adjutant_runtime::worktree::{Found, Into, Refused, Yard};
use serde_json::{Value, json};

use crate::data::Data;
use crate::error::Failure;
use crate::output::{Output, clean};

/// The most files that are named in a line.
const FILES_SHOWN: usize = 5;

/// Bring back work that lay uncommitted in a work tree
///
/// What an agent left uncommitted is saved before its work tree is made ready for the next attempt
/// or taken away. Without a task, this lists what can be brought back.
#[derive(Debug, clap::Args)]
pub(crate) struct Undo {
    /// The task whose work it is
    id: Option<String>,
    /// The attempt that left it, as the list has it [default: the last]
    #[arg(long, value_name = "N", requires = "id")]
    attempt: Option<String>,
    /// A folder to bring it back to, which must be new or empty [default: the task's work tree]
    #[arg(long, value_name = "DIR", requires = "id")]
    to: Option<PathBuf>,
}

impl Undo {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let yard = data.yard();
        let Some(id) = &self.id else { return list(&yard, out) };
        let id = data.task_id(id)?;
        let attempt = format!("cannot bring back the work on {id}");
        data.permit(Chore::Undo, &attempt, out)?;
        let found = yard.saved(Some(&id)).map_err(|why| not_possible(&attempt, &why))?;
        let found = self.choose(&id, found, &attempt)?;
        let into = self.to.map_or(Into::Worktree, Into::Folder);
        if into == Into::Worktree {
            is_left_alone(data, &id, &attempt, out)?;
        }
        let folder = yard.restore(&found, &into).map_err(|why| not_possible(&attempt, &why))?;
        if out.is_json() {
            let mut document = document(&found);
            document["folder"] = folder.to_string_lossy().into();
            out.document(&document)?;
        } else {
            let folder = clean(&folder.to_string_lossy());
            out.line(&format!("{id}: what attempt {} left is in {folder}", found.attempt))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Chooses what is to be brought back.
    fn choose(&self, id: &TaskId, found: Vec<Found>, attempt: &str) -> Result<Found, Failure> {
        let fits = |one: &Found| self.attempt.as_ref().is_none_or(|wanted| *wanted == one.attempt);
        let chosen = found.into_iter().rfind(fits);
        chosen.ok_or_else(|| {
            let why = match &self.attempt {
                Some(wanted) => format!("nothing of attempt {wanted} was saved"),
                None => "nothing of it was saved".to_owned(),
            };
            let hint = "`adjutant undo` lists what can be brought back";
            Failure::not_possible(attempt, &clean(&why)).hint(format!("{hint}; {id} is not in it"))
        })
    }
}

/// Nobody may work where something is brought back to.
fn is_left_alone(data: &Data, id: &TaskId, attempt: &str, out: &Output) -> Result<(), Failure> {
    let world = data.world(out)?;
    let task = world.task(id);
    let busy = task.is_some_and(|task| task.lease().is_some() || task.trials.open.is_some());
    if !busy {
        return Ok(());
    }
    let why = "an agent works in its work tree";
    Err(Failure::not_possible(attempt, why).hint("wait for it, or use --to DIR"))
}

fn list(yard: &Yard, out: &Output) -> Result<ExitCode, Failure> {
    let found = yard.saved(None);
    let found = found.map_err(|why| not_possible("cannot list what can be brought back", &why))?;
    if out.is_json() {
        out.document(&found.iter().map(document).collect())?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        out.line("nothing was saved")?;
    }
    for one in &found {
        out.line(&line(one))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(found: &Found) -> String {
    let all = found.files.len();
    let mut names: Vec<String> =
        found.files.iter().take(FILES_SHOWN).map(|name| clean(name)).collect();
    if all > FILES_SHOWN {
        names.push(format!("and {} more", all - FILES_SHOWN));
    }
    let names = if names.is_empty() { "commits alone".to_owned() } else { names.join(", ") };
    format!("{}  attempt {:<4} {names}", found.task, found.attempt)
}

fn document(found: &Found) -> Value {
    json!({
        "taskId": found.task.as_str(),
        "attempt": found.attempt,
        "ref": found.reference,
        "commit": found.commit,
        "files": found.files,
    })
}

fn not_possible(attempt: &str, why: &Refused) -> Failure {
    Failure::not_possible(attempt, &clean(&why.0))
}
