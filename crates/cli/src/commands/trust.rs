//! `adjutant trust`: accepts the configuration, or the checks of a task, before they are run.

use std::process::ExitCode;

use adjutant_config::SettingChange;
use adjutant_model::command::OperatorAction;
use adjutant_model::command_text::exact_command;
use adjutant_model::run_history::RunHistory;
use adjutant_model::story::StoryId;
use adjutant_model::{AnswerVerdict, Command, TaskId};
use adjutant_query::unaccepted_stories::UnacceptedStories;
use adjutant_stories::StoryError;
use adjutant_stories::files::StoryFolder;
use serde_json::{Value, json};

use super::several_tasks::for_each_task;
use super::story::{require_person, submit_update};
use super::task::{ChangedTask, UNCHANGED_NOTE, submit_command};
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// Accept what the configuration and the stories would run, or the checks in the file of a task
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A configuration that Adjutant did not write, or that was changed since, is not run until you accept \
it. The same holds for commands of step rules and automatic stories in .ai/, and for checks in a \
task file that no command of yours wrote.

Examples:
  adjutant trust        show what adjutant.toml and .ai/ would run, and ask
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
        let stories = UnacceptedStories::find(&data.folder.workspace());
        if let Some(stories) = &stories {
            accept_stories(stories, out, self.yes)?;
            if let Ok(data) = ProjectData::find(Some(data.folder.root())) {
                submit_update(&data, out);
            }
        }
        if !changes.is_empty() && !self.yes {
            data.with_accepted_config(attempt, out)?;
        } else if !changes.is_empty() {
            if !out.is_json() {
                data.print_unaccepted(out)?;
            }
            data.accept_config()?;
        }
        if out.is_json() {
            out.document(&document(data, changes, stories.as_ref()))?;
        } else if changes.is_empty() && stories.is_none() {
            out.line("adjutant.toml is accepted (unchanged)")?;
        } else {
            out.line("accepted")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl TrustArgs {
    /// Accepts what the stories of a project without a data folder would run.
    pub(crate) fn run_without_data(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        require_person(None, "cannot accept the stories", None, out)?;
        let here = std::env::current_dir()
            .map_err(|error| CommandFailure::broken("cannot find the working directory", &error))?;
        let folder = StoryFolder::find(&here).map_err(StoryError::from)?;
        let stories = UnacceptedStories::find(folder.root());
        if let Some(stories) = &stories {
            accept_stories(stories, out, self.yes)?;
        }
        if out.is_json() {
            let stories = stories.as_ref().map(stories_document);
            out.document(&json!({"accepted": true, "stories": stories}))?;
        } else if stories.is_none() {
            out.line(".ai/ is accepted (unchanged)")?;
        } else {
            out.line("accepted")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows what the files of stories would run, asks, and accepts it.
fn accept_stories(
    stories: &UnacceptedStories,
    out: &CommandOutput,
    yes: bool,
) -> Result<(), CommandFailure> {
    let attempt = "cannot accept the stories";
    let mut lines: Vec<String> = vec![];
    let command = |line: &String| format!("the step rules run: {}", exact_command(line));
    lines.extend(stories.commands.iter().map(command));
    let story = |story: &StoryId| format!("agents do the steps of {story}");
    lines.extend(stories.stories.iter().map(story));
    let lines: Vec<String> = lines.iter().map(|line| clean(line)).collect();
    let refused = |causes| {
        CommandFailure::refused_because("unaccepted_stories", attempt, causes)
            .with_hint("`adjutant trust --yes` accepts it without asking")
    };
    if !yes && !out.is_interactive() {
        return Err(refused(lines));
    }
    if !out.is_json() {
        out.line("The files in .ai/ are not accepted yet:")?;
        lines.iter().try_for_each(|line| out.line(&format!("  {line}")))?;
    }
    if !yes && !out.ask("Accept this?")? {
        return Err(refused(vec!["you did not accept it".to_owned()]));
    }
    Ok(stories.project.accept(stories.stories.clone())?)
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

fn document(
    data: &ProjectData,
    changes: &[SettingChange],
    stories: Option<&UnacceptedStories>,
) -> Value {
    let change = |change: &SettingChange| json!({"setting": change.name, "before": change.before, "after": change.after});
    let commands = data.wanted_config().map(|config| config.commands()).unwrap_or_default();
    let command =
        |(purpose, command): &(String, String)| json!({"for": purpose, "command": command});
    let mut document = json!({
        "accepted": true,
        "path": data.folder.root().join(adjutant_config::FILE),
        "commands": commands.iter().map(command).collect::<Value>(),
        "changes": changes.iter().map(change).collect::<Value>(),
    });
    if let Some(stories) = stories {
        document["stories"] = stories_document(stories);
    }
    document
}

fn stories_document(stories: &UnacceptedStories) -> Value {
    let names: Vec<&str> = stories.stories.iter().map(StoryId::as_str).collect();
    json!({"commands": stories.commands, "auto": names})
}
