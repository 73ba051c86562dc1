//! A run that is over: its task goes where its result leads, or is tried again, or given up.

use super::draft::Draft;
use super::{salvage, story};
use crate::completion::{Completion, Outcome};
use crate::effect::{Effect, Stop};
use crate::event::{Channel, Event};
use crate::input::Found;
use crate::policy::Policy;
use crate::run::Exit;
use crate::schedule::{Recovery, not_before, recovery};
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::trials::Failure;

/// How it was found out that a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign<'a> {
    /// Its heartbeat is too old.
    Stale,
    /// Its lease is over, and it never beat.
    LeaseExpired,
    /// Its process has ended.
    Exited(&'a Exit, &'a str),
    /// What it said did not hold.
    Disproved(&'a str),
}

/// What a decision on a run goes by.
#[derive(Clone, Copy)]
pub(super) struct Rules<'w> {
    pub(super) policy: &'w Policy,
    pub(super) jitter: u64,
    pub(super) now: Time,
}

/// Decides what becomes of a task whose run is over. The draft has the task in hand.
pub(super) fn recover(
    draft: &mut Draft,
    task: &Task,
    sign: Sign<'_>,
    found: Option<&Found>,
    rules: Rules<'_>,
) {
    if task.story().is_some() && !matches!(sign, Sign::Exited(Exit::NotStarted(_), _)) {
        return match sign {
            Sign::Exited(exit, said) => story::let_go(draft, task, exit, said),
            Sign::Stale | Sign::LeaseExpired | Sign::Disproved(_) => {
                story::let_go(draft, task, &Exit::Lost, &sign.reason());
            }
        };
    }
    match sign {
        Sign::Exited(exit, said) => exited(draft, task, exit, said),
        // What has reported and is not seen any more is over.
        Sign::Stale | Sign::LeaseExpired if task.trials.claim().is_some() => {
            draft.stop(Stop::Reported);
            exited(draft, task, &Exit::Lost, "");
        }
        Sign::Stale | Sign::LeaseExpired | Sign::Disproved(_) => {}
    }
    if look_into(draft, task) {
        return;
    }
    match found {
        Some(Found::Result(result)) => {
            let (said, reason) = (&result.completion, sign.moves_to(&result.completion));
            let claimed = draft.claim(task, said.outcome, &reason, rules.policy);
            draft.push(Event::TaskCompleted {
                result: result.clone(),
                channel: Channel::LeftBehind,
            });
            if !claimed {
                draft.complete_for(task, said, &reason);
            }
        }
        Some(Found::Invalid(problems)) => {
            salvage::put_aside(draft, problems);
            fail(draft, task, sign, rules);
        }
        None => fail(draft, task, sign, rules),
    }
}

/// Asks for what a run said to be looked into now that it is over. Says whether it said anything.
pub(super) fn look_into(draft: &mut Draft, task: &Task) -> bool {
    let Some(claim) = task.trials.claim() else { return false };
    let (attempt, fence) = (claim.attempt, claim.fence);
    draft.owe(Effect::CheckWork { task: task.id.clone(), attempt, fence });
    true
}

/// Writes down that the process of a task's run is over.
pub(super) fn exited(draft: &mut Draft, task: &Task, exit: &Exit, said: &str) {
    let (attempt, fence) = run(task);
    let (exit, reason) = (exit.clone(), said.to_owned());
    draft.push(Event::RunExited { attempt, fence, exit, reason });
}

/// Returns the number and the fence of the run a task has, or had last.
fn run(task: &Task) -> (u32, u64) {
    let open = task.trials.open.as_ref().map(|run| (run.attempt, run.fence));
    let leased = task.lease().map(|lease| (lease.attempt, lease.fence));
    open.or(leased).unwrap_or((task.next_attempt(), 0))
}

/// Counts an attempt without a result, and sends the task back or gives it up.
pub(super) fn fail(draft: &mut Draft, task: &Task, sign: Sign<'_>, rules: Rules<'_>) {
    let (attempt, fence) = run(task);
    let failures = task.trials.failures.len() + 1;
    let reason = sign.reason();
    let policy = &rules.policy.scheduler;
    match recovery(task, None, policy) {
        Recovery::Deadletter => {
            let all = all_reasons(&task.trials.failures, attempt, &reason);
            draft.push(Event::RunFailed { attempt, fence, reason, not_before: None });
            draft.transition(Status::Deadletter, &all);
        }
        Recovery::Reclaim | Recovery::Result(_) => {
            let until = not_before(policy, &task.id, failures, rules.jitter, rules.now);
            let back = sign.goes_back();
            draft.push(Event::RunFailed { attempt, fence, reason, not_before: Some(until) });
            draft.transition(Status::Ready, &back);
        }
    }
}

fn all_reasons(before: &[Failure], attempt: u32, reason: &str) -> String {
    let last = Failure { attempt, reason: reason.into() };
    let each = before.iter().chain([&last]);
    let each: Vec<String> =
        each.map(|failure| format!("attempt {}: {}", failure.attempt, failure.reason)).collect();
    format!("{} without a result; {}", count(each.len()), each.join("; "))
}

fn count(attempts: usize) -> String {
    if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") }
}

impl Sign<'_> {
    /// Returns why the attempt failed.
    fn reason(self) -> String {
        match self {
            Self::Stale => "stale_heartbeat".to_owned(),
            Self::LeaseExpired => "lease_expired".to_owned(),
            Self::Exited(exit, "") => exit.in_words(),
            Self::Exited(exit, said) => format!("{}: {said}", exit.in_words()),
            Self::Disproved(why) => why.to_owned(),
        }
    }

    /// Returns why the task goes back.
    fn goes_back(self) -> String {
        match self {
            Self::Stale => "stale_heartbeat_reclaim".to_owned(),
            Self::LeaseExpired | Self::Exited(..) | Self::Disproved(_) => self.reason(),
        }
    }

    /// Returns why the task goes where its result leads.
    fn moves_to(self, completion: &Completion) -> String {
        match self {
            Self::Exited(..) | Self::Disproved(_) => completion.reason(),
            Self::Stale | Self::LeaseExpired => {
                let outcome = format!("stale_heartbeat_{}", completion.outcome);
                match completion.outcome {
                    Outcome::Blocked => format!("{outcome}: {}", completion.reason()),
                    Outcome::Done | Outcome::NeedsReview | Outcome::Partial => outcome,
                }
            }
        }
    }
}
