//! A project and its stories: each call locks, reads, asks the core, writes once and answers.

use std::path::Path;

use adjutant_core::pipeline::{Input, Reason, Rules, Said, State, Status, Step, StoryId, advance};
use adjutant_store::story::{Folder, FolderError, Lock, Slot, StateFile};
use serde_json::json;

use super::answer::Answer;
use super::auto::is_auto;
use super::changes;
use super::prompt::{BadPrompt, prompt};
use crate::Clock;

/// When a person last began a story, took it up again, or set it to go by itself.
pub(super) const TAKEN_UP: &str = "taken_up_at";

/// The mark of the last call that carried one and changed the story.
const LAST_REQUEST: &str = "last_request";

/// A project with stories.
pub struct Project<'a> {
    folder: Folder,
    rules: Rules,
    clock: &'a (dyn Clock + Sync),
    /// What tells the present call from others, if its caller may make it again.
    mark: Option<String>,
}

/// Why a call about a story could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// The files say no.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The prompt cannot be made.
    #[error(transparent)]
    Prompt(#[from] BadPrompt),
    /// The project has no story.
    #[error("the project has no story that is not done")]
    NoStory,
    /// The project has several stories, and none was named.
    #[error("the project has several stories: {}", names(.0))]
    Several(Vec<StoryId>),
    /// The project has no such story.
    #[error("the project has no story {0}")]
    NotFound(StoryId),
    /// The story is there already.
    #[error("{story} is at {step}, {status}")]
    Started {
        /// The story.
        story: StoryId,
        /// Where it stands.
        step: Step,
        /// How that stands.
        status: Status,
    },
}

fn names(stories: &[StoryId]) -> String {
    stories.iter().map(StoryId::as_str).collect::<Vec<_>>().join(", ")
}

/// A story as it is found.
pub(super) struct Found {
    pub(super) slot: Slot,
    pub(super) file: StateFile,
}

/// The stories of a project. A file that makes no sense is nobody's story, and stops no other.
#[derive(Default)]
pub(super) struct All {
    pub(super) found: Vec<Found>,
    broken: Vec<(Slot, FolderError)>,
}

impl<'a> Project<'a> {
    /// Opens the project in or around a folder.
    pub fn find(from: &Path, clock: &'a (dyn Clock + Sync)) -> Result<Self, StoryError> {
        let folder = Folder::find(from)?;
        Self::open(folder, clock)
    }

    /// Opens the project at a folder, whether or not it has stories yet.
    pub fn at(root: &Path, clock: &'a (dyn Clock + Sync)) -> Result<Self, StoryError> {
        Self::open(Folder::at(root), clock)
    }

    fn open(folder: Folder, clock: &'a (dyn Clock + Sync)) -> Result<Self, StoryError> {
        let rules = folder.rules()?;
        Ok(Self { folder, rules, clock, mark: None })
    }

    /// Does what is asked under a mark: asked again under the same one, it is done already. The mark
    /// is written with the change, so that no crash comes in between.
    #[must_use]
    pub fn under(mut self, mark: Option<String>) -> Self {
        self.mark = mark;
        self
    }

    /// Says whether a story was last changed under the mark of this call.
    fn is_done(&self, file: &StateFile) -> bool {
        let last = file.extra(LAST_REQUEST).and_then(serde_json::Value::as_str);
        self.mark.is_some() && last == self.mark.as_deref()
    }

    fn put_mark(&self, file: &mut StateFile) {
        if let Some(mark) = &self.mark {
            file.set_extra(LAST_REQUEST, json!(mark));
        }
    }

