//! The tools of an agent, for the run it is bound to or the work it fetches.

use std::sync::Arc;
use std::time::Duration;

use adjutant_core::World;
use adjutant_engine::{EngineAnswer, EngineRequest, Request};
use adjutant_model::command::CommandCaller;
use adjutant_model::run::RunRef;
use adjutant_model::{Actor, Command, Reason, Status};
use adjutant_query::RunCredentials;
use parking_lot::MutexGuard;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::handoff::{HandoffArgs, create_handoff};
use super::report::{self, WorkReport, require_accepted};
use super::tool::{NoArgs, ToolEffect, ToolResult, describe_tool, parse_args};
use super::{FetchedRun, McpServerSession, SessionIdentity};

/// Instructions for an agent that was started for a task.
pub(super) const RUN_INSTRUCTIONS: &str = "\
You work on one task. Call `task_context` first: it returns the work order. Report your progress \
with `report_progress` from time to time. When the work is done, call `complete`. If you cannot \
continue, call `report_blocked`. If a person has to decide something, call `ask_human`. Work that \
is not reported does not count. After one of these three calls, stop.";

/// Instructions for an agent that fetches its own work.
pub(super) const FETCH_INSTRUCTIONS: &str = "\
Call `next_task` first: it returns a task with its work order. Report your progress with \
`report_progress` from time to time. When the work is done, call `complete`. If you cannot \
continue, call `report_blocked`. If a person has to decide something, call `ask_human`. Work that \
is not reported does not count. After one of these three calls, call `next_task` again.";

