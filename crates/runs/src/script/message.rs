//! The AOF messages that a script agent sends.

#[cfg(test)]
mod tests;

use adjutant_process::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::agent::TOKEN_VARIABLE;

use super::step::{DelegateStep, ForgedReport, ReportOutcome, ScriptReport};

/// What an agent knows about its run, from the environment.
pub(super) struct RunIdentity {
    pub(super) task: String,
    agent: String,
    token: String,
    pub(super) attempt: u32,
}

impl RunIdentity {
    pub(super) fn from_environment() -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        Self {
            task: variable("ADJUTANT_TASK_ID"),
            agent: variable("ADJUTANT_AGENT"),
            token: variable(TOKEN_VARIABLE),
            attempt: variable("ADJUTANT_ATTEMPT").parse().unwrap_or(1),
        }
    }

    pub(super) fn progress(&self, text: &str) -> Value {
        let payload = json!({"taskId": self.task, "agentId": self.agent, "progress": text});
        self.envelope("status.update", &payload)
    }

    pub(super) fn report(&self, report: &ScriptReport) -> Value {
        let payload = completion(report.outcome, &report.notes, &report.blockers);
        self.envelope("completion.report", &payload)
    }

    pub(super) fn delegate(&self, delegate: &DelegateStep) -> Value {
        let payload = json!({
            "taskId": delegate.task,
            "parentTaskId": self.task,
            "fromAgent": self.agent,
            "toAgent": delegate.to,
            "acceptanceCriteria": delegate.criteria,
            "expectedOutputs": [],
            "contextRefs": [],
            "constraints": [],
            "dueBy": SystemClock.now().to_string(),
        });
        let mut message = self.envelope("handoff.request", &payload);
        message["taskId"] = json!(delegate.task);
        message["toAgent"] = json!(delegate.to);
        message
    }

    pub(super) fn lie(&self, lie: &ForgedReport) -> Value {
        let payload = completion(ReportOutcome::Done, "This is a lie.", &[]);
        let mut message = self.envelope("completion.report", &payload);
        match lie {
            ForgedReport::Task(task) => message["taskId"] = json!(task),
            ForgedReport::Agent(agent) => message["fromAgent"] = json!(agent),
            ForgedReport::Token(token) => message["runToken"] = json!(token),
        }
        message
    }

    fn envelope(&self, kind: &str, payload: &Value) -> Value {
        json!({
            "protocol": "aof",
            "version": 1,
            "type": kind,
            "taskId": self.task,
            "fromAgent": self.agent,
            "toAgent": "dispatcher",
            "sentAt": SystemClock.now().to_string(),
            "runToken": self.token,
            "payload": payload,
        })
    }
}

fn completion(outcome: ReportOutcome, notes: &str, blockers: &[String]) -> Value {
    let outcome = match outcome {
        ReportOutcome::Done => "done",
        ReportOutcome::Partial => "partial",
        ReportOutcome::Blocked => "blocked",
        ReportOutcome::NeedsReview => "needs_review",
    };
    json!({
        "outcome": outcome,
        "summaryRef": "outputs/summary.md",
        "deliverables": [],
        "tests": {"total": 0, "passed": 0, "failed": 0},
        "blockers": blockers,
        "notes": notes,
    })
}
