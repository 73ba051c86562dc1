//! `adjutant report`: sends an agent's report on its own run.

use std::process::ExitCode;

use adjutant_engine::EngineRequest;
use adjutant_process::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::send::closed_pipe_is_failure;
use crate::data::{ProjectData, submit_as_run};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::run_environment::RunEnvironment;
use crate::view::answer;

/// Report on the current run, from inside it (for agents)
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Environment variables identify the run: ADJUTANT_TASK_ID, ADJUTANT_AGENT, ADJUTANT_RUN_TOKEN, and \
ADJUTANT_RUN_SOCKET or ADJUTANT_DATA. Adjutant sets them when it starts an agent.
Exit code: 1 if the report was rejected, else 0.

Examples:
  adjutant report done --notes \"all criteria met\" --tests 12/12/0
  adjutant report blocked --blocker \"the API key is missing\"")]
pub(crate) enum ReportCommand {
    /// Report that the work is done
    #[command(after_help = "\
Examples:
  adjutant report done --notes \"all criteria met\" --tests 12/12/0")]
    Done(WorkReportArgs),
    /// Report that a part of the work is done
    #[command(after_help = "\
Examples:
  adjutant report partial --notes \"the parser is done, its tests are not\"")]
    Partial(WorkReportArgs),
    /// Report that the work cannot continue
    #[command(after_help = "\
Examples:
  adjutant report blocked --blocker \"MIT or Apache-2.0?\"")]
    Blocked(WorkReportArgs),
    /// Ask for a review of the work
    #[command(after_help = "\
Examples:
  adjutant report needs-review --notes \"please check the migration\"")]
    NeedsReview(WorkReportArgs),
    /// Report progress, while the work continues
    #[command(after_help = "\
Examples:
  adjutant report progress \"routes are in place\"")]
    Progress {
        /// How far the work is
        text: String,
    },
    /// Accept a delegated task
    #[command(after_help = "\
Examples:
  adjutant report accept")]
    Accept,
    /// Refuse a delegated task, and return it
    #[command(after_help = "\
Examples:
  adjutant report refuse \"there is no test plan\"")]
    Refuse {
        /// The reason, for the agent that delegated the task
        reason: String,
    },
}

/// The content of a report at the end of the work.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkReportArgs {
    /// The file with the summary of the work, in the folder of the task
    #[arg(long, value_name = "REF", default_value = "outputs/summary.md")]
    summary: String,
    /// A short description of the work
    #[arg(long, value_name = "TEXT", default_value = "")]
    notes: String,
    /// How many tests there are, passed and failed
    #[arg(long, value_name = "TOTAL/PASSED/FAILED", default_value = "0/0/0", value_parser = parse_tests)]
    tests: TestCountsArg,
    /// A file that the work produced; may be repeated
    #[arg(long = "deliverable", value_name = "PATH")]
    deliverables: Vec<String>,
    /// What the work is blocked by; may be repeated
    #[arg(long = "blocker", value_name = "TEXT")]
    blockers: Vec<String>,
}

/// The number of tests in total, passed and failed.
type TestCountsArg = [u64; 3];

impl ReportCommand {
    pub(crate) fn run(
        self,
        data: impl FnOnce() -> Result<ProjectData, CommandFailure>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let inside = RunEnvironment::from_env("cannot report")?;
        let (kind, payload) = self.into_message(&inside);
        let message = build_envelope(&inside, kind, &payload);
        let message = EngineRequest::message(message.to_string().into_bytes());
        let answered = submit_as_run(message, data, out)?;
        answer::print(out, &answered).map_err(closed_pipe_is_failure)?;
        Ok(ExitCode::from(u8::from(answer::is_refused(&answered))))
    }

    /// Returns the type and the payload of the message.
    fn into_message(self, inside: &RunEnvironment) -> (&'static str, Value) {
        let task = inside.task.as_str();
        match self {
            Self::Done(work) => ("completion.report", work.payload("done")),
            Self::Partial(work) => ("completion.report", work.payload("partial")),
            Self::Blocked(work) => ("completion.report", work.payload("blocked")),
            Self::NeedsReview(work) => ("completion.report", work.payload("needs_review")),
            Self::Progress { text } => (
                "status.update",
                json!({"taskId": task, "agentId": inside.agent.as_str(), "progress": text}),
            ),
            Self::Accept => ("handoff.accepted", json!({"taskId": task, "accepted": true})),
            Self::Refuse { reason } => {
                ("handoff.rejected", json!({"taskId": task, "accepted": false, "reason": reason}))
            }
        }
    }
}

impl WorkReportArgs {
    fn payload(self, outcome: &str) -> Value {
        let [total, passed, failed] = self.tests;
        json!({
            "outcome": outcome,
            "summaryRef": self.summary,
            "deliverables": self.deliverables,
            "tests": {"total": total, "passed": passed, "failed": failed},
            "blockers": self.blockers,
            "notes": self.notes,
        })
    }
}

fn build_envelope(inside: &RunEnvironment, kind: &str, payload: &Value) -> Value {
    json!({
        "protocol": "aof",
        "version": 1,
        "type": kind,
        "taskId": inside.task.as_str(),
        "fromAgent": inside.agent.as_str(),
        "toAgent": "dispatcher",
        "sentAt": SystemClock.now().to_string(),
        "runToken": inside.token,
        "payload": payload,
    })
}

fn parse_tests(text: &str) -> Result<TestCountsArg, String> {
    let counts: Result<Vec<u64>, _> = text.split('/').map(str::parse).collect();
    let counts = counts.ok().and_then(|counts| counts.try_into().ok());
    counts.ok_or_else(|| "expected three counts like 12/11/1: total, passed, failed".to_owned())
}
