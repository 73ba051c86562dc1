//! `adjutant candidates`: prints the task ids or agents that complete a word on the command line.
//!
//! The scripts of `adjutant completions` call it. It only reads, and prints nothing if anything is
//! wrong: a shell that completes a word has no use for an error.

use std::path::Path;
use std::process::ExitCode;

use adjutant_core::World;
use adjutant_model::{Status, Task};
use adjutant_store::file::read_world;
use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::commands::args::Args;
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// A longer list does not help to choose.
const CANDIDATES_MAX: usize = 200;

/// Print the values that complete a word
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct CandidatesArgs {
    /// The words after `adjutant`; the last one is completed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    line: Vec<String>,
}

/// What an argument takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Task,
    /// A task, or the status that comes after the tasks.
    TaskOrStatus,
    Agent,
}

impl CandidatesArgs {
    pub(crate) fn run(
        self,
        data: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        // Bash makes words of their own of the signs in `--agent=swe`.
        let words: Vec<&str> = self.line.iter().map(String::as_str).filter(|w| *w != "=").collect();
        let Some((current, before)) = words.split_last() else { return Ok(ExitCode::SUCCESS) };
        let place = CursorPlace::find(&Args::command(), before);
        let named = place.data.as_deref().map(Path::new).or(data);
        let found = match place.kind.filter(|_| !current.starts_with('-')) {
            Some(ValueKind::Task) => find_tasks(named, &place.path, current),
            Some(ValueKind::TaskOrStatus) => {
                let mut found = find_tasks(named, &place.path, current);
                found.extend(Status::ALL.map(|status| status.as_str().to_owned()));
                found
            }
            Some(ValueKind::Agent) => find_agents(named),
            None => vec![],
        };
        let fitting = found.iter().filter(|candidate| candidate.starts_with(current));
        for candidate in fitting.take(CANDIDATES_MAX) {
            out.line(candidate)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What is completed at the end of a command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct CursorPlace {
    /// The command and its subcommand.
    path: Vec<String>,
    kind: Option<ValueKind>,
    /// The value of `--data`, if it is given before.
    data: Option<String>,
}

impl CursorPlace {
    /// Finds the argument that the word after `before` belongs to.
    fn find(root: &Command, before: &[&str]) -> Self {
        let mut place = Self::default();
        let mut command = root;
        let mut positional = 0;
        let mut awaited: Option<&Arg> = None;
        for word in before {
            if let Some(option) = awaited.take() {
                if option.get_id() == "data" {
                    place.data = Some((*word).to_owned());
                }
                continue;
            }
            if word.starts_with('-') {
                let (name, value) = word.split_once('=').unwrap_or((word, ""));
                awaited = find_option(command, root, name).filter(|_| name == *word);
                if name == "--data" && !value.is_empty() {
                    place.data = Some(value.to_owned());
                }
            } else if let Some(inner) = command.find_subcommand(word) {
                command = inner;
                place.path.push((*word).to_owned());
            } else {
                positional += 1;
            }
        }
        let arg = awaited.or_else(|| find_positional(command, positional));
        place.kind = arg.and_then(|arg| value_kind(&place.path, arg));
        place
    }
}

/// Returns the option with this name, if it takes a value.
fn find_option<'c>(command: &'c Command, root: &'c Command, name: &str) -> Option<&'c Arg> {
    let is_named = |arg: &&Arg| {
        let long = name.strip_prefix("--").is_some_and(|long| arg.get_long() == Some(long));
        long || name
            .strip_prefix('-')
            .is_some_and(|short| arg.get_short().is_some_and(|own| short == own.to_string()))
    };
    let mut options = command.get_arguments().chain(root.get_arguments());
    options.find(is_named).filter(|arg| arg.get_action().takes_values())
}

/// Returns the positional argument at a place; a list takes all that follow.
fn find_positional(command: &Command, place: usize) -> Option<&Arg> {
    let all: Vec<&Arg> = command.get_positionals().collect();
    let last = all.last().filter(|last| matches!(last.get_action(), ArgAction::Append));
    all.get(place).or(last).copied()
}

/// Returns what an argument of a command takes, if it is completed.
pub(super) fn value_kind(path: &[String], arg: &Arg) -> Option<ValueKind> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (&path[..], arg.get_id().as_str()) {
        (_, "agent") | (["agents", "test"], "name") => Some(ValueKind::Agent),
        // The ids of stories come from elsewhere.
        (["story", ..], _) => None,
        (_, "ids_and_status") => Some(ValueKind::TaskOrStatus),
        (_, "id" | "ids" | "depends_on" | "parent" | "task") => Some(ValueKind::Task),
        _ => None,
    }
}

fn find_tasks(data: Option<&Path>, path: &[String], current: &str) -> Vec<String> {
    let world = ProjectData::find_folder(data).ok().and_then(|folder| read_world(&folder).ok());
    world.map(|world| describe_tasks(&world, path, current)).unwrap_or_default()
}

/// Returns the tasks that a command is likely to be about, each with status and title after a tab;
/// all tasks if no such task fits. A word that does not begin like an id is completed as a short id.
fn describe_tasks(world: &World, path: &[String], current: &str) -> Vec<String> {
    let is_short =
        !current.is_empty() && !"TASK-".starts_with(current) && !current.starts_with("TASK-");
    let name = |task: &Task| if is_short { short_id(world, task) } else { task.id.to_string() };
    let describe =
        |task: &Task| format!("{}\t{}: {}", name(task), task.status(), clean(&task.title));
    let fits = |task: &&Task| name(task).starts_with(current);
    let fitting: Vec<&Task> = world.tasks().filter(fits).collect();
    let likely = fitting.iter().filter(|task| is_likely(path, task.status()));
    let likely: Vec<String> = likely.map(|task| describe(task)).collect();
    if likely.is_empty() { fitting.into_iter().map(describe).collect() } else { likely }
}

/// Returns whether a command does something to tasks of this status.
fn is_likely(path: &[String], status: Status) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path[..] {
        ["approve" | "reject"] => status == Status::Review,
        ["answer"] => status == Status::Blocked,
        ["task", "retry"] => matches!(status, Status::Blocked | Status::Deadletter),
        ["task", "reopen"] => status == Status::Cancelled,
        ["task", "cancel" | "move" | "edit"] | ["why"] => !status.is_closed(),
        _ => true,
    }
}

/// Returns the last part of an id, or more of it if other tasks have the same.
fn short_id(world: &World, task: &Task) -> String {
    let id = task.id.as_str();
    let ends = ["TASK-YYYY-MM-DD-".len(), "TASK-YYYY-".len()].map(|at| id.get(at..).unwrap_or(id));
    let is_unique = |end: &&str| {
        let part = format!("-{end}");
        world.tasks().filter(|other| other.id.as_str().ends_with(&part)).count() == 1
    };
    ends.into_iter().find(is_unique).unwrap_or(id).to_owned()
}

fn find_agents(data: Option<&Path>) -> Vec<String> {
    let Ok(data) = ProjectData::find(data) else { return vec![] };
    data.config().agents.keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], expected: Option<ValueKind>) {
        assert_eq!(CursorPlace::find(&Args::command(), line).kind, expected, "{line:?}");
    }

    #[test]
    fn cursor_place_tells_what_an_argument_takes() {
        let (task, agent) = (Some(ValueKind::Task), Some(ValueKind::Agent));
        check(&["approve"], task);
        check(&["approve", "TASK-2026-02-09-001"], task);
        check(&["approve", "--note", "fine"], task);
        check(&["approve", "--note"], None);
        check(&["--json", "task", "show"], task);
        check(&["task", "show", "001"], None);
        check(&["task", "add", "Title", "--depends-on"], task);
        check(&["task", "list", "--agent"], agent);
        check(&["agents", "test"], agent);
        check(&["task", "move", "001"], Some(ValueKind::TaskOrStatus));
        check(&["events", "--task"], task);
        check(&["story", "start"], None);
        check(&["story", "auto", "--agent"], agent);
        check(&["help"], None);
        check(&["task"], None);
        check(&[], None);
    }

    #[test]
    fn cursor_place_knows_the_data_folder() {
        let data = |line: &[&str]| CursorPlace::find(&Args::command(), line).data;
        assert_eq!(data(&["--data", "x", "approve"]).as_deref(), Some("x"));
        assert_eq!(data(&["approve", "--data=x"]).as_deref(), Some("x"));
        assert_eq!(data(&["approve"]), None);
    }
}
