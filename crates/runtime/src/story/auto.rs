//! Stories that go by themselves: which they are, who does their steps, and which run does one.

use adjutant_core::input::StoryFacts;
use adjutant_core::pipeline::{Position, Status, StoryId};
use adjutant_core::{AgentId, TaskId, Time};
use adjutant_store::story::StateFile;
use serde_json::{Value, json};

use super::answer::Answer;
use super::project::{Found, Project, StoryError, TAKEN_UP, pick};
use crate::supervisor::Run;

/// Whether a story goes by itself.
const AUTO: &str = "auto";

/// Who does its steps.
const AGENT: &str = "agent";

/// Who started the present executor.
const DISPATCHED_BY: &str = "dispatched_by";

/// The most bytes of the scenarios that are looked at for a title.
const TITLE_BYTES_MAX: u64 = 64 << 10;

/// Whether a story goes by itself from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drive {
    /// Agents do its steps: this one, if it is named.
    Agents(Option<AgentId>),
    /// Somebody starts each step by hand.
    ByHand,
}

/// A run that does the present step of a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The story.
    pub story: StoryId,
    /// The task of the run.
    pub task: TaskId,
    /// Its number.
    pub attempt: u32,
    /// Its fence.
    pub fence: u64,
}

impl Project<'_> {
    /// Says whether a story goes by itself from now on.
    pub fn drive(&self, story: Option<&StoryId>, drive: &Drive) -> Result<Answer, StoryError> {
        let lock = self.folder().lock()?;
        let all = self.all()?.sound(story)?;
        let found = pick(&all, story)?;
        let mut file = found.file.clone();
        match drive {
            Drive::Agents(agent) => {
                if !is_auto(&file) {
                    self.take_up(&mut file);
                }
                file.set_extra(AUTO, json!(true));
                if let Some(agent) = agent {
                    file.set_extra(AGENT, json!(agent.as_str()));
                }
            }
            Drive::ByHand => file.set_extra(AUTO, json!(false)),
        }
        if file != found.file {
            let text = file.text(&file.state, self.rules());
            self.folder().put_state(&lock, &found.slot, &text)?;
        }
        Ok(self.status(file.state.story.as_ref())?.0)
    }

    /// Starts the step that a run is to do, and returns its prompt. Asked again by the same run, it
    /// says the same.
    pub fn dispatch(&self, story: &StoryId, run: &Run) -> Result<Answer, StoryError> {
        let by = key(run);
        let (now, file) = self.status(Some(story))?;
        let own = file.extra(DISPATCHED_BY).and_then(Value::as_str) == Some(&*by);
        if own && now.state.status == Status::Running {
            return self.dispatched(&now.state);
        }
        self.next_by(Some(story), None, &by)
    }

    /// Returns what the files say about every story.
    pub fn facts(&self) -> Result<Vec<StoryFacts>, StoryError> {
        let all = self.all()?.found;
        Ok(all.iter().filter_map(|found| self.fact(&all, found)).collect())
    }

    fn fact(&self, all: &[Found], found: &Found) -> Option<StoryFacts> {
        let (file, state) = (&found.file, &found.file.state);
        let story = state.story.clone()?;
        let answer =
            Answer::new(self.rules(), state.clone(), &adjutant_core::pipeline::Said::Nothing);
        let running = state.status == Status::Running && !state.is_done();
        let text = |name: &str| file.extra(name).and_then(Value::as_str);
        Some(StoryFacts {
            title: self.title(&story),
            agent: text(AGENT).and_then(|name| AgentId::parse(name).ok()),
            taken_up_at: text(TAKEN_UP).and_then(|text| Time::parse(text).ok()),
            position: Position {
                step: state.step,
                attempt: state.attempt,
                max_attempts: answer.max_attempts,
                status: state.status,
                reason: state.reason,
                hold: answer.hold,
                auto: is_auto(file),
                waits_for: Self::waited_for(all, state),
                fence: step(file).filter(|_| running).map(|step| step.fence),
                error: state.last_error.as_deref().map(Into::into),
                node: None,
                story,
            },
        })
    }

    /// Returns the steps that runs of ours do, or did until just now.
    pub fn steps(&self) -> Result<Vec<Step>, StoryError> {
        let all = self.all()?.found;
        let busy = |found: &&Found| super::project::is_busy(&found.file.state);
        Ok(all.iter().filter(busy).filter_map(|found| step(&found.file)).collect())
    }

    /// Says whether a story that stands so goes on by itself, and needs no executor to.
    pub fn can_move(&self, position: &Position) -> bool {
        let human = self.rules().of(position.step).is_some_and(|rule| rule.requires_human);
        let is_over = position.step == adjutant_core::pipeline::Step::Done;
        let moves = match position.status {
            Status::Pass | Status::Failing => true,
            Status::Pending | Status::Running => human,
            Status::NeedsHuman | Status::Timeout => false,
        };
        position.auto && !is_over && moves
    }

    /// Returns what the scenarios of a story are called: their first heading.
    fn title(&self, story: &StoryId) -> Option<String> {
        use std::io::Read as _;
        let path = self.folder().root().join(story.fill("docs/bdd/US-{story}.md"));
        let file = std::fs::File::open(path).ok()?;
        let mut text = Vec::new();
        file.take(TITLE_BYTES_MAX).read_to_end(&mut text).ok()?;
        let text = String::from_utf8_lossy(&text);
        let heading = text.lines().find_map(|line| line.strip_prefix("# "))?;
        Some(heading.trim().to_owned()).filter(|title| !title.is_empty())
    }
}

/// Says whether a story goes by itself.
pub fn is_auto(file: &StateFile) -> bool {
    file.extra(AUTO).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns what a dispatch notes of the run it is for.
fn key(run: &Run) -> String {
    format!("{} {} {}", run.task, run.attempt, run.fence)
}

/// Returns the run that was started for the present step, if it is one of ours.
fn step(file: &StateFile) -> Option<Step> {
    let key = file.extra(DISPATCHED_BY)?.as_str()?;
    let [task, attempt, fence] = key.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some(Step {
        story: file.state.story.clone()?,
        task: TaskId::parse(task).ok()?,
        attempt: attempt.parse().ok()?,
        fence: fence.parse().ok()?,
    })
}
