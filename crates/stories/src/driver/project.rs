//! A project and its stories: each call locks, reads, asks the core, writes once and answers.

use std::path::Path;

use adjutant_core::story::{AdvanceResult, StepRuleTable, StoryInput, StoryState, advance_story};
use adjutant_model::Time;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryId};
use adjutant_process::clock::Clock;
use adjutant_store::file::DATA_FOLDER;

use super::answer::{StoryCommandAnswer, StoryCommandResult};
use super::changes;
use super::prompt::{PromptError, prompt};
use super::story_selection::select_story;
use crate::files::own_fields::{BASE_COMMIT, LAST_REQUEST, STARTED_AT, TAKEN_UP_AT};
use crate::files::{
    FoundStory, StateFile, StateSlot, StepGuard, StepRun, StoryFiles, StoryFolder,
    StoryFolderError, StoryLock, StoryTrust,
};

pub struct StoryProject<'a> {
    folder: StoryFolder,
    rules: StepRuleTable,
    /// The text of the project's own rules.
    rules_text: Option<String>,
    clock: &'a (dyn Clock + Sync),
    /// How much of what the files would run the operator accepted.
    trust: StoryTrust,
    /// The id of the current request, if its caller may repeat it.
    request_id: Option<String>,
    /// What is kept while runs do steps; `None` without a data folder.
    guard: Option<StepGuard>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    #[error(transparent)]
    Folder(#[from] StoryFolderError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// Every story is done, or there is none.
    #[error("the project has no unfinished story")]
    NoStory,
    /// There are several unfinished stories, and the caller named none.
    #[error("the project has several unfinished stories: {}", names(.0))]
    Several(Vec<StoryId>),
    #[error("the project has no story {0}")]
    NotFound(StoryId),
    /// The step rules have commands that the operator has not accepted.
    #[error("the step rules would run commands that you have not accepted: {}", .0.join("; "))]
    UnacceptedRules(Vec<String>),
    /// The state file lets agents do the steps, which the operator has not accepted.
    #[error("{0} is set to automatic in its file, which you have not accepted")]
    UnacceptedStory(StoryId),
    /// The operator's acceptance cannot be recorded.
    #[error("cannot record that the stories are accepted")]
    Record(#[source] std::io::Error),
    /// A story would wait for itself, through these stories.
    #[error("{story} would wait for itself, through {}", names(.through))]
    Circular { story: StoryId, through: Vec<StoryId> },
    #[error("{story} is at {step}, {status}")]
    Started { story: StoryId, step: Step, status: StepStatus },
}

fn names(stories: &[StoryId]) -> String {
    stories.iter().map(StoryId::as_str).collect::<Vec<_>>().join(", ")
}

impl<'a> StoryProject<'a> {
    /// Opens the project at a folder, with or without stories.
    pub fn at(root: &Path, clock: &'a (dyn Clock + Sync)) -> Result<Self, StoryError> {
        Self::open(StoryFolder::at(root), clock)
    }

    /// Opens a project with its own data folder, if it has one.
    pub fn open(folder: StoryFolder, clock: &'a (dyn Clock + Sync)) -> Result<Self, StoryError> {
        let data = folder.root().join(DATA_FOLDER);
        Self::open_with_data(folder, &data, clock)
    }

    /// Opens a project; its rules are read now and not again. While runs of the data folder do
    /// steps, the rules are those that the steps were dispatched by, and what an executor changed
    /// of the state, the rules or the prompts is put back.
    pub fn open_with_data(
        folder: StoryFolder,
        data: &Path,
        clock: &'a (dyn Clock + Sync),
    ) -> Result<Self, StoryError> {
        let guard = StepGuard::find(data);
        let kept = guard.as_ref().map(StepGuard::kept).unwrap_or_default();
        let rules_text = match (&guard, kept.first()) {
            (Some(guard), Some((_, first))) => {
                let rules = folder.parse_rules(first.rules.as_deref())?;
                if !StepGuard::is_unchanged(&folder, &kept) {
                    guard.restore(&folder, &folder.lock()?, &rules)?;
                }
                guard.release_ended(&kept);
                first.rules.clone()
            }
            _ => folder.rules_text()?,
        };
        let rules = folder.parse_rules(rules_text.as_deref())?;
        let trust = StoryTrust::find(folder.root());
        Ok(Self { folder, rules, rules_text, clock, trust, request_id: None, guard })
    }

    /// Replaces what the operator accepted.
    #[must_use]
    pub fn with_trust(mut self, trust: Option<StoryTrust>) -> Self {
        self.trust = trust.unwrap_or(self.trust);
        self
    }

    pub fn trust(&self) -> &StoryTrust {
        &self.trust
    }

    /// Returns the stories that agents would do although the operator has not accepted it.
    pub fn unaccepted_stories(&self) -> Result<Vec<StoryId>, StoryError> {
        let files = self.read_stories()?;
        let is_open = |found: &&FoundStory| found.file.is_auto() && !found.file.state.is_done();
        let stories = files.found.iter().filter(is_open);
        let stories = stories.filter_map(|found| found.file.state.story.clone());
        Ok(stories.filter(|story| !self.trust.allows_auto(story)).collect())
    }

    /// Records that the operator accepts the commands of the step rules as they were read, and that
    /// agents do the steps of these stories.
    pub fn accept(&self, stories: Vec<StoryId>) -> Result<(), StoryError> {
        let _lock = self.folder.lock()?;
        let commands = self.trust.unaccepted_commands(&self.rules);
        self.trust.accept(self.folder.root(), commands, stories).map_err(StoryError::Record)
    }

    /// Makes calls idempotent under a request id: a repeated call changes nothing. The id is
    /// written together with the change, so that a crash cannot separate them.
    #[must_use]
    pub fn with_request_id(mut self, id: Option<String>) -> Self {
        self.request_id = id;
        self
    }

    /// Returns whether the story's last change has the id of this request.
    fn is_repeated(&self, file: &StateFile) -> bool {
        self.request_id.is_some() && file.text(LAST_REQUEST) == self.request_id.as_deref()
    }

    fn set_request_id(&self, file: &mut StateFile) {
        if let Some(id) = &self.request_id {
            file.set_text(LAST_REQUEST, id);
        }
    }

    pub fn folder(&self) -> &StoryFolder {
        &self.folder
    }

    pub fn rules(&self) -> &StepRuleTable {
        &self.rules
    }

    /// Writes the text of a state file. While a run does the step, the text is kept first, so that
    /// it does not count as a change by the executor.
    pub(super) fn put_state(
        &self,
        lock: &StoryLock,
        slot: &StateSlot,
        text: &str,
    ) -> Result<(), StoryError> {
        if let Some(guard) = &self.guard {
            guard.keep(&self.folder, slot, text, self.rules_text.as_deref())?;
        }
        self.folder.put_state(lock, slot, text)?;
        match &self.guard {
            Some(guard) => Ok(guard.confirm(slot)?),
            None => Ok(()),
        }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Starts a story. An existing story is started again only with `force`.
    pub fn start(
        &self,
        story: &StoryId,
        blocked_by: &[StoryId],
        force: bool,
    ) -> Result<StoryCommandAnswer, StoryError> {
        let lock = self.folder.lock()?;
        let mut files = self.read_stories()?;
        let is_own =
            |slot: &StateSlot| *slot == StateSlot::Main || *slot == StateSlot::Story(story.clone());
        if let Some(at) = files.broken.iter().position(|(slot, _)| is_own(slot)) {
            return Err(files.broken.remove(at).1.into());
        }
        if let Some(through) = files.circular_blockers(story, blocked_by) {
            return Err(StoryError::Circular { story: story.clone(), through });
        }
        let slot = match files.found.iter().find(|found| found.is_of(story)) {
            Some(found) if self.is_repeated(&found.file) => {
                return Ok(self.status_answer(&found.file));
            }
            Some(found) if !force => {
                let StoryState { step, status, .. } = found.file.state;
                return Err(StoryError::Started { story: story.clone(), step, status });
            }
            Some(found) => found.slot.clone(),
            None => self.slot_for_new_story(&lock, &files.found, story)?,
        };
        let mut state = StoryState::new(&self.project_name(), Some(story.clone()), Step::Bdd);
        blocked_by.clone_into(&mut state.blocked_by);
        let mut file = StateFile::with_fields(state.clone(), &self.rules);
        let now = self.now();
        file.set_text(STARTED_AT, &now);
        if let Some(head) = changes::current_commit(self.folder.root()) {
            file.set_text(BASE_COMMIT, &head);
        }
        file.set_text(TAKEN_UP_AT, &now);
        self.set_request_id(&mut file);
        self.put_state(&lock, &slot, &file.to_text(&state, &self.rules))?;
        Ok(StoryCommandAnswer::new(&self.rules, state, AdvanceResult::Moved))
    }

    /// Finds the file for a new story. A finished story moves out of the main file; an unfinished
    /// one stays there, and the new story gets its own file.
    fn slot_for_new_story(
        &self,
        lock: &StoryLock,
        all: &[FoundStory],
        story: &StoryId,
    ) -> Result<StateSlot, StoryError> {
        let main = all.iter().find(|found| found.slot == StateSlot::Main);
        let Some(main) = main else { return Ok(StateSlot::Main) };
        match &main.file.state.story {
            None if !main.is_busy() => Ok(StateSlot::Main),
            Some(old) if main.file.state.is_done() => {
                let text = main.file.to_text(&main.file.state, &self.rules);
                self.put_state(lock, &StateSlot::Story(old.clone()), &text)?;
                Ok(StateSlot::Main)
            }
            Some(_) | None => Ok(StateSlot::Story(story.clone())),
        }
    }

    fn project_name(&self) -> String {
        let root = self.folder.root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        root.file_name().map_or("project".into(), |name| name.to_string_lossy().into_owned())
    }

    /// Continues a story: starts the next executor, or says what the story waits for.
    pub fn continue_story(
        &self,
        story: Option<&StoryId>,
        note: Option<String>,
    ) -> Result<StoryCommandAnswer, StoryError> {
        self.continue_by(story, note, None)
    }

    /// Continues a story, and records the run that does the step.
    pub(super) fn continue_by(
        &self,
        story: Option<&StoryId>,
        note: Option<String>,
        run: Option<&StepRun>,
    ) -> Result<StoryCommandAnswer, StoryError> {
        let lock = self.folder.lock()?;
        let mut files = self.read_stories()?;
        let found = select_story(&mut files, story)?.clone();
        let state = &found.file.state;
        let is_own = found.is_busy() && run.is_some() && found.file.step_run().as_ref() == run;
        if is_own || self.is_repeated(&found.file) {
            return self.repeat_dispatch(&found);
        }
        let input = StoryInput::Next {
            now: self.judging_time(&found)?,
            note,
            open: files.open_blockers(state),
        };
        let decision = advance_story(&self.rules, state, &input);
        let mut answer = StoryCommandAnswer::new(&self.rules, decision.state, decision.result);
        answer.warnings.clone_from(&found.file.warnings);
        let mut file = found.file.clone();
        if answer.result == AdvanceResult::Dispatched.into() {
            answer.prompt = Some(prompt(&self.folder, &self.rules, &answer.state, &found.slot)?);
            let others = files.has_other_busy(&found.slot);
            let before = self.folder.archive_hand_overs(&lock, state, &found.slot, others)?;
            file.set_fingerprints(before);
            file.set_documents_before(self.document_fingerprints(&answer.state));
            file.set_step_run(run);
            self.set_request_id(&mut file);
        }
        self.write_state(&lock, &found.slot, &file, &answer.state)?;
        Ok(answer)
    }

    /// Repeats the answer to a dispatch while the executor is still running.
    fn repeat_dispatch(&self, found: &FoundStory) -> Result<StoryCommandAnswer, StoryError> {
        if found.file.state.status != StepStatus::Running {
            return Ok(self.status_answer(&found.file));
        }
        let mut answer = self.prompt_answer(found)?;
        answer.result = AdvanceResult::Dispatched.into();
        Ok(answer)
    }

    /// Returns the time to compare with an executor's deadline. While a hook checks what the
    /// executor left, the executor has ended and cannot time out.
    fn judging_time(&self, found: &FoundStory) -> Result<Time, StoryError> {
        let state = &found.file.state;
        if state.status == StepStatus::Running && self.folder.is_hook_running(&found.slot)? {
            return Ok(state.dispatched_at.unwrap_or_else(|| self.now()));
        }
        Ok(self.now())
    }

    /// Records a person's approval.
    pub fn approve(
        &self,
        story: Option<&StoryId>,
        note: Option<String>,
    ) -> Result<StoryCommandAnswer, StoryError> {
        self.apply_input(story, &StoryInput::Approve { note })
    }

    /// Records a person's rejection.
    pub fn reject(
        &self,
        story: Option<&StoryId>,
        reason: Option<StepFailReason>,
        note: Option<String>,
    ) -> Result<StoryCommandAnswer, StoryError> {
        self.apply_input(story, &StoryInput::Reject { reason, note })
    }

    /// Moves a story back to a step.
    pub fn rollback(
        &self,
        story: Option<&StoryId>,
        step: Step,
        note: Option<String>,
    ) -> Result<StoryCommandAnswer, StoryError> {
        self.apply_input(story, &StoryInput::Rollback { step, note })
    }

    /// Reopens a finished story.
    pub fn reopen(
        &self,
        story: &StoryId,
        step: Step,
        note: Option<String>,
    ) -> Result<StoryCommandAnswer, StoryError> {
        self.apply_input(Some(story), &StoryInput::Reopen { step, note })
    }

    /// Records that an executor failed.
    pub fn report_error(
        &self,
        story: Option<&StoryId>,
        error: &str,
    ) -> Result<StoryCommandAnswer, StoryError> {
        self.apply_input(story, &StoryInput::Failed { now: self.now(), error: error.to_owned() })
    }

    /// Checks the executors of all stories for timeouts.
    pub fn poll(&self) -> Result<Vec<StoryCommandAnswer>, StoryError> {
        let (files, results) = self.poll_stories()?;
        let answer = |(found, result): (FoundStory, AdvanceResult)| {
            StoryCommandAnswer::new(&self.rules, found.file.state, result)
        };
        Ok(files.found.into_iter().zip(results).map(answer).collect())
    }

    /// Checks the executors of all stories for timeouts. Returns the files afterwards, and the
    /// result for each story found.
    pub fn poll_stories(&self) -> Result<(StoryFiles, Vec<AdvanceResult>), StoryError> {
        let lock = self.folder.lock()?;
        let mut files = self.read_stories()?;
        let mut results = Vec::new();
        for found in &mut files.found {
            let input = StoryInput::Poll { now: self.judging_time(found)? };
            let decision = advance_story(&self.rules, &found.file.state, &input);
            self.write_state(&lock, &found.slot, &found.file, &decision.state)?;
            found.file.state = decision.state;
            results.push(decision.result);
        }
        Ok((files, results))
    }

    /// Returns a story's status without changing anything.
    pub fn status(
        &self,
        story: Option<&StoryId>,
    ) -> Result<(StoryCommandAnswer, StateFile), StoryError> {
        let found = self.read_story(story)?;
        Ok((self.status_answer(&found.file), found.file))
    }

    pub(super) fn status_answer(&self, file: &StateFile) -> StoryCommandAnswer {
        let result = StoryCommandResult::of_status(&file.state);
        let mut answer = StoryCommandAnswer::new(&self.rules, file.state.clone(), result);
        answer.auto = file.is_auto();
        answer.warnings.clone_from(&file.warnings);
        answer
    }

    /// Returns the status of every story, without the warnings about its file.
    pub fn list(&self) -> Result<Vec<StoryCommandAnswer>, StoryError> {
        let answer = |found: &FoundStory| StoryCommandAnswer {
            warnings: vec![],
            ..self.status_answer(&found.file)
        };
        Ok(self.read_stories()?.found.iter().map(answer).collect())
    }

    /// Returns the prompt for the executor of the current step.
    pub fn prompt(&self, story: Option<&StoryId>) -> Result<StoryCommandAnswer, StoryError> {
        self.prompt_answer(&self.read_story(story)?)
    }

    /// Returns the prompt for an executor of any step. The story needs no state; a state that it has
    /// is not changed.
    pub fn step_prompt(
        &self,
        story: Option<&StoryId>,
        step: Step,
    ) -> Result<StoryCommandAnswer, StoryError> {
        let (slot, found) = match self.read_story(story) {
            Ok(found) => (found.slot, Some(found.file.state)),
            Err(StoryError::NotFound(_) | StoryError::NoStory) => (StateSlot::Main, None),
            Err(error) => return Err(error),
        };
        let state = match found {
            Some(state) if state.step == step => state,
            found => {
                let named = story.cloned().or_else(|| found?.story);
                StoryState::new(&self.project_name(), named, step)
            }
        };
        let result = StoryCommandResult::of_status(&state);
        let mut answer = StoryCommandAnswer::new(&self.rules, state, result);
        answer.prompt = Some(prompt(&self.folder, &self.rules, &answer.state, &slot)?);
        Ok(answer)
    }

    fn prompt_answer(&self, found: &FoundStory) -> Result<StoryCommandAnswer, StoryError> {
        let mut answer = self.status_answer(&found.file);
        answer.prompt = Some(prompt(&self.folder, &self.rules, &answer.state, &found.slot)?);
        Ok(answer)
    }

    pub(super) fn apply_input(
        &self,
        story: Option<&StoryId>,
        input: &StoryInput,
    ) -> Result<StoryCommandAnswer, StoryError> {
        let lock = self.folder.lock()?;
        let found = self.read_story(story)?;
        if self.is_repeated(&found.file) {
            return Ok(self.status_answer(&found.file));
        }
        let decision = advance_story(&self.rules, &found.file.state, input);
        let mut file = found.file;
        if let StoryInput::Reopen { .. } = input {
            file.set_text(TAKEN_UP_AT, &self.now());
        }
        self.set_request_id(&mut file);
        self.write_state(&lock, &found.slot, &file, &decision.state)?;
        let mut answer = StoryCommandAnswer::new(&self.rules, decision.state, decision.result);
        answer.auto = file.is_auto();
        Ok(answer)
    }

    /// Writes a state if it differs from the stored one.
    pub(super) fn write_state(
        &self,
        lock: &StoryLock,
        slot: &StateSlot,
        file: &StateFile,
        state: &StoryState,
    ) -> Result<(), StoryError> {
        if *state == file.state {
            return Ok(());
        }
        self.put_state(lock, slot, &file.to_text(state, &self.rules))
    }

    /// Reads every state file.
    pub fn read_stories(&self) -> Result<StoryFiles, StoryFolderError> {
        self.folder.read_stories(&self.rules)
    }

    /// Returns the errors of the state files that cannot be read.
    pub fn broken_files(&self) -> Result<Vec<StoryFolderError>, StoryError> {
        Ok(self.read_stories()?.broken.into_iter().map(|(_, error)| error).collect())
    }

    /// Reads all state files, and returns the one of the story.
    pub(super) fn read_story(&self, story: Option<&StoryId>) -> Result<FoundStory, StoryError> {
        Ok(select_story(&mut self.read_stories()?, story)?.clone())
    }
}
