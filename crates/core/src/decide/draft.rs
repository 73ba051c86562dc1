//! A decision in the making, about one task and in one actor's name.

use super::Decision;
use crate::answer::{Answer, Problem, Reason, Verdict};
use crate::completion::{self, Completion, Outcome};
use crate::effect::{Effect, Stop};
use crate::event::{Event, Happened, Manner};
use crate::id::TaskId;
use crate::name::Actor;
use crate::policy::Policy;
use crate::status::Status;
use crate::task::Task;

/// Collects what happened, and follows the task's status while it changes.
pub(super) struct Draft {
    actor: Actor,
    task: Option<TaskId>,
    status: Option<Status>,
    /// The fence of the run whose end nobody has seen yet.
    open: Option<u64>,
    /// Whether the task is a story, and stands where its files say.
    is_story: bool,
    events: Vec<Happened>,
    effects: Vec<Effect>,
}

impl Draft {
    /// Starts a decision that has no task in hand.
    pub(super) fn new(actor: Actor, task: Option<TaskId>) -> Self {
        Self {
            actor,
            task,
            status: None,
            open: None,
            is_story: false,
            events: vec![],
            effects: vec![],
        }
    }

    /// Takes a task in hand.
    pub(super) fn on(&mut self, task: &Task) {
        self.task = Some(task.id.clone());
        self.status = Some(task.status());
        self.open = task.trials.open.as_ref().map(|run| run.fence);
        self.is_story = task.story().is_some();
    }

    /// Says whether nothing happened so far.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.effects.is_empty()
    }

    /// Speaks of a task that is not at hand.
    pub(super) fn about(&mut self, id: &TaskId) {
        self.task = Some(id.clone());
    }

    /// Writes down that something happened.
    pub(super) fn push(&mut self, event: Event) {
        if let Event::RunExited { fence, .. } = &event
            && self.open == Some(*fence)
        {
            self.open = None;
        }
        let (actor, task) = (self.actor.clone(), self.task.clone());
        self.events.push(Happened { actor, task, event });
    }

    /// Writes down something odd.
    pub(super) fn warn(&mut self, reason: Reason, detail: impl Into<String>) {
        self.push(Event::MessageWarned { reason, detail: detail.into() });
    }

    /// Moves the task if the table allows it, and says whether it did. A move that is refused is
    /// seen in the record and nowhere else.
    pub(super) fn transition(&mut self, to: Status, reason: &str) -> bool {
        let Some(from) = self.status.filter(|from| *from != to) else {
            return false;
        };
        if !from.may_move_to(to) {
            self.warn(Reason::InvalidTransition, format!("no move from {from} to {to}"));
            return false;
        }
        self.move_to(from, to, reason, Manner::Ruled);
        true
    }

    /// Moves the task, whatever the table says.
    pub(super) fn move_to(&mut self, from: Status, to: Status, reason: &str, manner: Manner) {
        let reason = reason.to_owned();
        self.push(Event::TaskTransitioned { from, to, reason, manner });
        self.status = Some(to);
        if from == Status::InProgress {
            self.stop(self.why_stopped(to));
        }
    }

    /// Asks for the end of the task's run, if there is one whose end nobody has seen.
    pub(super) fn stop(&mut self, reason: Stop) {
        if let (Some(fence), Some(task)) = (self.open, self.task.clone()) {
            self.effects.push(Effect::StopRun { task, fence, reason });
        }
    }

    fn why_stopped(&self, to: Status) -> Stop {
        match self.actor {
            _ if to == Status::Cancelled => Stop::Cancelled,
            Actor::Agent(_) | Actor::Router | Actor::System => Stop::Reported,
            Actor::Scheduler => Stop::LeaseLost,
            Actor::Human(_) => Stop::Moved,
        }
    }

    /// Asks for something to be done outside.
    pub(super) fn owe(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Brings a task that was given back or given up to where its work can be taken, so that a
    /// report that is good after all is not lost on it.
    pub(super) fn take_up(&mut self, reason: &str) {
        if self.is_story {
            return;
        }
        if matches!(self.status, Some(Status::Backlog | Status::Deadletter)) {
            self.transition(Status::Ready, reason);
        }
        if self.status == Some(Status::Ready) {
            self.transition(Status::InProgress, reason);
        }
    }

    /// Holds what a run says back until somebody has looked into it, and says whether it does. What
    /// cannot go on needs no looking into, and without a lease there is no run to look into. The run
    /// is given the time to end first.
    pub(super) fn claim(
        &mut self,
        task: &Task,
        outcome: Outcome,
        reason: &str,
        policy: &Policy,
    ) -> bool {
        let Some(lease) = task.lease() else { return false };
        let in_hand = self.status == Some(Status::InProgress);
        if !in_hand || outcome == Outcome::Blocked || !policy.looks_into(task) {
            return false;
        }
        let (attempt, fence) = (lease.attempt, lease.fence);
        let (reason, merge) = (reason.to_owned(), Some(policy.merge_of(task)));
        self.push(Event::WorkClaimed { attempt, fence, outcome, reason, merge });
        match self.open {
            Some(_) => self.stop(Stop::Reported),
            None => self.owe(Effect::CheckWork { task: task.id.clone(), attempt, fence }),
        }
        true
    }

    /// Returns what is to be thought of work that is said to be done and that nobody can look into
    /// any more: a person has to.
    pub(super) fn unchecked(task: &Task, outcome: Outcome, policy: &Policy) -> Option<String> {
        (outcome == Outcome::Done && !policy.checks_of(task).is_empty())
            .then(|| "its checks were not run: it came when its run was over".to_owned())
    }

    /// Makes the moves a completion asks for. Every way in goes through here.
    pub(super) fn complete(&mut self, task: &Task, completion: &Completion) {
        self.complete_for(task, completion, &completion.reason());
    }

    /// Makes the moves a completion asks for, for a reason of the caller's.
    pub(super) fn complete_for(&mut self, task: &Task, completion: &Completion, reason: &str) {
        let Some(from) = self.status else { return };
        if self.is_story {
            return self.warn(Reason::StoryOwned, "its story's files say where it stands");
        }
        for to in completion::moves(from, completion.outcome, task.review) {
            self.transition(to, reason);
        }
    }

    /// Ends with a verdict.
    pub(super) fn end(self, verdict: Verdict, reason: Option<Reason>) -> Decision {
        let answer =
            Answer { reason, task: self.task, status: self.status, ..Answer::plain(verdict) };
        Decision { answer, events: self.events, effects: self.effects }
    }

    /// Ends with a message refused.
    pub(super) fn reject(mut self, reason: Reason, problems: Vec<Problem>) -> Decision {
        self.push(Event::MessageRejected { reason, problems: problems.clone() });
        let mut decision = self.end(Verdict::Rejected, Some(reason));
        decision.answer.problems = problems;
        decision
    }
}
