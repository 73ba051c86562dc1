//! `adjutant task diff`: shows the changes that the work on a task made.

use std::process::ExitCode;

use adjutant_query::changes::{ChangeSet, ChangedFile};
use serde_json::{Value, json};

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean, clean_lines};

/// Show the changes that were made for a task, as a diff
///
/// Compares the branch of the task with the commit that it started from. This works for agents with
/// `workspace = "worktree"`. Uncommitted changes are not shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant task diff 042
  adjutant task diff 042 --stat
  adjutant task diff 042 > change.patch")]
pub(crate) struct TaskDiffArgs {
    /// The id of the task
    id: String,
    /// List the changed files with the number of added and removed lines
    #[arg(long)]
    stat: bool,
}

impl TaskDiffArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let diff = data.worktrees().diff(&id);
        let diff = diff.map_err(|why| {
            CommandFailure::not_possible(format!("cannot show the changes of {id}"), &clean(&why.0))
        })?;
        let text = String::from_utf8_lossy(&diff);
        let world = data.load_world(out)?;
        let protected = world.task(&id).map_or(&[][..], |task| task.history.protected_files());
        if !protected.is_empty() && !out.is_json() {
            let files = clean(&protected.join(", "));
            out.warn(&format!("the change touches protected paths: {files}"));
        }
        if out.is_json() {
            let mut document = json!({"taskId": id.as_str(), "diff": text});
            if self.stat {
                document =
                    json!({"taskId": id.as_str(), "files": stat_of(&ChangeSet::parse(&text))});
            }
            if !protected.is_empty() {
                document["protected"] = json!(protected);
            }
            out.document(&document)?;
        } else if self.stat {
            print_stat(&ChangeSet::parse(&text), out)?;
        } else if out.is_terminal() {
            print_coloured(&text, out)?;
        } else {
            out.bytes(&diff)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a line for each file, and one for all of them.
fn print_stat(changes: &ChangeSet, out: &CommandOutput) -> Result<(), CommandFailure> {
    for file in &changes.files {
        let added = out.paint(TextColour::Green, &format!("{:>7}", format!("+{}", file.added)));
        let removed = out.paint(TextColour::Red, &format!("{:<7}", format!("-{}", file.removed)));
        let old = file.old_path.as_ref().map_or_else(String::new, |old| format!(" from {old}"));
        let status = file.status.as_str();
        let name = clean(&format!("{}{old}", file.path));
        out.line(&format!("{added} {removed} {status:<8} {name}"))?;
    }
    if changes.files_left_out > 0 {
        out.line(&format!("{} more files", changes.files_left_out))?;
    }
    let count = changes.files.len() + changes.files_left_out;
    let files = if count == 1 { "file" } else { "files" };
    out.line(&format!("{count} {files} changed, +{} -{}", changes.added, changes.removed))
}

fn stat_of(changes: &ChangeSet) -> Vec<Value> {
    let stat = |file: &ChangedFile| {
        json!({
            "path": file.path,
            "oldPath": file.old_path,
            "status": file.status,
            "added": file.added,
            "removed": file.removed,
        })
    };
    changes.files.iter().map(stat).collect()
}

/// Prints a diff with the colours that git uses.
fn print_coloured(diff: &str, out: &CommandOutput) -> Result<(), CommandFailure> {
    for line in clean_lines(diff.trim_end()).lines() {
        let is_head = ["diff ", "index ", "+++ ", "--- "].iter().any(|head| line.starts_with(head));
        let colour = match line.as_bytes().first() {
            _ if is_head => TextColour::Dim,
            Some(b'+') => TextColour::Green,
            Some(b'-') => TextColour::Red,
            Some(b'@') => TextColour::Blue,
            _ => TextColour::Plain,
        };
        out.line(&out.paint(colour, line))?;
    }
    Ok(())
}
