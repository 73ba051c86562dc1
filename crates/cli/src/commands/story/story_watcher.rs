//! Follows a story in the event log and shows its progress until it stops.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::story::{AdvanceResult, StoryState};
use adjutant_model::request::StoryFacts;
use adjutant_model::story::{Step, StepStatus, StoryHold, StoryId, StoryPosition};
use adjutant_model::usage::ParkedAgent;
use adjutant_model::{Event, Status, TaskId};
use adjutant_store::event_log::decode;
use adjutant_store::file::EventFiles;
use adjutant_stories::{StoryCommandAnswer, StoryCommandResult, StoryError, StoryProject};

use super::{line, to_failure};
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean, clean_lines};
use crate::view::step_display::StepDisplay;

/// The interval between two reads of the event log.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct StoryWatcher<'a> {
    project: &'a StoryProject<'a>,
    story: StoryId,
    data: &'a ProjectData,
    out: &'a CommandOutput,
    event_files: EventFiles,
    task: Option<TaskId>,
    position: StoryPosition,
    /// Why the step is not assigned, while its agent is parked.
    parked_reason: Option<String>,
    steps: StepDisplay<'a>,
}

fn find_facts(
    project: &StoryProject<'_>,
    story: &StoryId,
) -> Result<Option<StoryFacts>, StoryError> {
    let facts = project.facts(&project.read_stories()?, None);
    Ok(facts.into_iter().find(|facts| facts.position.story == *story))
}

impl<'a> StoryWatcher<'a> {
    /// Starts at the end of the event log, with the story's current position.
    pub(super) fn start(
        project: &'a StoryProject<'a>,
        story: &StoryId,
        data: &'a ProjectData,
        out: &'a CommandOutput,
    ) -> Result<Self, CommandFailure> {
        let mut event_files = EventFiles::open(data.folder.root());
        while event_files.next_line()?.is_some() {}
        let facts = find_facts(project, story).map_err(to_failure)?;
        let facts =
            facts.ok_or_else(|| CommandFailure::gone(format!("{story} no longer exists")))?;
        let mut steps = StepDisplay::new(out, facts.position.step);
        steps.set_title(story, &facts.title.unwrap_or_default());
        Ok(Self {
            project,
            story: story.clone(),
            data,
            out,
            event_files,
            task: data.resolve_task_id(story.as_str()),
            steps,
            position: facts.position,
            parked_reason: None,
        })
    }

    /// Shows progress until the story stops, or `is_over` says that its daemon has ended.
    pub(super) fn follow(
        &mut self,
        is_over: &dyn Fn() -> bool,
    ) -> Result<ExitCode, CommandFailure> {
        let mut is_shown = false;
        if self.has_stopped() {
            self.print_position()?;
            return self.finish();
        }
        loop {
            let over = is_over();
            for position in self.read_new_positions()? {
                self.position = position;
                self.update_title();
                self.print_position()?;
                self.draw();
                is_shown = true;
            }
            if over || self.has_stopped() {
                break;
            }
            self.draw();
            std::thread::sleep(PAUSE);
        }
        if !is_shown {
            self.print_position()?;
        }
        self.finish()
    }

    /// Updates the title in the heading.
    fn update_title(&mut self) {
        let facts = find_facts(self.project, &self.story).ok().flatten();
        if let Some(title) = facts.and_then(|facts| facts.title) {
            self.steps.set_title(&self.story, &title);
        }
    }

    /// Returns the new positions of the story since the last call.
    fn read_new_positions(&mut self) -> Result<Vec<StoryPosition>, CommandFailure> {
        let mut positions = Vec::new();
        while let Some(line) = self.event_files.next_line()? {
            let event = String::from_utf8(line.bytes).ok().and_then(|line| decode(&line).ok());
            let about = event.as_ref().and_then(|event| event.new_event.task.clone());
            let position = match event.map(|event| event.new_event.event) {
                Some(Event::RunParked { parked, .. }) => {
                    self.record_parked(about.as_ref(), &parked)?;
                    continue;
                }
                Some(Event::StoryMoved { position }) => *position,
                Some(Event::TaskCreated { task, .. }) => match task.story() {
                    Some(position) => position.clone(),
                    None => continue,
                },
                _ => continue,
            };
            if position.story == self.story {
                if position.status == StepStatus::Running {
                    self.parked_reason = None;
                }
                positions.push(position);
            }
        }
        Ok(positions)
    }

