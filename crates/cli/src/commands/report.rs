//! `adjutant report`: what an agent says about its own run.

use std::process::ExitCode;

use adjutant_runtime::{Clock, Request, SystemClock};
use serde_json::{Value, json};

use super::send::unheard;
use crate::data::Data;
use crate::error::Failure;
use crate::inside::Inside;
use crate::output::Output;
use crate::view::answer;

/// Report on the run this is called from
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "For agents: which run it is comes from the environment (ADJUTANT_DATA, \
    ADJUTANT_TASK_ID, ADJUTANT_AGENT, ADJUTANT_RUN_TOKEN).\n\
    Exit code: 1 if the report was rejected, else 0.")]
pub(crate) enum Report {
    /// The work is done
    Done(Work),
    /// Some of the work is done
    Partial(Work),
    /// Something is in the way
    Blocked(Work),
    /// Somebody must look at the work
    NeedsReview(Work),
    /// Say how far the work is
    Progress {
        /// How far it is
        text: String,
    },
    /// Accept work that was handed on
    Accept,
    /// Give work back that was handed on
    Refuse {
        /// Why
        reason: String,
    },
}

/// What there is to say at the end of the work.
#[derive(Debug, clap::Args)]
pub(crate) struct Work {
    /// The file that says what was done, in the folder of the task
    #[arg(long, value_name = "REF", default_value = "outputs/summary.md")]
    summary: String,
    /// What there is to say about it
    #[arg(long, value_name = "TEXT", default_value = "")]
    notes: String,
    /// How the tests went
    #[arg(long, value_name = "TOTAL/PASSED/FAILED", default_value = "0/0/0", value_parser = tests)]
    tests: Tests,
    /// A file that was made; may be given more than once
    #[arg(long = "deliverable", value_name = "PATH")]
    deliverables: Vec<String>,
    /// What is in the way; may be given more than once
    #[arg(long = "blocker", value_name = "TEXT")]
    blockers: Vec<String>,
}

/// How many tests there were, passed and failed.
type Tests = [u64; 3];

impl Report {
    pub(crate) fn run(
        self,
        data: impl FnOnce() -> Result<Data, Failure>,
        out: &Output,
    ) -> Result<ExitCode, Failure> {
        let inside = Inside::find("cannot report")?;
        let (kind, payload) = self.said(&inside);
        let message = envelope(&inside, kind, &payload);
        let data = data()?;
        let answered = data.submit(Request::Message(message.to_string().into_bytes()), out)?;
        inside.touch(data.folder.root());
        answer::print(out, &answered).map_err(unheard)?;
        Ok(ExitCode::from(u8::from(answer::is_refused(&answered))))
    }

    /// Returns the type of the message, and what it says.
    fn said(self, inside: &Inside) -> (&'static str, Value) {
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

impl Work {
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

fn envelope(inside: &Inside, kind: &str, payload: &Value) -> Value {
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

fn tests(text: &str) -> Result<Tests, String> {
    let counts: Result<Vec<u64>, _> = text.split('/').map(str::parse).collect();
    let counts = counts.ok().and_then(|counts| counts.try_into().ok());
    counts.ok_or_else(|| "three counts as 12/11/1: all, passed, failed".to_owned())
}
