//! The messages of a script agent.

#[cfg(test)]
mod golden_tests;

use serde_json::{Value, json};

use super::step::{Delegate, Lie, Outcome, Report};
use crate::clock::{Clock, SystemClock};

/// What an agent knows of its run.
pub(super) struct Run {
    pub(super) task: String,
    agent: String,
    pub(super) attempt: u32,
}

impl Run {
    pub(super) fn from_environment() -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        Self {
            task: variable("ADJUTANT_TASK_ID"),
            agent: variable("ADJUTANT_AGENT"),
            attempt: variable("ADJUTANT_ATTEMPT").parse().unwrap_or(1),
        }
    }

    pub(super) fn progress(&self, text: &str) -> Value {
        let payload = json!({"taskId": self.task, "agentId": self.agent, "progress": text});
        self.envelope("status.update", &payload)
    }

    pub(super) fn report(&self, report: &Report) -> Value {
        let payload = completion(report.outcome, &report.notes, &report.blockers);
        self.envelope("completion.report", &payload)
    }

    pub(super) fn delegate(&self, delegate: &Delegate) -> Value {
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

    pub(super) fn lie(&self, lie: &Lie) -> Value {
        let payload = completion(Outcome::Done, "This is a lie.", &[]);
        let mut message = self.envelope("completion.report", &payload);
        match lie {
            Lie::Task(task) => message["taskId"] = json!(task),
            Lie::Agent(agent) => message["fromAgent"] = json!(agent),
            Lie::Token(token) => message["runToken"] = json!(token),
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
            "payload": payload,
        })
    }
}

fn completion(outcome: Outcome, notes: &str, blockers: &[String]) -> Value {
    let outcome = match outcome {
        Outcome::Done => "done",
        Outcome::Partial => "partial",
        Outcome::Blocked => "blocked",
        Outcome::NeedsReview => "needs_review",
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