    /// Records that the agent of the story's last run was parked.
    fn record_parked(
        &mut self,
        task: Option<&TaskId>,
        parked: &ParkedAgent,
    ) -> Result<(), CommandFailure> {
        self.task = self.task.take().or_else(|| self.data.resolve_task_id(self.story.as_str()));
        if task.is_none() || task != self.task.as_ref() {
            return Ok(());
        }
        let why = match parked.until {
            Some(until) => format!("{} has reached its usage limit, until {until}", parked.agent),
            None => format!("{} cannot be used", parked.agent),
        };
        let why = clean(&format!("{why}: {}", parked.reason));
        if !self.steps.is_live() && !self.out.is_json() {
            self.out.line(&why)?;
        }
        self.parked_reason = Some(why);
        Ok(())
    }

    /// Says whether the story has stopped until a person or another story acts.
    fn has_stopped(&self) -> bool {
        let position = &self.position;
        match position.status {
            _ if position.step == Step::Done || position.needs_human() => true,
            StepStatus::Running => position.fence.is_none(),
            _ if !position.auto || !position.waits_for.is_empty() => true,
            _ => self.is_abandoned(),
        }
    }

    /// Says whether the story's task was cancelled, moved to the backlog or dead-lettered.
    fn is_abandoned(&self) -> bool {
        let path = self.task.as_ref().and_then(|task| self.data.task_path(task));
        let folder = path.as_deref().and_then(|path| path.parent()?.file_name()?.to_str());
        matches!(
            folder.and_then(Status::parse),
            Some(Status::Deadletter | Status::Cancelled | Status::Backlog)
        )
    }

    fn print_position(&mut self) -> Result<(), CommandFailure> {
        let answer = self.answer();
        self.steps.record_position(&self.position);
        if self.out.is_json() {
            return self.out.document(&answer.to_json());
        }
        // That a step is next is not worth a line: it only means that the previous one has ended.
        let passes = self.position.status == StepStatus::Pending && !self.has_stopped();
        if self.steps.is_live() || passes { Ok(()) } else { line(self.out, &answer) }
    }

    fn draw(&mut self) {
        let since = self.state().and_then(|state| state.dispatched_at);
        self.steps.draw(&self.position, since, self.parked_reason.as_deref());
    }

    fn state(&self) -> Option<StoryState> {
        self.project.status(Some(&self.story)).ok().map(|(answer, _)| answer.state)
    }

    fn answer(&self) -> StoryCommandAnswer {
        let project = self.state().map_or_else(String::new, |state| state.project);
        let state = StoryState::from_position(&self.position, &project);
        let result = match self.position.status {
            StepStatus::Pending if !self.position.waits_for.is_empty() && !state.is_done() => {
                AdvanceResult::Blocked(self.position.waits_for.clone()).into()
            }
            _ => StoryCommandResult::of_status(&state),
        };
        let mut answer = StoryCommandAnswer::new(self.project.rules(), state, result);
        answer.auto = self.position.auto;
        answer
    }

    /// Returns the advice on what to do next. On a terminal the reader is the person, so "ask a
    /// person" is left out.
    fn advice(&self, answer: &StoryCommandAnswer) -> String {
        let instruction = answer.caller_instruction();
        match answer.hold {
            _ if !self.steps.is_live() => instruction,
            Some(StoryHold::Review) => "`adjutant inbox` shows the changes.\n\
                 `adjutant story approve` continues, `adjutant story reject REASON` sends it back."
                .to_owned(),
            _ => instruction.strip_prefix("Ask a person: ").unwrap_or(&instruction).to_owned(),
        }
    }

    fn finish(&mut self) -> Result<ExitCode, CommandFailure> {
        self.draw();
        self.steps.keep_lines();
        if self.out.is_json() {
            return Ok(ExitCode::SUCCESS);
        }
        let answer = self.answer();
        if let Some(error) = &answer.state.last_error {
            self.out.line(&format!("last error: {}", clean(error)))?;
        }
        if self.is_abandoned() {
            let task = self.task.as_ref().map_or_else(String::new, ToString::to_string);
            self.out.line(&format!("`adjutant why {task}` explains why it stopped"))?;
        } else {
            self.out.line(&clean_lines(&self.advice(&answer)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
