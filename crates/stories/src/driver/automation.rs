//! Stories that agents advance automatically: which stories, which agent, and which run
//! does a step.

use std::io::Read as _;

use adjutant_core::story::{AdvanceResult, StoryInput, advance_story};
use adjutant_model::request::StoryFacts;
use adjutant_model::story::{StepStatus, StoryId, StoryPosition};
use adjutant_model::{AgentId, NodeId};
use adjutant_runs::supervisor::RunRef;

use super::answer::StoryCommandAnswer;
use super::project::{StoryError, StoryProject};
use crate::files::own_fields::{AGENT, TAKEN_UP_AT};
use crate::files::{FoundStory, StepRun, StoryFiles};

/// How much of the scenario file is searched for a title.
const TITLE_BYTES_MAX: u64 = 64 << 10;

/// Whether agents or people start a story's steps from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoryAutomation {
    /// Agents do the steps: the named one, or any.
    Agents(Option<AgentId>),
    /// A person starts each step.
    Manual,
}

impl StoryProject<'_> {
    /// Sets whether agents do a story's steps.
    pub fn set_automation(
        &self,
        story: Option<&StoryId>,
        automation: &StoryAutomation,
    ) -> Result<StoryCommandAnswer, StoryError> {
        if matches!(automation, StoryAutomation::Agents(_)) {
            self.require_accepted_commands()?;
        }
        let lock = self.folder().lock()?;
        let found = self.read_story(story)?;
        let mut file = found.file.clone();
        if matches!(automation, StoryAutomation::Agents(_)) {
            // Before the file says so: after a crash in between, nothing is started.
            let story = file.state.story.clone();
            let accepted = self.trust().accept(self.folder().root(), [], story);
            accepted.map_err(StoryError::Record)?;
        }
        match automation {
            StoryAutomation::Agents(agent) => {
                // Also if it is automatic already: its task may have been cancelled since.
                file.set_text(TAKEN_UP_AT, &self.now());
                file.set_auto(true);
                if let Some(agent) = agent {
                    file.set_text(AGENT, agent);
                }
            }
            StoryAutomation::Manual => file.set_auto(false),
        }
        if file != found.file {
            let text = file.to_text(&file.state, self.rules());
            self.put_state(&lock, &found.slot, &text)?;
        }
        Ok(self.status_answer(&file))
    }

    /// Starts the step for a run and returns its prompt. A repeated call by the same run
    /// returns the same.
    pub fn dispatch(
        &self,
        story: &StoryId,
        run: &RunRef,
    ) -> Result<StoryCommandAnswer, StoryError> {
        self.require_accepted_commands()?;
        if !self.trust().allows_auto(story) {
            return Err(StoryError::UnacceptedStory(story.clone()));
        }
        let run = StepRun { task: run.task.clone(), attempt: run.attempt, fence: run.fence };
        self.continue_by(Some(story), None, Some(&run))
    }

    /// Fails if the step rules have commands that the operator has not accepted.
    pub fn require_accepted_commands(&self) -> Result<(), StoryError> {
        match self.trust().unaccepted_commands(self.rules()) {
            none if none.is_empty() => Ok(()),
            unaccepted => Err(StoryError::UnacceptedRules(unaccepted)),
        }
    }

    /// Undoes the dispatch of an executor that was stopped before it had a result.
    pub fn undo_dispatch(&self, story: &StoryId) -> Result<StoryCommandAnswer, StoryError> {
        self.apply_input(Some(story), &StoryInput::Stopped)
    }

    /// Returns the position of every story; `node` is the fleet node that has the files.
    pub fn facts(&self, files: &StoryFiles, node: Option<&NodeId>) -> Vec<StoryFacts> {
        files.found.iter().filter_map(|found| self.story_facts(files, found, node)).collect()
    }

    fn story_facts(
        &self,
        files: &StoryFiles,
        found: &FoundStory,
        node: Option<&NodeId>,
    ) -> Option<StoryFacts> {
        let (file, state) = (&found.file, &found.file.state);
        let story = state.story.clone()?;
        let answer = StoryCommandAnswer::new(self.rules(), state.clone(), AdvanceResult::Nothing);
        let is_accepted = self.is_accepted(&story);
        Some(StoryFacts {
            title: self.title(&story),
            agent: file.agent(),
            taken_up_at: file.taken_up_at(),
            position: StoryPosition {
                step: state.step,
                attempt: state.attempt,
                max_attempts: answer.max_attempts,
                status: state.status,
                reason: state.reason,
                hold: answer.hold,
                auto: file.is_auto() && is_accepted,
                unaccepted: file.is_auto() && !is_accepted,
                waits_for: files.open_blockers(state),
                fence: file.step_run().filter(|_| found.is_busy()).map(|run| run.fence),
                error: state.last_error.as_deref().map(Into::into),
                said: state.message.as_ref().map(|message| message.in_words().into()),
                node: node.cloned(),
                story,
            },
        })
    }

    /// Advances automatic stories as far as possible without an executor. Returns the files
    /// afterwards, or `None` if no story can advance. Only states in `reported` are left, so that
    /// the event log has the result of every step.
    pub fn advance_automatic(
        &self,
        reported: &StoryFiles,
    ) -> Result<Option<StoryFiles>, StoryError> {
        if !reported.found.iter().any(|found| self.can_advance(found)) {
            return Ok(None);
        }
        let lock = self.folder().lock()?;
        // The first read was without the lock, and a command may have changed a story since.
        let mut files = self.read_stories()?;
        for found in &mut files.found {
            if self.can_advance(found) && reported.found.contains(found) {
                let input = StoryInput::NextWithoutDispatch { now: self.now() };
                let decision = advance_story(self.rules(), &found.file.state, &input);
                self.write_state(&lock, &found.slot, &found.file, &decision.state)?;
                found.file.state = decision.state;
            }
        }
        Ok(Some(files))
    }

    /// Returns whether a story can advance without an executor.
    fn can_advance(&self, found: &FoundStory) -> bool {
        let state = &found.file.state;
        let human = self.rules().get(state.step).is_some_and(|rule| rule.requires_human);
        let moves = match state.status {
            StepStatus::Pass | StepStatus::Failing => true,
            StepStatus::Pending | StepStatus::Running => human,
            StepStatus::NeedsHuman | StepStatus::Timeout => false,
        };
        let is_auto = |story: &StoryId| found.file.is_auto() && self.is_accepted(story);
        state.story.as_ref().is_some_and(is_auto) && !state.is_done() && moves
    }

    /// Returns whether the operator accepted that agents do a story, and what its steps run.
    fn is_accepted(&self, story: &StoryId) -> bool {
        self.trust().allows_auto(story) && self.trust().unaccepted_commands(self.rules()).is_empty()
    }

    /// Returns the first heading of the story's scenarios.
    fn title(&self, story: &StoryId) -> Option<String> {
        let path = self.folder().root().join(story.fill_path("docs/bdd/US-{story}.md"));
        let file = std::fs::File::open(path).ok()?;
        let mut text = Vec::new();
        file.take(TITLE_BYTES_MAX).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        let heading = text.lines().find_map(|line| line.strip_prefix("# "))?;
        Some(heading.trim().to_owned()).filter(|title| !title.is_empty())
    }
}
