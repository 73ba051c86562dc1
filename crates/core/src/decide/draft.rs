//! Builds one decision, about one task and in the name of one actor.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{Answer, AnswerVerdict, FieldProblem, Reason};
use adjutant_model::completion::{self, CompletionReport, WorkOutcome};
use adjutant_model::effect::{Effect, StopReason};
use adjutant_model::event::{Event, NewEvent, TransitionCause};
use adjutant_model::policy::Policy;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;

use crate::decision::Decision;

/// Collects events and effects, and tracks the task's status as they change it.
pub(super) struct DecisionDraft {
    actor: Actor,
    task: Option<TaskId>,
    status: Option<Status>,
    /// The fence of the run whose exit is not recorded yet.
    open_fence: Option<u64>,
    /// Set for a story: the story's files decide its status, reports do not.
    is_story: bool,
    events: Vec<NewEvent>,
    effects: Vec<Effect>,
}

impl DecisionDraft {
    /// Starts a decision. `task` only labels the events; `on` also loads the task's state.
    pub(super) fn new(actor: Actor, task: Option<TaskId>) -> Self {
        Self {
            actor,
            task,
            status: None,
            open_fence: None,
            is_story: false,
            events: vec![],
            effects: vec![],
        }
    }

    /// Makes this the task of the decision, and loads its status and its open run.
    pub(super) fn load_task(&mut self, task: &Task) {
        self.task = Some(task.id.clone());
        self.status = Some(task.status());
        self.open_fence = task.history.open.as_ref().map(|run| run.fence);
        self.is_story = task.story().is_some();
    }

    /// Labels the following events with a task, without loading its state.
    pub(super) fn set_task_id(&mut self, id: &TaskId) {
        self.task = Some(id.clone());
    }

    pub(super) fn push(&mut self, event: Event) {
        if let Event::RunExited { fence, .. } = &event
            && self.open_fence == Some(*fence)
        {
            self.open_fence = None;
        }
        let (actor, task) = (self.actor.clone(), self.task.clone());
        self.events.push(NewEvent { actor, task, event });
    }

    pub(super) fn warn(&mut self, reason: Reason, detail: impl Into<String>) {
        self.push(Event::MessageWarned { reason, detail: detail.into() });
    }

    /// Moves the task if the transition table allows it, and returns whether it did. A refused move
    /// only leaves a warning in the event log.
    pub(super) fn transition(&mut self, to: Status, reason: &str) -> bool {
        let Some(from) = self.status.filter(|from| *from != to) else {
            return false;
        };
        if !from.may_move_to(to) {
            self.warn(Reason::InvalidTransition, format!("a task cannot move from {from} to {to}"));
            return false;
        }
        self.move_to(from, to, reason, TransitionCause::Ruled);
        true
    }

    /// Returns whether the table refused a move of the task.
    pub(super) fn has_skipped_transition(&self) -> bool {
        let is_skipped = |event: &NewEvent| {
            matches!(&event.event, Event::MessageWarned { reason: Reason::InvalidTransition, .. })
        };
        self.events.iter().any(is_skipped)
    }

    /// Moves the task without consulting the transition table. A task that leaves `InProgress`
    /// stops its run.
    pub(super) fn move_to(
        &mut self,
        from: Status,
        to: Status,
        reason: &str,
        manner: TransitionCause,
    ) {
        let reason = reason.to_owned();
        self.push(Event::TaskTransitioned { from, to, reason, manner });
        self.status = Some(to);
        if from == Status::InProgress {
            self.request_stop(self.stop_reason(to));
        }
    }

    /// Requests the end of the task's open run; does nothing if there is none.
    pub(super) fn request_stop(&mut self, reason: StopReason) {
        if let (Some(fence), Some(task)) = (self.open_fence, self.task.clone()) {
            self.effects.push(Effect::StopRun { task, fence, reason });
        }
    }

    fn stop_reason(&self, to: Status) -> StopReason {
        match self.actor {
            _ if to == Status::Cancelled => StopReason::Cancelled,
            Actor::Agent(_) | Actor::Router | Actor::System => StopReason::Reported,
            Actor::Scheduler => StopReason::LeaseLost,
            Actor::Human(_) => StopReason::Moved,
        }
    }

    /// Adds an effect, to be performed after the commit.
    pub(super) fn add_effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Moves a task that was returned or given up back to in progress, so that a valid late report
    /// is not lost.
    pub(super) fn reopen_task(&mut self, reason: &str) {
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

    /// Holds a run's report back until its work is checked, and returns whether it does. A blocked
    /// outcome needs no check, and without a lease there is no run to check. An open run is stopped
    /// first; the checks follow its exit.
    pub(super) fn hold_for_checks(
        &mut self,
        task: &Task,
        outcome: WorkOutcome,
        reason: &str,
        policy: &Policy,
    ) -> bool {
        let Some(lease) = task.lease() else { return false };
        let in_hand = self.status == Some(Status::InProgress);
        if !in_hand || outcome == WorkOutcome::Blocked || !policy.looks_into(task) {
            return false;
        }
        let (attempt, fence) = (lease.attempt, lease.fence);
        let (reason, merge) = (reason.to_owned(), Some(policy.merge_of(task)));
        self.push(Event::WorkClaimed { attempt, fence, outcome, reason, merge });
        match self.open_fence {
            Some(_) => self.request_stop(StopReason::Reported),
            None => self.add_effect(Effect::CheckWork { task: task.id.clone(), attempt, fence }),
        }
        true
    }

    /// Returns why a person must look at work that is reported as done: its checks were not run and
    /// cannot be run any more.
    pub(super) fn unchecked_reason(
        task: &Task,
        outcome: WorkOutcome,
        policy: &Policy,
    ) -> Option<String> {
        let why = "its checks did not run, because the report came after the run had ended";
        (outcome == WorkOutcome::Done && !policy.checks_of(task).is_empty()).then(|| why.to_owned())
    }

    /// Makes the transitions that a completion asks for, with the completion's own reason.
    pub(super) fn complete(&mut self, task: &Task, completion: &CompletionReport) {
        self.complete_with_reason(task, completion, &completion.reason());
    }

    /// Makes the transitions that a completion asks for, with the caller's reason. A story is only
    /// warned about, because its files decide its status.
    pub(super) fn complete_with_reason(
        &mut self,
        task: &Task,
        completion: &CompletionReport,
        reason: &str,
    ) {
        let Some(from) = self.status else { return };
        if self.is_story {
            return self.warn(Reason::StoryOwned, "the files of its story decide its status");
        }
        for to in completion::outcome_transitions(from, completion.outcome, task.review) {
            self.transition(to, reason);
        }
    }

    pub(super) fn finish(self, verdict: AnswerVerdict, reason: Option<Reason>) -> Decision {
        let answer =
            Answer { reason, task: self.task, status: self.status, ..Answer::plain(verdict) };
        Decision { answer, events: self.events, effects: self.effects }
    }

    /// Ends the decision with a refused message, and logs the problems.
    pub(super) fn reject(mut self, reason: Reason, problems: Vec<FieldProblem>) -> Decision {
        self.push(Event::MessageRejected { reason, problems: problems.clone() });
        let mut decision = self.finish(AnswerVerdict::Rejected, Some(reason));
        decision.answer.problems = problems;
        decision
    }
}
