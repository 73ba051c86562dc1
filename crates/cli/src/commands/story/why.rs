//! `adjutant story why`: says what holds a story back.

use std::path::Path;
use std::process::ExitCode;

use adjutant_model::story::StoryId;
use adjutant_query::why::WhyView;
use serde_json::{Value, json};

use super::{StorySelectionArgs, board_sync, line, to_failure};
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean_lines};

/// Say what holds a story back
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story why --story US-006")]
pub(crate) struct StoryWhyArgs {
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryWhyArgs {
    pub(crate) fn run(
        self,
        data: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let (answer, reasons) = project.reasons(story.as_ref()).map_err(to_failure)?;
        let root = project.folder().root();
        let known = match &answer.state.story {
            Some(story) if !answer.state.is_done() => task_reasons(root, data, story, out)?,
            _ => vec![],
        };
        let of_files = reasons.into_iter().map(|reason| (reason.code.to_owned(), reason.text));
        let mut all: Vec<(String, String)> = of_files.collect();
        for (code, text) in known {
            all.retain(|(_, known)| !is_same_dependency(known, &text));
            if !all.iter().any(|(known, _)| *known == code) {
                all.push((code, text));
            }
        }
        if out.is_json() {
            let mut document = answer.to_json();
            let reason = |(code, text): &(String, String)| json!({"code": code, "text": text});
            document["reasons"] = all.iter().map(reason).collect::<Vec<Value>>().into();
            out.document(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        line(out, &answer)?;
        for (_, text) in &all {
            out.line(&clean_lines(text))?;
        }
        if all.is_empty() {
            out.line(&clean_lines(&answer.caller_instruction()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns whether both texts are about the same dependency: the board knows more about it.
fn is_same_dependency(of_files: &str, of_board: &str) -> bool {
    let name = |text: &str| {
        let rest = text.strip_prefix("It depends on the story ")?;
        rest.split([',', ' ']).next().map(str::to_owned)
    };
    name(of_files).is_some() && name(of_files) == name(of_board)
}

/// Returns why the task of a story does not run, if the project has a data folder with it.
fn task_reasons(
    root: &Path,
    data: Option<&Path>,
    story: &StoryId,
    out: &CommandOutput,
) -> Result<Vec<(String, String)>, CommandFailure> {
    let Some(data) = board_sync::find_data(root, data)? else { return Ok(vec![]) };
    let Some(task) = data.resolve_task_id(story.as_str()) else { return Ok(vec![]) };
    let why = WhyView::new(&data.load_fleet_world(out)?, &task)?;
    Ok(why.reasons.into_iter().map(|hold| (hold.code.to_owned(), hold.text)).collect())
}