/// The heartbeat interval for fetched work while the session is open.
const HEARTBEAT_INTERVAL: Duration = Duration::from_mins(1);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProgressArgs {
    /// The progress so far, in one or two sentences.
    progress: String,
    /// Further notes for the work log.
    #[serde(default)]
    notes: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BlockedArgs {
    /// What blocks the work, one sentence per blocker.
    blockers: Vec<String>,
    /// What was done so far; Markdown. It is stored as the summary of the task.
    #[serde(default)]
    summary: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompleteArgs {
    /// What was done, and how to check it; Markdown. It is stored as the summary of the task.
    summary: String,
    /// The outcome: `done`; `partial` if some of the work is left; `needs_review` if a person should
    /// review the work.
    #[serde(default)]
    outcome: ReportedOutcome,
    /// The test results, if tests were run.
    #[serde(default)]
    tests: TestCounts,
    /// The files that were created or changed, relative to the workspace.
    #[serde(default)]
    deliverables: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReportedOutcome {
    #[default]
    Done,
    Partial,
    NeedsReview,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TestCounts {
    /// The number of tests.
    total: u64,
    /// The number of tests that passed.
    passed: u64,
    /// The number of tests that failed.
    failed: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskHumanArgs {
    /// The question, with everything a person needs to know to answer it.
    question: String,
    /// The answer that you suggest.
    #[serde(default)]
    suggestion: Option<String>,
}

/// The arguments of the older tool. Unknown arguments are ignored.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct LegacyCompleteArgs {
    /// The id of your task; no other task is accepted.
    task_id: Option<String>,
    /// What was done; Markdown. It is stored as the summary of the task.
    summary: String,
}

/// The arguments of the older tool. Unknown arguments are ignored.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct LegacyUpdateArgs {
    /// The id of your task; no other task is accepted.
    task_id: Option<String>,
    /// The status of the task, such as `blocked`.
    status: Option<String>,
    /// The progress so far.
    progress: Option<String>,
    /// What blocks the work.
    blockers: Vec<String>,
    /// Further notes for the work log.
    notes: Option<String>,
}

pub(super) fn tools() -> Vec<Tool> {
    use ToolEffect::{ReadOnly, Writes};
    vec![
        describe_tool::<NoArgs>(
            "task_context",
            ReadOnly,
            "Returns the work order of your task: what to do, the results of earlier attempts, and \
             the answers of people. Call it first.",
        ),
        describe_tool::<ProgressArgs>(
            "report_progress",
            Writes,
            "Reports your progress. It is added to the work log of the task, and shows that you \
             are not stuck.",
        ),
        describe_tool::<BlockedArgs>(
            "report_blocked",
            Writes,
            "Reports that you cannot continue, and why. This ends your work on the task.",
        ),
        describe_tool::<CompleteArgs>(
            "complete",
            Writes,
            "Reports that the work is finished, and what was done. This ends your work on the task.",
        ),
        describe_tool::<HandoffArgs>(
            "handoff",
            Writes,
            "Delegates a part of your work to another agent, as a separate task. You continue with \
             your own task.",
        ),
        describe_tool::<AskHumanArgs>(
            "ask_human",
            Writes,
            "Asks a person to decide something. This ends your work on the task for now: the \
             answer will be in the next work order.",
        ),
        describe_tool::<NoArgs>(
            "next_task",
            Writes,
            "Fetches your next task with its work order. Returns the same task until you have \
             reported on it.",
        ),
        describe_tool::<LegacyCompleteArgs>(
            "aof_task_complete",
            Writes,
            "An older name of `complete`, with fewer arguments.",
        ),
        describe_tool::<LegacyUpdateArgs>(
            "aof_task_update",
            Writes,
            "An older name of `report_progress` and `report_blocked`.",
        ),
    ]
}

/// Calls an agent's tool; `None` if it does not exist.
pub(super) fn call(session: &McpServerSession, name: &str, arguments: Value) -> Option<ToolResult> {
    session.send_heartbeat();
    let result = match name {
        "task_context" => context(session, arguments),
        "report_progress" => progress(session, arguments),
        "report_blocked" => blocked(session, arguments),
        "complete" => complete(session, arguments),
        "handoff" => session.run().and_then(|run| create_handoff(session, &run, arguments)),
        "ask_human" => ask_human(session, arguments),
        "next_task" => next_task(session, arguments),
        "aof_task_complete" => legacy_complete(session, arguments),
        "aof_task_update" => legacy_update(session, arguments),
        _ => return None,
    };
    Some(result.into())
}

fn context(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let NoArgs {} = parse_args(arguments)?;
    let run = session.run()?;
    work_order(session, &run)
}

fn progress(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let ProgressArgs { progress, notes } = parse_args(arguments)?;
    let run = session.run()?;
    let mut fields = json!({ "progress": progress });
    if let Some(notes) = notes {
        fields["notes"] = json!(notes);
    }
    report::report_progress(session, &run, &fields)?;
    Ok(ToolResult::Text("Progress recorded.".to_owned()))
}

fn blocked(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let BlockedArgs { blockers, summary } = parse_args(arguments)?;
    report_result(
        session,
        "blocked",
        summary.as_deref().unwrap_or(""),
        TestCounts::default(),
        &[],
        &blockers,
    )
}

fn complete(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let CompleteArgs { summary, outcome, tests, deliverables } = parse_args(arguments)?;
    let outcome = match outcome {
        ReportedOutcome::Done => "done",
        ReportedOutcome::Partial => "partial",
        ReportedOutcome::NeedsReview => "needs_review",
    };
    report_result(session, outcome, &summary, tests, &deliverables, &[])
}

fn ask_human(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let AskHumanArgs { question, suggestion } = parse_args(arguments)?;
    let question = match suggestion {
        Some(suggestion) => format!("{question} (suggested: {suggestion})"),
        None => question,
    };
    report_result(session, "blocked", "", TestCounts::default(), &[], &[question])
}

fn legacy_complete(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let LegacyCompleteArgs { task_id, summary } = parse_args(arguments)?;
    own_run(session, task_id.as_deref())?;
    report_result(session, "done", &summary, TestCounts::default(), &[], &[])
}

fn legacy_update(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let LegacyUpdateArgs { task_id, status, progress, blockers, notes } = parse_args(arguments)?;
    let run = own_run(session, task_id.as_deref())?;
    let mut fields = json!({});
    for (key, value) in [("status", status), ("progress", progress), ("notes", notes)] {
        if let Some(value) = value {
            fields[key] = json!(value);
        }
    }
    if !blockers.is_empty() {
        fields["blockers"] = json!(blockers);
    }
    report::report_progress(session, &run, &fields)?;
    Ok(ToolResult::Text("Progress recorded.".to_owned()))
}

/// Reports the result of the work, and tells the agent what happens next.
fn report_result(
    session: &McpServerSession,
    outcome: &str,
    summary: &str,
    tests: TestCounts,
    deliverables: &[String],
    blockers: &[String],
) -> Result<ToolResult, ToolResult> {
    let run = session.run()?;
    let tests = [tests.total, tests.passed, tests.failed];
    let ending = WorkReport { outcome, summary, tests, deliverables, blockers };
    let answered = report::report_completion(session, &run, &ending)?;
    if let Some(fetched) = session.lock_fetched().as_mut() {
        fetched.is_over = true;
    }
    Ok(ToolResult::Text(describe_next_step(session, &answered)))
}

fn describe_next_step(session: &McpServerSession, answered: &EngineAnswer) -> String {
    let stands = match answered.answer.status {
        None if answered.answer.reason == Some(Reason::KeptForLater) => {
            "it is stored with the run, and the daemon will apply it"
        }
        Some(Status::Review) => "the task waits for a review",
        Some(Status::Done) => "the task is done",
        Some(Status::Blocked) => "the task is blocked until a person answers",
        _ => "the task was already closed",
    };
    let then = match session.identity {
        SessionIdentity::Agent(_) => "Call `next_task` for more work.",
        SessionIdentity::Run(_) | SessionIdentity::Operator(_) => {
            "Your work on this task has ended: stop now."
        }
    };
    format!("Your report was accepted: {stands}. {then}")
}

fn next_task(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let NoArgs {} = parse_args(arguments)?;
    let agent = match &session.identity {
        SessionIdentity::Run(run) => return work_order(session, run),
        SessionIdentity::Agent(agent) => agent,
        SessionIdentity::Operator(_) => {
            return Err(ToolResult::Refused("an operator cannot fetch tasks: use a session of an agent (`adjutant mcp --agent NAME`)".to_owned()));
        }
    };
    let by = CommandCaller::Operator(Actor::Agent(agent.clone()));
    let command = Command::Take { agent: agent.clone(), nonce: None };
    let answered = require_accepted(session.project()?.ask(EngineRequest::command(by, command))?)?;
    let Some(task) = answered.answer.task.clone() else {
        debug_assert_eq!(answered.answer.reason, Some(Reason::NothingToDo));
        return Ok(ToolResult::Text(
            "There is no task for you now. Call `next_task` again later.".to_owned(),
        ));
    };
    let shown = session.project()?.queries.task(&task)?;
    let lease = shown.fields().get("lease").cloned();
    let Some(held) = lease.and_then(|lease| serde_json::from_value::<RunRef>(lease).ok()) else {
        return Err(ToolResult::Refused(format!(
            "{task} was assigned to another run meanwhile; call `next_task` again"
        )));
    };
    let token = session.project()?.queries.run_token(&task, &held)?;
    let run = RunCredentials { task, agent: agent.clone(), attempt: held.attempt, token };
    *session.lock_fetched() = Some(FetchedRun { run: run.clone(), is_over: false });
    session.send_heartbeat();
    work_order(session, &run)
}

fn work_order(session: &McpServerSession, run: &RunCredentials) -> Result<ToolResult, ToolResult> {
    Ok(ToolResult::Text(session.run_access().work_order(run)?))
}

/// Returns the run, or refuses if the call names another task: a run acts only for itself.
fn own_run(session: &McpServerSession, named: Option<&str>) -> Result<RunCredentials, ToolResult> {
    let run = session.run()?;
    match named {
        Some(task) if task != run.task.as_str() => {
            let (own, other) = (&run.task, task);
            Err(ToolResult::Refused(format!(
                "nothing was changed: your task is {own}, not {other:?}"
            )))
        }
        _ => Ok(run),
    }
}

impl McpServerSession {
    /// Returns the run this session acts for.
    pub(super) fn run(&self) -> Result<RunCredentials, ToolResult> {
        let fetched = || {
            let known = self.lock_fetched().as_ref().map(|fetched| fetched.run.clone());
            known.or_else(|| self.find_fetched_run())
        };
        match &self.identity {
            SessionIdentity::Run(run) => Ok(run.clone()),
            SessionIdentity::Agent(_) => fetched().ok_or_else(|| {
                ToolResult::Refused("you have no task: call `next_task` first".to_owned())
            }),
            SessionIdentity::Operator(_) => {
                Err(ToolResult::Refused("this session does not belong to a run".to_owned()))
            }
        }
    }

    /// Finds a run that the agent fetched in an earlier session and that is still open.
    fn find_fetched_run(&self) -> Option<RunCredentials> {
        let SessionIdentity::Agent(agent) = &self.identity else { return None };
        let project = self.project().ok()?;
        let found = project.queries.with_world(|world| {
            let elsewhere =
                world.with_status(Status::InProgress).filter(|t| t.history.open.is_none());
            let of_agent = elsewhere.filter_map(|task| Some((task.id.clone(), task.lease()?)));
            let mut of_agent = of_agent.filter(|(_, lease)| lease.agent == *agent);
            of_agent.next().map(|(task, lease)| (task, RunRef::from(lease)))
        });
        let (task, held) = found.ok().flatten()?;
        let token = project.queries.run_token(&task, &held).ok()?;
        let run = RunCredentials { task, agent: agent.clone(), attempt: held.attempt, token };
        *self.lock_fetched() = Some(FetchedRun { run: run.clone(), is_over: false });
        Some(run)
    }

    fn lock_fetched(&self) -> MutexGuard<'_, Option<FetchedRun>> {
        self.fetched.lock()
    }

    /// Sends a heartbeat for fetched work that is not finished. Errors are ignored: the call
    /// succeeds without it.
    fn send_heartbeat(&self) {
        if let Some(RunCredentials { task, agent, token, .. }) = self.unsupervised_run() {
            let by = Actor::Agent(agent);
            let _ = self.run_access().ask(Request::LifeSign { task, by, token }.into());
        }
    }

    /// Returns the run of this session if only its own heartbeats show that it is alive. A run that
    /// was started here needs none: it is supervised already.
    fn unsupervised_run(&self) -> Option<RunCredentials> {
        match &self.identity {
            SessionIdentity::Agent(_) => {
                let at_work = self.lock_fetched().clone().filter(|fetched| !fetched.is_over);
                at_work.map(|fetched| fetched.run)
            }
            SessionIdentity::Run(run) => {
                let is_elsewhere = |world: &World| {
                    let task = world.task(&run.task)?;
                    let lease = task.lease().filter(|lease| lease.attempt == run.attempt);
                    Some(lease.is_some() && task.history.open.is_none())
                };
                let is_elsewhere = self.project().ok()?.queries.with_world(is_elsewhere).ok()?;
                is_elsewhere.unwrap_or(false).then(|| run.clone())
            }
            SessionIdentity::Operator(_) => None,
        }
    }
}

/// Sends heartbeats for fetched work while the session is open, because an agent may work for a
/// long time without calling a tool.
pub(super) async fn send_heartbeats(session: Arc<McpServerSession>) {
    loop {
        tokio::time::sleep(HEARTBEAT_INTERVAL).await;
        let session = Arc::clone(&session);
        let _ = tokio::task::spawn_blocking(move || session.send_heartbeat()).await;
    }
}
