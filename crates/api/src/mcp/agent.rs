//! The tools of an agent: for the run it is bound to, or for the work it fetches.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_core::command::Caller;
use adjutant_core::{Actor, Command, Reason, Status};
use adjutant_runtime::{Answered, Request};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::handoff::{Handoff, hand_on};
use super::report::{self, Ending, accepted};
use super::tool::{Does, Nothing, Said, read, tool};
use super::{Bearer, Bound, Fetched, Session};

/// How to use the tools, for an agent that was started for a task.
pub(super) const RUN_INSTRUCTIONS: &str = "\
You were given one task. `task_context` is its work order. Say now and then how far you are with \
`report_progress`. At the end call `complete`, or `report_blocked`, or `ask_human` where only a \
person can say how to go on: work that is not reported does not count. Then stop.";

/// How to use the tools, for an agent that fetches its own work.
pub(super) const FETCH_INSTRUCTIONS: &str = "\
`next_task` gives you a task and its work order. Say now and then how far you are with \
`report_progress`. At the end call `complete`, or `report_blocked`, or `ask_human` where only a \
person can say how to go on: work that is not reported does not count. Then call `next_task` again.";

/// How often an agent that fetched work is known to be there while its session is open.
const BEAT: Duration = Duration::from_mins(1);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Progress {
    /// How far the work is, in a sentence or two.
    progress: String,
    /// Anything else worth keeping in the work log.
    #[serde(default)]
    notes: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BlockedBy {
    /// What is in the way, each in a sentence.
    blockers: Vec<String>,
    /// What was done so far.
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Complete {
    /// What was done, and how it can be checked; Markdown. It is kept as the summary of the task.
    summary: String,
    /// What came of it: `done`, `partial` if some of it is left, `needs_review` if somebody should
    /// look at it first.
    #[serde(default)]
    outcome: Outcome,
    /// How the tests went, if any were run.
    #[serde(default)]
    tests: Tests,
    /// The files that were made or changed, relative to the workspace.
    #[serde(default)]
    deliverables: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    #[default]
    Done,
    Partial,
    NeedsReview,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Tests {
    /// How many there were.
    total: u64,
    /// How many passed.
    passed: u64,
    /// How many failed.
    failed: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// What a person must decide or say, with what they need to know for that.
    question: String,
    /// What you would do if it were for you to say.
    #[serde(default)]
    suggestion: Option<String>,
}

/// The arguments of the older tool; whatever else an agent sends along is not looked at.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct OldComplete {
    /// The task; the run's own, if it is given.
    task_id: Option<String>,
    /// What was done.
    summary: String,
}

/// The arguments of the older tool; whatever else an agent sends along is not looked at.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct OldUpdate {
    /// The task; the run's own, if it is given.
    task_id: Option<String>,
    /// Where it stands now.
    status: Option<String>,
    /// How far the work is.
    progress: Option<String>,
    /// What is in the way.
    blockers: Vec<String>,
    /// Anything else worth keeping.
    notes: Option<String>,
}

/// Returns the tools of an agent.
pub(super) fn tools() -> Vec<Tool> {
    use Does::{Changes, Looks};
    vec![
        tool::<Nothing>(
            "task_context",
            Looks,
            "The work order of your task: what to do, what earlier attempts came to, what a person \
             answered. Read it first.",
        ),
        tool::<Progress>(
            "report_progress",
            Changes,
            "Say how far the work is. It is kept in the work log of the task and shows that you \
             are not stuck.",
        ),
        tool::<BlockedBy>(
            "report_blocked",
            Changes,
            "Say that you cannot go on and what is in the way. This ends your work on the task.",
        ),
        tool::<Complete>(
            "complete",
            Changes,
            "Say that the work is done, and what was done. This ends your work on the task.",
        ),
        tool::<Handoff>(
            "handoff",
            Changes,
            "Hand a part of your work on to another agent, as a task of its own. Your own task goes \
             on.",
        ),
        tool::<Question>(
            "ask_human",
            Changes,
            "Ask a person what only a person can decide. This ends your work on the task for now: \
             the answer will be in the next work order.",
        ),
        tool::<Nothing>(
            "next_task",
            Changes,
            "Fetch the next task that is for you, with its work order. Until you have reported on \
             it, you are given the same one.",
        ),
        tool::<OldComplete>(
            "aof_task_complete",
            Changes,
            "The older name of `complete`, with fewer words.",
        ),
        tool::<OldUpdate>(
            "aof_task_update",
            Changes,
            "The older name of `report_progress` and `report_blocked`.",
        ),
    ]
}

/// Calls a tool of an agent; none if there is no such tool.
pub(super) fn call(session: &Session, name: &str, arguments: Value) -> Option<Said> {
    let said = match name {
        "task_context" => context(session, arguments),
        "report_progress" => progress(session, arguments),
        "report_blocked" => blocked(session, arguments),
        "complete" => complete(session, arguments),
        "handoff" => session.run().and_then(|run| hand_on(session, &run, arguments)),
        "ask_human" => ask_human(session, arguments),
        "next_task" => next_task(session, arguments),
        "aof_task_complete" => old_complete(session, arguments),
        "aof_task_update" => old_update(session, arguments),
        _ => return None,
    };
    Some(said.into())
}

fn context(session: &Session, arguments: Value) -> Result<Said, Said> {
    let Nothing {} = read(arguments)?;
    let run = session.run()?;
    session.beat();
    order(session, &run)
}

fn progress(session: &Session, arguments: Value) -> Result<Said, Said> {
    let Progress { progress, notes } = read(arguments)?;
    let run = session.run()?;
    let mut said = json!({ "progress": progress });
    if let Some(notes) = notes {
        said["notes"] = json!(notes);
    }
    report::update(session, &run, &said)?;
    session.beat();
    Ok(Said::Text("noted".to_owned()))
}

fn blocked(session: &Session, arguments: Value) -> Result<Said, Said> {
    let BlockedBy { blockers, summary } = read(arguments)?;
    end(session, "blocked", summary.as_deref().unwrap_or(""), Tests::default(), &[], &blockers)
}

fn complete(session: &Session, arguments: Value) -> Result<Said, Said> {
    let Complete { summary, outcome, tests, deliverables } = read(arguments)?;
    let outcome = match outcome {
        Outcome::Done => "done",
        Outcome::Partial => "partial",
        Outcome::NeedsReview => "needs_review",
    };
    end(session, outcome, &summary, tests, &deliverables, &[])
}

fn ask_human(session: &Session, arguments: Value) -> Result<Said, Said> {
    let Question { question, suggestion } = read(arguments)?;
    let question = match suggestion {
        Some(suggestion) => format!("{question} (suggested: {suggestion})"),
        None => question,
    };
    end(session, "blocked", "", Tests::default(), &[], &[question])
}

fn old_complete(session: &Session, arguments: Value) -> Result<Said, Said> {
    let OldComplete { task_id, summary } = read(arguments)?;
    own(session, task_id.as_deref())?;
    end(session, "done", &summary, Tests::default(), &[], &[])
}

fn old_update(session: &Session, arguments: Value) -> Result<Said, Said> {
    let OldUpdate { task_id, status, progress, blockers, notes } = read(arguments)?;
    let run = own(session, task_id.as_deref())?;
    let mut said = json!({});
    for (key, value) in [("status", status), ("progress", progress), ("notes", notes)] {
        if let Some(value) = value {
            said[key] = json!(value);
        }
    }
    if !blockers.is_empty() {
        said["blockers"] = json!(blockers);
    }
    report::update(session, &run, &said)?;
    session.beat();
    Ok(Said::Text("noted".to_owned()))
}

/// Reports what came of the work, and says what that means for whoever did it.
fn end(
    session: &Session,
    outcome: &str,
    summary: &str,
    tests: Tests,
    deliverables: &[String],
    blockers: &[String],
) -> Result<Said, Said> {
    let run = session.run()?;
    let tests = [tests.total, tests.passed, tests.failed];
    let ending = Ending { outcome, summary, tests, deliverables, blockers };
    let answered = report::end(session, &run, &ending)?;
    if let Some(fetched) = session.fetched().as_mut() {
        fetched.is_over = true;
    }
    Ok(Said::Text(after(session, &answered)))
}

fn after(session: &Session, answered: &Answered) -> String {
    let stands = match answered.answer.status {
        None if answered.answer.reason == Some(Reason::KeptForLater) => {
            "it is kept, and counts as soon as somebody is there who looks at it"
        }
        Some(Status::Review) => "it waits for a review",
        Some(Status::Done) => "it is done",
        Some(Status::Blocked) => "it is blocked until a person has answered",
        _ => "it was closed before",
    };
    let then = match session.bearer {
        Bearer::Agent(_) => "Call `next_task` for more work.",
        Bearer::Run(_) | Bearer::Operator(_) => "Your work on this task is over: stop now.",
    };
    format!("Your report was taken; {stands}. {then}")
}

fn next_task(session: &Session, arguments: Value) -> Result<Said, Said> {
    let Nothing {} = read(arguments)?;
    let agent = match &session.bearer {
        Bearer::Run(run) => return order(session, run),
        Bearer::Agent(agent) => agent,
        Bearer::Operator(_) => return Err(Said::Refused("an operator fetches no work".to_owned())),
    };
    let by = Caller::Operator(Actor::Agent(agent.clone()));
    let command = Command::Take { agent: agent.clone() };
    let answered = accepted(session.office.ask(Request::Command { by, command })?)?;
    let Some(task) = answered.answer.task.clone() else {
        debug_assert_eq!(answered.answer.reason, Some(Reason::NothingToDo));
        return Ok(Said::Text("There is nothing for you now. Ask again later.".to_owned()));
    };
    let shown = session.office.show(&task)?;
    let number = |key: &str| shown["lease"][key].as_u64();
    let (Some(fence), Some(attempt)) = (number("fence"), number("attempt")) else {
        return Err(Said::Refused(format!("{task} was taken away again; call `next_task` again")));
    };
    let token = session.office.token(&task, fence)?;
    let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
    let run = Bound { task, agent: agent.clone(), attempt, token };
    *session.fetched() = Some(Fetched { run: run.clone(), is_over: false });
    session.beat();
    order(session, &run)
}

fn order(session: &Session, run: &Bound) -> Result<Said, Said> {
    Ok(Said::Text(session.office.order(&run.task, &run.agent, run.attempt)?))
}

/// Returns the run, unless another task is meant: a run speaks for itself only.
fn own(session: &Session, named: Option<&str>) -> Result<Bound, Said> {
    let run = session.run()?;
    match named {
        Some(task) if task != run.task.as_str() => {
            let (own, other) = (&run.task, task);
            Err(Said::Refused(format!("nothing was done: your task is {own}, not {other:?}")))
        }
        _ => Ok(run),
    }
}

impl Session {
    /// Returns the run this session speaks for.
    pub(super) fn run(&self) -> Result<Bound, Said> {
        let fetched = || {
            let known = self.fetched().as_ref().map(|fetched| fetched.run.clone());
            known.or_else(|| self.found_again())
        };
        match &self.bearer {
            Bearer::Run(run) => Ok(run.clone()),
            Bearer::Agent(_) => fetched()
                .ok_or_else(|| Said::Refused("you have no task yet: call `next_task`".to_owned())),
            Bearer::Operator(_) => Err(Said::Refused("this session speaks for no run".to_owned())),
        }
    }

    /// Finds what the agent fetched before this session began, and still works on.
    fn found_again(&self) -> Option<Bound> {
        let Bearer::Agent(agent) = &self.bearer else { return None };
        let mut held = None;
        let looked = self.office.look(&mut |world| {
            let elsewhere =
                world.with_status(Status::InProgress).filter(|t| t.trials.open.is_none());
            let of_agent = elsewhere.filter_map(|task| Some((task.id.clone(), task.lease()?)));
            let mut of_agent = of_agent.filter(|(_, lease)| lease.agent == *agent);
            held = of_agent.next().map(|(task, lease)| (task, lease.fence, lease.attempt));
        });
        let (task, fence, attempt) = looked.ok().and(held)?;
        let token = self.office.token(&task, fence).ok()?;
        let run = Bound { task, agent: agent.clone(), attempt, token };
        *self.fetched() = Some(Fetched { run: run.clone(), is_over: false });
        Some(run)
    }

    fn fetched(&self) -> MutexGuard<'_, Option<Fetched>> {
        self.fetched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a sign of life for work that was fetched and goes on. That nobody hears it does not
    /// matter to what was asked for. A run that was started here is looked after already.
    fn beat(&self) {
        let at_work = self.fetched().clone().filter(|fetched| !fetched.is_over);
        if let Some(Fetched { run: Bound { task, agent, token, .. }, .. }) = at_work {
            let by = Actor::Agent(agent);
            let _ = self.office.ask(Request::LifeSign { task, by, token });
        }
    }
}

/// Gives a sign of life now and then for an agent that fetched work, while its session is open: an
/// agent may work for long without a word.
pub(super) async fn beat_while_open(session: Arc<Session>) {
    loop {
        tokio::time::sleep(BEAT).await;
        let session = Arc::clone(&session);
        let _ = tokio::task::spawn_blocking(move || session.beat()).await;
    }
}
