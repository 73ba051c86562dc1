//! Protects the step rules while Adjutant runs a step.
//!
//! The folder of a step's run has a copy of the rules that were in force when the step was
//! dispatched. While the run lasts, the project is opened by that copy, and a changed file is put
//! back. So no rule that an executor wrote is ever followed, neither for its own step nor for
//! another story.

use std::io;
use std::path::Path;

use adjutant_core::story::judge::RulesState;
use adjutant_process::clock::SystemClock;
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_run_files::run_ref::attempt_folder;
use serde::{Deserialize, Serialize};

use crate::driver::{StoryError, StoryProject};
use crate::files::{FoundStory, StoryFolder};

/// The copy of the rules, in the folder of the attempt.
const COPY: &str = "step-rules.json";

/// The changed rules, in the folder of the attempt. The file exists if there was a change.
const CHANGED: &str = "step-rules.changed.yaml";

#[derive(Serialize, Deserialize)]
struct KeptRules {
    /// `None` if the project has no rules of its own.
    text: Option<String>,
}

/// Keeps the rules that a step is dispatched by. Call it before the step is dispatched.
pub fn keep_rules(project: &StoryProject<'_>, attempt: &AttemptFolder) -> io::Result<()> {
    let kept = KeptRules { text: project.rules_text().map(str::to_owned) };
    attempt.create()?;
    attempt.write(COPY, &serde_json::to_vec(&kept)?)
}

/// Opens a project. While a run does a step, the rules that the step was dispatched by are in
/// force, and a changed file is put back.
pub fn open_guarded(home: &Path, data: &Path) -> Result<StoryProject<'static>, StoryError> {
    let folder = StoryFolder::at(home);
    let attempts = attempts_at_work(&folder, data)?;
    let kept = attempts.iter().find_map(read_kept);
    let Some(KeptRules { text }) = kept else { return StoryProject::open(folder, &SystemClock) };
    // Rules that cannot be read are changed rules.
    if folder.rules_text().ok() != Some(text.clone()) {
        note_change(&folder, &attempts);
        folder.replace_rules(text.as_deref())?;
    }
    StoryProject::open_with_rules(folder, text, &SystemClock)
}

/// Returns whether the rules changed during a run.
pub(super) fn rules_state(attempt: &AttemptFolder) -> RulesState {
    if attempt.join(CHANGED).exists() { RulesState::Changed } else { RulesState::Unchanged }
}

/// Returns the folders of the runs that do a step now.
fn attempts_at_work(folder: &StoryFolder, data: &Path) -> Result<Vec<AttemptFolder>, StoryError> {
    let run = |found: &FoundStory| found.file.step_run().filter(|_| found.is_busy());
    let runs = folder.read_stories()?.found.iter().filter_map(run).collect::<Vec<_>>();
    Ok(runs.iter().map(|run| attempt_folder(data, &run.task, run.attempt)).collect())
}

fn read_kept(attempt: &AttemptFolder) -> Option<KeptRules> {
    serde_json::from_slice(&std::fs::read(attempt.join(COPY)).ok()?).ok()
}

/// Notes the change in every run before the file is put back: a daemon that is killed in between
/// must not forget it. Which of the executors made it is not known.
fn note_change(folder: &StoryFolder, attempts: &[AttemptFolder]) {
    let changed = folder.rules_text().ok().flatten().unwrap_or_default();
    for attempt in attempts.iter().filter(|attempt| !attempt.join(CHANGED).exists()) {
        // A copy that cannot be written is no reason to follow the changed rules.
        let _ = attempt.write(CHANGED, changed.as_bytes());
    }
}
