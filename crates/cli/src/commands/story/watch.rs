//! Shows how a story goes on, as the record tells it, until a person is asked or it is done.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::account::Parked;
use adjutant_core::pipeline::{Hold, Position, Said, State, Status as StepStatus, Step, StoryId};
use adjutant_core::{Event, Status, TaskId};
use adjutant_runtime::story::{Answer, Project};
use adjutant_store::file::EventFiles;
use adjutant_store::record::decode;

use super::{failure, line};
use crate::data::Data;
use crate::error::Failure;
use crate::output::{Output, clean, clean_lines};
use crate::view::steps::Steps;

/// How long to wait before looking for more.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows how a story goes on.
pub(super) struct Watch<'a> {
    project: &'a Project<'a>,
    story: StoryId,
    data: &'a Data,
    out: &'a Output,
    record: EventFiles,
    task: Option<TaskId>,
    now: Position,
    /// Why its step is not given out, as long as that is an agent that cannot work.
    parked: Option<String>,
    steps: Steps<'a>,
}

impl<'a> Watch<'a> {
    /// Begins with how the story stands now.
    pub(super) fn begin(
        project: &'a Project<'a>,
        story: &StoryId,
        data: &'a Data,
        out: &'a Output,
    ) -> Result<Self, Failure> {
        let mut record = EventFiles::open(data.folder.root());
        while record.next_line()?.is_some() {}
        let facts = project.facts().map_err(failure)?;
        let facts = facts.into_iter().find(|facts| facts.position.story == *story);
        let facts = facts.ok_or_else(|| Failure::gone(format!("{story} is not there any more")))?;
        let mut steps = Steps::new(out, facts.position.step);
        steps.call(story, &facts.title.unwrap_or_default());
        Ok(Self {
            project,
            story: story.clone(),
            data,
            out,
            record,
            task: data.known_id(story.as_str()),
            steps,
            now: facts.position,
            parked: None,
        })
    }

    /// Shows what happens until nothing more does, or `is_over` says that nobody goes on with it.
    pub(super) fn follow(&mut self, is_over: &dyn Fn() -> bool) -> Result<ExitCode, Failure> {
        let mut told = false;
        if self.ends() {
            self.tell()?;
            return self.leave();
        }
        loop {
            let over = is_over();
            for position in self.news()? {
                self.now = position;
                self.call();
                self.tell()?;
                self.draw();
                told = true;
            }
            if over || self.ends() {
                break;
            }
            self.draw();
            std::thread::sleep(PAUSE);
        }
        if !told {
            self.tell()?;
        }
        self.leave()
    }

    /// Calls the story what it is called now.
    fn call(&mut self) {
        let facts = self.project.facts().unwrap_or_default();
        let own = facts.into_iter().find(|facts| facts.position.story == self.story);
        if let Some(title) = own.and_then(|facts| facts.title) {
            self.steps.call(&self.story, &title);
        }
    }

    /// Returns where the story came since the last time.
    fn news(&mut self) -> Result<Vec<Position>, Failure> {
        let mut news = Vec::new();
        while let Some(line) = self.record.next_line()? {
            let event = String::from_utf8(line.bytes).ok().and_then(|line| decode(&line).ok());
            let about = event.as_ref().and_then(|event| event.happened.task.clone());
            let position = match event.map(|event| event.happened.event) {
                Some(Event::RunParked { parked, .. }) => {
                    self.park(about.as_ref(), &parked)?;
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
                    self.parked = None;
                }
                news.push(position);
            }
        }
        Ok(news)
    }

    /// Takes note that the agent of its last run cannot work.
    fn park(&mut self, task: Option<&TaskId>, parked: &Parked) -> Result<(), Failure> {
        self.task = self.task.take().or_else(|| self.data.known_id(self.story.as_str()));
        if task.is_none() || task != self.task.as_ref() {
            return Ok(());
        }
        let why = match parked.until {
            Some(until) => format!("{} has reached a limit, until {until}", parked.agent),
            None => format!("{} cannot be used", parked.agent),
        };
        let why = clean(&format!("{why}: {}", parked.reason));
        if !self.steps.is_live() && !self.out.is_json() {
            self.out.line(&why)?;
        }
        self.parked = Some(why);
        Ok(())
    }

    /// Says whether the story stands still until somebody does something.
    fn ends(&self) -> bool {
        let position = &self.now;
        match position.status {
            _ if position.step == Step::Done || position.waits() => true,
            StepStatus::Running => position.fence.is_none(),
            _ if !position.auto || !position.waits_for.is_empty() => true,
            _ => self.is_given_up(),
        }
    }

    /// Says whether somebody gave the task up, or its runs cannot be started.
    fn is_given_up(&self) -> bool {
        let path = self.task.as_ref().and_then(|task| self.data.task_path(task));
        let folder = path.as_deref().and_then(|path| path.parent()?.file_name()?.to_str());
        matches!(
            folder.and_then(Status::parse),
            Some(Status::Deadletter | Status::Cancelled | Status::Backlog)
        )
    }

    fn tell(&mut self) -> Result<(), Failure> {
        let answer = self.answer();
        self.steps.note(&self.now);
        if self.out.is_json() {
            return self.out.document(&answer.json());
        }
        // That a step is next says no more than that the one before is over.
        let passes = self.now.status == StepStatus::Pending && !self.ends();
        if self.steps.is_live() || passes { Ok(()) } else { line(self.out, &answer) }
    }

    fn draw(&mut self) {
        let since = self.state().and_then(|state| state.dispatched_at);
        self.steps.draw(&self.now, since, self.parked.as_deref());
    }

    fn state(&self) -> Option<State> {
        self.project.status(Some(&self.story)).ok().map(|(answer, _)| answer.state)
    }

    fn answer(&self) -> Answer {
        let project = self.state().map_or_else(String::new, |state| state.project);
        let state = self.now.state(&project);
        let mut answer = Answer::new(self.project.rules(), state, &Said::Nothing);
        answer.auto = self.now.auto;
        answer.result = match self.now.status {
            _ if self.now.step == Step::Done => "done",
            StepStatus::Pending if !self.now.waits_for.is_empty() => {
                answer.blocked_by.clone_from(&self.now.waits_for);
                "blocked"
            }
            status => status.as_str(),
        };
        answer
    }

    /// Returns what is to be done now. On a terminal there is a person, who need not ask for one.
    fn advice(&self, answer: &Answer) -> String {
        let said = answer.caller_instruction();
        match answer.hold {
            _ if !self.steps.is_live() => said,
            Some(Hold::Review) => "`adjutant inbox` shows what changed.\n\
                 `adjutant story approve` goes on, `adjutant story reject REASON` sends it back."
                .to_owned(),
            _ => said.strip_prefix("Ask a person: ").unwrap_or(&said).to_owned(),
        }
    }

    fn leave(&mut self) -> Result<ExitCode, Failure> {
        self.draw();
        self.steps.end();
        if self.out.is_json() {
            return Ok(ExitCode::SUCCESS);
        }
        let answer = self.answer();
        if let Some(error) = &answer.state.last_error {
            self.out.line(&format!("last error: {}", clean(error)))?;
        }
        if self.is_given_up() {
            let task = self.task.as_ref().map_or_else(String::new, ToString::to_string);
            self.out.line(&format!("`adjutant why {task}` says why it does not go on"))?;
        } else {
            self.out.line(&clean_lines(&self.advice(&answer)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