    /// Returns the files of the project.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Returns the rules of the project.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub(super) fn now(&self) -> adjutant_core::Time {
        self.clock.now()
    }

    /// Starts a story. One that is there already is started again only if `force` says so.
    pub fn start(
        &self,
        story: &StoryId,
        blocked_by: &[StoryId],
        force: bool,
    ) -> Result<Answer, StoryError> {
        let lock = self.folder.lock()?;
        let mut all = self.all()?;
        let own = |slot: &Slot| *slot == Slot::Main || *slot == Slot::Story(story.clone());
        if let Some(at) = all.broken.iter().position(|(slot, _)| own(slot)) {
            return Err(all.broken.remove(at).1.into());
        }
        let all = all.found;
        let mut slot = None;
        if let Some(found) = all.iter().find(|found| found.file.state.story.as_ref() == Some(story))
        {
            let (step, status) = (found.file.state.step, found.file.state.status);
            if self.is_done(&found.file) {
                return Ok(self.status(Some(story))?.0);
            }
            if !force {
                return Err(StoryError::Started { story: story.clone(), step, status });
            }
            slot = Some(found.slot.clone());
        }
        let slot = match slot {
            Some(slot) => slot,
            None => self.room(&lock, &all, story)?,
        };
        let mut state = State::begin(&self.name(), Some(story.clone()), Step::Bdd);
        blocked_by.clone_into(&mut state.blocked_by);
        let mut file = StateFile::new(state.clone());
        file.set_extra("started_at", json!(self.now().to_string()));
        file.set_extra(TAKEN_UP, json!(self.now().to_string()));
        if let Some(head) = changes::head(self.folder.root()) {
            file.set_extra("base_commit", json!(head));
        }
        self.put_mark(&mut file);
        self.folder.put_state(&lock, &slot, &in_order(&file, &state, &self.rules))?;
        Ok(Answer::new(&self.rules, state, &Said::Moved))
    }

    /// Finds the file for a new story. One that is done makes room; one that is not keeps its own.
    fn room(&self, lock: &Lock, all: &[Found], story: &StoryId) -> Result<Slot, StoryError> {
        let main = all.iter().find(|found| found.slot == Slot::Main);
        let Some(main) = main else { return Ok(Slot::Main) };
        match &main.file.state.story {
            None if !is_busy(&main.file.state) => Ok(Slot::Main),
            Some(old) if main.file.state.is_done() => {
                let text = main.file.text(&main.file.state, &self.rules);
                self.folder.put_state(lock, &Slot::Story(old.clone()), &text)?;
                Ok(Slot::Main)
            }
            Some(_) | None => Ok(Slot::Story(story.clone())),
        }
    }

    fn name(&self) -> String {
        let root = self.folder.root();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        root.file_name().map_or("project".into(), |name| name.to_string_lossy().into_owned())
    }

    /// Goes on with a story: starts the next executor, or says what is waited for.
    pub fn next(
        &self,
        story: Option<&StoryId>,
        note: Option<String>,
    ) -> Result<Answer, StoryError> {
        self.next_by(story, note, "caller")
    }

    /// Goes on with a story, and takes note who starts the executor.
    pub fn next_by(
        &self,
        story: Option<&StoryId>,
        note: Option<String>,
        by: &str,
    ) -> Result<Answer, StoryError> {
        let lock = self.folder.lock()?;
        let all = self.all()?.sound(story)?;
        let found = pick(&all, story)?;
        let state = &found.file.state;
        if self.is_done(&found.file) {
            return self.dispatched(state);
        }
        let input =
            Input::Next { now: self.deadline(found)?, note, open: Self::waited_for(&all, state) };
        let decision = advance(&self.rules, state, &input);
        let mut answer = Answer::new(&self.rules, decision.state, &decision.said);
        answer.warnings.clone_from(&found.file.warnings);
        let mut file = found.file.clone();
        if decision.said == Said::Dispatched {
            answer.prompt = Some(prompt(&self.folder, &self.rules, &answer.state, &found.slot)?);
            let busy = |other: &Found| other.slot != found.slot && is_busy(&other.file.state);
            let others = all.iter().any(busy);
            let signs = self.folder.put_papers_aside(&lock, state, &found.slot, others)?;
            file.set_extra("papers_before", signs);
            file.set_extra("dispatched_by", json!(by));
            self.put_mark(&mut file);
        }
        self.put(&lock, &found.slot, &file, &answer.state)?;
        Ok(answer)
    }

    /// Says again that an executor was started, if it is still at work.
    pub(super) fn dispatched(&self, state: &State) -> Result<Answer, StoryError> {
        if state.status != Status::Running {
            return Ok(self.status(state.story.as_ref())?.0);
        }
        let mut answer = self.prompt(state.story.as_ref())?;
        answer.result = "dispatched";
        Ok(answer)
    }

    /// Returns the time by which an executor is judged. While somebody looks at what it left, it
    /// has ended, and is not too late.
    fn deadline(&self, found: &Found) -> Result<adjutant_core::Time, StoryError> {
        let state = &found.file.state;
        if state.status == Status::Running && self.folder.is_hook_at_work(&found.slot)? {
            return Ok(state.dispatched_at.unwrap_or_else(|| self.now()));
        }
        Ok(self.now())
    }

    /// Returns those of the stories a story waits for that are not done.
    pub(super) fn waited_for(all: &[Found], state: &State) -> Vec<StoryId> {
        let done = |story: &StoryId| {
            let is = |found: &&Found| found.file.state.story.as_ref() == Some(story);
            all.iter().find(is).is_some_and(|found| found.file.state.is_done())
        };
        state.blocked_by.iter().filter(|story| !done(story)).cloned().collect()
    }

    /// Takes a person's yes.
    pub fn approve(
        &self,
        story: Option<&StoryId>,
        note: Option<String>,
    ) -> Result<Answer, StoryError> {
        self.change(story, &Input::Approve { note })
    }

    /// Takes a person's no.
    pub fn reject(
        &self,
        story: Option<&StoryId>,
        reason: Option<Reason>,
        note: Option<String>,
    ) -> Result<Answer, StoryError> {
        self.change(story, &Input::Reject { reason, note })
    }

    /// Puts a story back to a step.
    pub fn rollback(
        &self,
        story: Option<&StoryId>,
        step: Step,
        note: Option<String>,
    ) -> Result<Answer, StoryError> {
        self.change(story, &Input::Rollback { step, note })
    }

    /// Takes a story up again that was done.
    pub fn reopen(
        &self,
        story: &StoryId,
        step: Step,
        note: Option<String>,
    ) -> Result<Answer, StoryError> {
        self.change_noting(Some(story), &Input::Reopen { step, note }, |file| self.take_up(file))
    }

    /// Takes note that an executor broke.
    pub fn report_error(&self, story: Option<&StoryId>, error: &str) -> Result<Answer, StoryError> {
        self.change(story, &Input::Broke { now: self.now(), error: error.to_owned() })
    }

    /// Looks whether an executor of any story took too long.
    pub fn poll(&self) -> Result<Vec<Answer>, StoryError> {
        let lock = self.folder.lock()?;
        let mut answers = Vec::new();
        for found in self.all()?.found {
            let input = Input::Poll { now: self.deadline(&found)? };
            let decision = advance(&self.rules, &found.file.state, &input);
            self.put(&lock, &found.slot, &found.file, &decision.state)?;
            answers.push(Answer::new(&self.rules, decision.state, &decision.said));
        }
        Ok(answers)
    }

    /// Says where a story stands, and changes nothing.
    pub fn status(&self, story: Option<&StoryId>) -> Result<(Answer, StateFile), StoryError> {
        let all = self.all()?.sound(story)?;
        let found = pick(&all, story)?;
        let mut answer = Answer::new(&self.rules, found.file.state.clone(), &Said::Nothing);
        answer.result = if answer.state.is_done() { "done" } else { answer.state.status.as_str() };
        answer.auto = is_auto(&found.file);
        answer.warnings.clone_from(&found.file.warnings);
        Ok((answer, found.file.clone()))
    }

    /// Says where every story stands.
    pub fn list(&self) -> Result<Vec<Answer>, StoryError> {
        let answer = |found: Found| {
            let auto = is_auto(&found.file);
            let mut answer = Answer::new(&self.rules, found.file.state, &Said::Nothing);
            answer.auto = auto;
            answer.result =
                if answer.state.is_done() { "done" } else { answer.state.status.as_str() };
            answer
        };
        Ok(self.all()?.found.into_iter().map(answer).collect())
    }

    /// Returns what an executor of the present step is or would be told.
    pub fn prompt(&self, story: Option<&StoryId>) -> Result<Answer, StoryError> {
        let (mut answer, _) = self.status(story)?;
        let all = self.all()?.sound(story)?;
        let slot = &pick(&all, story)?.slot;
        answer.prompt = Some(prompt(&self.folder, &self.rules, &answer.state, slot)?);
        Ok(answer)
    }

    /// Goes on with a story as far as it can without an executor.
    pub fn onward(&self, story: &StoryId) -> Result<Answer, StoryError> {
        self.change(Some(story), &Input::Onward { now: self.now() })
    }

    /// Takes back the dispatch of an executor that was stopped before it could come to anything.
    pub fn stopped(&self, story: &StoryId) -> Result<Answer, StoryError> {
        self.change(Some(story), &Input::Stopped)
    }

    fn change(&self, story: Option<&StoryId>, input: &Input) -> Result<Answer, StoryError> {
        self.change_noting(story, input, |_| {})
    }

    fn change_noting(
        &self,
        story: Option<&StoryId>,
        input: &Input,
        note: impl FnOnce(&mut StateFile),
    ) -> Result<Answer, StoryError> {
        let lock = self.folder.lock()?;
        let all = self.all()?.sound(story)?;
        let found = pick(&all, story)?;
        if self.is_done(&found.file) {
            return Ok(self.status(found.file.state.story.as_ref())?.0);
        }
        let decision = advance(&self.rules, &found.file.state, input);
        let mut file = found.file.clone();
        note(&mut file);
        self.put_mark(&mut file);
        self.put(&lock, &found.slot, &file, &decision.state)?;
        let mut answer = Answer::new(&self.rules, decision.state, &decision.said);
        answer.auto = is_auto(&file);
        Ok(answer)
    }

    /// Notes that a person has taken a story up now.
    pub(super) fn take_up(&self, file: &mut StateFile) {
        file.set_extra(TAKEN_UP, json!(self.now().to_string()));
    }

    /// Writes a state, if it is another than the one that is there.
    pub(super) fn put(
        &self,
        lock: &Lock,
        slot: &Slot,
        file: &StateFile,
        state: &State,
    ) -> Result<(), StoryError> {
        if *state == file.state {
            return Ok(());
        }
        Ok(self.folder.put_state(lock, slot, &file.text(state, &self.rules))?)
    }

    /// Says what is wrong with files that no story can be read from.
    pub fn broken(&self) -> Result<Vec<FolderError>, StoryError> {
        Ok(self.all()?.broken.into_iter().map(|(_, error)| error).collect())
    }

    /// Reads every story of the project.
    pub(super) fn all(&self) -> Result<All, StoryError> {
        let mut all = All::default();
        for slot in self.folder.slots()? {
            match self.folder.state(&slot) {
                Ok(Some(file)) => all.found.push(Found { slot, file }),
                Ok(None) => {}
                Err(error @ FolderError::BadState { .. }) => all.broken.push((slot, error)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(all)
    }
}

impl All {
    /// Returns the stories, unless the one that is meant may be in a file that makes no sense.
    pub(super) fn sound(mut self, story: Option<&StoryId>) -> Result<Vec<Found>, StoryError> {
        let is = |found: &Found| story.is_some() && found.file.state.story.as_ref() == story;
        if self.broken.is_empty() || self.found.iter().any(is) {
            return Ok(self.found);
        }
        let own = |slot: &Slot| matches!(slot, Slot::Story(own) if Some(own) == story);
        let at = self.broken.iter().position(|(slot, _)| own(slot)).unwrap_or(0);
        Err(self.broken.swap_remove(at).1.into())
    }
}

/// Writes the fields of a new file in their usual order, whatever was set first.
fn in_order(file: &StateFile, state: &State, rules: &Rules) -> String {
    let plain = StateFile::new(state.clone()).text(state, rules);
    let mut whole = StateFile::parse(plain.as_bytes()).unwrap_or_else(|_| file.clone());
    for name in ["started_at", "base_commit", TAKEN_UP, LAST_REQUEST] {
        if let Some(value) = file.extra(name) {
            whole.set_extra(name, value.clone());
        }
    }
    whole.text(state, rules)
}

pub(super) fn is_busy(state: &State) -> bool {
    state.status == Status::Running && !state.is_done()
}

/// Picks the story that is named, or the one that is not done; if all are, the last one.
pub(super) fn pick<'f>(all: &'f [Found], story: Option<&StoryId>) -> Result<&'f Found, StoryError> {
    if let Some(story) = story {
        let is = |found: &&Found| found.file.state.story.as_ref() == Some(story);
        return all.iter().find(is).ok_or_else(|| StoryError::NotFound(story.clone()));
    }
    let active: Vec<&Found> = all.iter().filter(|found| !found.file.state.is_done()).collect();
    match (active.as_slice(), all) {
        ([one], _) => Ok(one),
        ([], [one]) => Ok(one),
        ([], [first, ..]) if first.slot == Slot::Main => Ok(first),
        ([], _) => Err(StoryError::NoStory),
        (several, _) => {
            let names = several.iter().filter_map(|found| found.file.state.story.clone());
            Err(StoryError::Several(names.collect()))
        }
    }
}
