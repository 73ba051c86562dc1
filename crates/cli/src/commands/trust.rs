//! `adjutant trust`: accepts the configuration, or the checks of a task, before they are run.

use std::process::ExitCode;

use adjutant_config::SettingChange;
use adjutant_model::command::OperatorAction;
use adjutant_model::command_text::exact_command;
use adjutant_model::run_history::RunHistory;
use adjutant_model::{AnswerVerdict, Command, TaskId};
use serde_json::{Value, json};

use super::several_tasks::for_each_task;
use super::task::{ChangedTask, UNCHANGED_NOTE, submit_command};
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// Accept what the configuration would run, or the checks in the file of a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A configuration that Adjutant did not write, or that was changed since, is not run until you accept \
it. The same holds for checks in a task file that no command of yours wrote.

Examples:
  adjutant trust        show what adjutant.toml would run, and ask
  adjutant trust --yes  accept it without asking
  adjutant trust 042    show the checks in the file of a task, and ask")]
pub(crate) struct TrustArgs {
    /// The ids of tasks whose checks to accept [default: accept adjutant.toml]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Accept without asking
    #[arg(long)]
    yes: bool,
}

impl TrustArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        if !self.ids.is_empty() {
            let data = &ProjectData::find(Some(data.folder.root()))?;
            return for_each_task(data, out, &self.ids, |id| {
                accept_checks(data, out, id, self.yes)
            });
        }
        let attempt = "cannot accept the configuration";
        data.require_operator(OperatorAction::Trust, attempt, out)?;
        let changes = data.unaccepted();
        if !changes.is_empty() && !self.yes {
            data.with_accepted_config(attempt, out)?;
        } else if !changes.is_empty() {
            if !out.is_json() {
                data.print_unaccepted(out)?;
            }
            data.accept_config()?;
        }
        if out.is_json() {
            out.document(&document(data, changes))?;
        } else if changes.is_empty() {
            out.line("adjutant.toml is accepted (unchanged)")?;
        } else {
            out.line("accepted")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows the checks in the file of a task, asks, and accepts them.
fn accept_checks(
    data: &ProjectData,
    out: &CommandOutput,
    id: &TaskId,
    yes: bool,
) -> Result<ChangedTask, CommandFailure> {
    let attempt = format!("cannot accept the checks of {id}");
    let world = data.load_world(out)?;
    let history = world.task(id).map(|task| &task.history);
    let checks: Option<Vec<String>> = history
        .and_then(|history| history.checks.as_ref())
        .map(|checks| checks.iter().map(ToString::to_string).collect());
    if history.is_some_and(RunHistory::has_unaccepted_checks) && !yes {
        if !out.is_interactive() {
            let causes =
                checks.iter().flatten().map(|check| clean(&exact_command(check))).collect();
            let hint = format!("`adjutant trust {id} --yes` accepts them without asking");
            let failure = CommandFailure::refused_because("unaccepted_checks", attempt, causes);
            return Err(failure.with_hint(hint));
        }
        out.line(&format!("The file of {id} asks for these checks:"))?;
        for check in checks.iter().flatten() {
            out.line(&format!("  {}", clean(&exact_command(check))))?;
        }
        if !out.ask("Accept them?")? {
            let why = vec!["you did not accept them".to_owned()];
            return Err(CommandFailure::refused_because("unaccepted_checks", attempt, why));
        }
    }
    let command = Command::AcceptChecks { id: id.clone(), checks };
    let answered = submit_command(data, out, &attempt, command)?;
    let is_noop = answered.answer.verdict == AnswerVerdict::Noop;
    let note = if is_noop { UNCHANGED_NOTE } else { " (checks accepted)" };
    ChangedTask::read(data, id, note)
}

fn document(data: &ProjectData, changes: &[SettingChange]) -> Value {
    let change = |change: &SettingChange| json!({"setting": change.name, "before": change.before, "after": change.after});
    let commands = data.wanted_config().map(|config| config.commands()).unwrap_or_default();
    let command =
        |(purpose, command): &(String, String)| json!({"for": purpose, "command": command});
    json!({
        "accepted": true,
        "path": data.folder.root().join(adjutant_config::FILE),
        "commands": commands.iter().map(command).collect::<Value>(),
        "changes": changes.iter().map(change).collect::<Value>(),
    })
}
