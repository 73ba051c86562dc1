//! Protects what decides about a step while Adjutant runs it.
//!
//! The data folder has a copy of the state as Adjutant last wrote it, and of the step rules and
//! prompts that were in force when the step was dispatched. Until the run has ended, each change
//! that Adjutant did not make is put back, so that no position, rule or prompt that an executor
//! wrote is ever followed. A project without a data folder has no such runs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_core::story::{StepRuleTable, StoryInput, advance_story};
use adjutant_model::story::{StepStatus, StoryId};
use adjutant_run_files::attempt_files::{AttemptFolder, SyncLevel, replace_file};
use adjutant_run_files::run_ref::attempt_folder;
use serde::{Deserialize, Serialize};

use super::{StateFile, StateSlot, StepRun, StoryFolder, StoryFolderError, StoryLock};

/// The folder of the copies, in the data folder.
const FOLDER: &str = "stories";

/// The copies of changed files, in the folder of the attempt. Each exists if there was a change.
const CHANGED_RULES: &str = "step-rules.changed.yaml";
const CHANGED_STATE: &str = "STATE.changed.json";
const CHANGED_PROMPTS: &str = "prompts.changed.json";

/// The copies that a data folder has of the stories whose steps its runs do.
#[derive(Debug, Clone)]
pub(crate) struct StepGuard {
    data: PathBuf,
}

/// What was kept of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptStep {
    /// The run that does the step.
    run: String,
    /// The text of the state file as Adjutant last wrote it.
    state: String,
    /// The text before that, which is still in the file after a crash.
    earlier: Option<String>,
    /// `None` if the project has no rules of its own.
    pub(crate) rules: Option<String>,
    /// The project's prompt templates, by their path in the folder.
    prompts: BTreeMap<String, String>,
}

impl StepGuard {
    /// Returns the guard of a data folder; `None` if the folder does not exist.
    pub(crate) fn find(data: &Path) -> Option<Self> {
        data.is_dir().then(|| Self { data: data.to_owned() })
    }

    fn path(&self, slot: &StateSlot) -> PathBuf {
        let folder = self.data.join(FOLDER);
        match slot {
            StateSlot::Main => folder.join("STATE.json"),
            StateSlot::Story(story) => folder.join("states").join(format!("{story}.json")),
        }
    }

    /// Keeps a state before it is written to its file. The step rules and prompts are kept when a
    /// run is started.
    pub(crate) fn keep(
        &self,
        folder: &StoryFolder,
        slot: &StateSlot,
        text: &str,
        rules: Option<&str>,
    ) -> Result<(), StoryFolderError> {
        let kept = self.read(slot);
        let earlier = folder.state_text(slot);
        let dispatched = running_step(text);
        let is_new = |run: &StepRun| kept.as_ref().is_none_or(|kept| kept.run != run.to_string());
        if let Some(run) = dispatched.filter(is_new) {
            return self.write(slot, &KeptStep::of_dispatch(folder, &run, text, earlier, rules));
        }
        match kept {
            // A run in a sandbox cannot write here. It may only say that its step failed, and that
            // state is accepted without a copy.
            Some(kept) => {
                let step = KeptStep { state: text.to_owned(), earlier, ..kept };
                ignore_out_of_reach(self.write(slot, &step))
            }
            None => Ok(()),
        }
    }

    /// Notes that a kept state is in its file: from now on, only this text counts as unchanged.
    pub(crate) fn confirm(&self, slot: &StateSlot) -> Result<(), StoryFolderError> {
        match self.read(slot) {
            Some(kept) if kept.earlier.is_some() => {
                ignore_out_of_reach(self.write(slot, &KeptStep { earlier: None, ..kept }))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn write(&self, slot: &StateSlot, step: &KeptStep) -> Result<(), StoryFolderError> {
        let path = self.path(slot);
        let failed = StoryFolderError::io("write", &path);
        let write = || -> io::Result<()> {
            fs::create_dir_all(path.parent().unwrap_or(&self.data))?;
            replace_file(&path, &serde_json::to_vec(step)?, SyncLevel::Whole)
        };
        write().map_err(failed)
    }

    fn read(&self, slot: &StateSlot) -> Option<KeptStep> {
        serde_json::from_slice(&fs::read(self.path(slot)).ok()?).ok()
    }

    /// Returns what is kept of every story.
    pub(crate) fn kept(&self) -> Vec<(StateSlot, KeptStep)> {
        let entries = fs::read_dir(self.data.join(FOLDER).join("states"));
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        let story = |name: String| StoryId::parse(name.strip_suffix(".json")?).ok();
        let slots = entries.into_iter().flatten().flatten().filter_map(name).filter_map(story);
        let slots = [StateSlot::Main].into_iter().chain(slots.map(StateSlot::Story));
        slots.filter_map(|slot| Some((slot.clone(), self.read(&slot)?))).collect()
    }

    /// Returns whether no file differs from what is kept.
    pub(crate) fn is_unchanged(folder: &StoryFolder, kept: &[(StateSlot, KeptStep)]) -> bool {
        let is_state = |(slot, step): &(StateSlot, KeptStep)| {
            folder.state_text(slot).as_ref() == Some(&step.state)
        };
        let Some((_, first)) = kept.first() else { return true };
        kept.iter().all(is_state)
            && folder.rules_text().ok() == Some(first.rules.clone())
            && folder.prompt_texts() == first.prompts
    }

    /// Puts every changed file back, and notes the change in the folders of the runs before. A
    /// crash in between only repeats it.
    pub(crate) fn restore(
        &self,
        folder: &StoryFolder,
        lock: &StoryLock,
        rules: &StepRuleTable,
    ) -> Result<(), StoryFolderError> {
        let kept = self.kept();
        for (slot, step) in &kept {
            self.restore_state(folder, lock, rules, slot, step)?;
        }
        let Some((_, first)) = kept.first() else { return Ok(()) };
        let attempts: Vec<AttemptFolder> =
            kept.iter().filter_map(|(_, step)| self.attempt(step)).collect();
        // Rules that cannot be read are changed rules.
        let found = folder.rules_text().ok();
        if found.as_ref() != Some(&first.rules) {
            note_change(&attempts, CHANGED_RULES, &found.flatten().unwrap_or_default());
            folder.replace_rules(first.rules.as_deref())?;
        }
        let found = folder.prompt_texts();
        if found != first.prompts {
            let text = serde_json::to_string_pretty(&found).unwrap_or_default();
            note_change(&attempts, CHANGED_PROMPTS, &text);
            folder.replace_prompts(&found, &first.prompts)?;
        }
        Ok(())
    }

    fn restore_state(
        &self,
        folder: &StoryFolder,
        lock: &StoryLock,
        rules: &StepRuleTable,
        slot: &StateSlot,
        step: &KeptStep,
    ) -> Result<(), StoryFolderError> {
        let found = folder.state_text(slot);
        if found.as_ref() == Some(&step.state) {
            return Ok(());
        }
        // The process that kept the state may have been killed before it wrote it.
        let is_allowed =
            |text: &&String| step.earlier.as_ref() == Some(text) || step.allows(rules, text);
        if let Some(text) = found.as_ref().filter(is_allowed) {
            let step = KeptStep { state: text.clone(), earlier: None, ..step.clone() };
            return self.write(slot, &step);
        }
        let attempts: Vec<AttemptFolder> = self.attempt(step).into_iter().collect();
        note_change(&attempts, CHANGED_STATE, &found.unwrap_or_default());
        folder.put_state(lock, slot, &step.state)
    }

    fn attempt(&self, step: &KeptStep) -> Option<AttemptFolder> {
        let run = StepRun::parse(&step.run)?;
        Some(attempt_folder(&self.data, &run.task, run.attempt))
    }

    /// Stops to guard the stories whose run has ended and whose result was recorded.
    pub(crate) fn release_ended(&self, kept: &[(StateSlot, KeptStep)]) {
        let is_alive = |step: &KeptStep| {
            let record = self.attempt(step).and_then(|attempt| attempt.record().ok().flatten());
            record.is_some_and(|record| record.is_alive())
        };
        for (slot, step) in kept {
            if running_step(&step.state).is_none() && !is_alive(step) {
                // If this fails, the next process tries again.
                let _ = fs::remove_file(self.path(slot));
            }
        }
    }
}

/// Ignores that a sandbox does not let this process write.
fn ignore_out_of_reach(written: Result<(), StoryFolderError>) -> Result<(), StoryFolderError> {
    match written {
        Err(StoryFolderError::Io { source, .. })
            if matches!(
                source.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok(())
        }
        written => written,
    }
}

impl KeptStep {
    /// Keeps what a step is dispatched by.
    fn of_dispatch(
        folder: &StoryFolder,
        run: &StepRun,
        text: &str,
        earlier: Option<String>,
        rules: Option<&str>,
    ) -> Self {
        Self {
            run: run.to_string(),
            state: text.to_owned(),
            earlier,
            rules: rules.map(str::to_owned),
            prompts: folder.prompt_texts(),
        }
    }

    /// Returns whether a state is one that an executor may write through Adjutant's own commands:
    /// that it failed, or that its time is over. Neither moves the story to another step.
    fn allows(&self, rules: &StepRuleTable, text: &str) -> bool {
        let (Ok(kept), Ok(found)) =
            (StateFile::parse(self.state.as_bytes()), StateFile::parse(text.as_bytes()))
        else {
            return false;
        };
        let Some(at) = found.state.completed_at else { return false };
        let error = found.state.last_error.clone().unwrap_or_default();
        let inputs = [StoryInput::Failed { now: at, error }, StoryInput::Poll { now: at }];
        inputs.iter().any(|input| {
            let decision = advance_story(rules, &kept.state, input);
            decision.state != kept.state && kept.to_text(&decision.state, rules) == text
        })
    }
}

/// Returns the run that does a step now, according to the text of a state file.
fn running_step(text: &str) -> Option<StepRun> {
    let file = StateFile::parse(text.as_bytes()).ok()?;
    let is_running = file.state.status == StepStatus::Running && !file.state.is_done();
    file.step_run().filter(|_| is_running)
}

/// Notes a change in the folders of runs. Which of several executors made it is not known.
fn note_change(attempts: &[AttemptFolder], name: &str, text: &str) {
    for attempt in attempts.iter().filter(|attempt| !attempt.join(name).exists()) {
        // A copy that cannot be written is no reason to follow the change.
        let _ = attempt.create().and_then(|()| attempt.write(name, text.as_bytes()));
    }
}

/// Returns what was changed during a run, in words; `None` if nothing was.
pub(crate) fn noted_change(attempt: &AttemptFolder) -> Option<String> {
    let names = [
        (CHANGED_RULES, "step-rules.yaml"),
        (CHANGED_STATE, "the state of the story"),
        (CHANGED_PROMPTS, "a prompt"),
    ];
    let changed = names.iter().filter(|(name, _)| attempt.join(name).exists());
    let changed: Vec<&str> = changed.map(|(_, what)| *what).collect();
    (!changed.is_empty()).then(|| changed.join(" and "))
}
