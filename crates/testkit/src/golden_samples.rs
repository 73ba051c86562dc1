//! Sample values for golden files: ids, times, answers, evidence and requests.

pub mod requests;

use std::fmt::Write as _;

use adjutant_engine::engine::EngineAnswer;
use adjutant_model::event::NewEvent;
use adjutant_model::evidence::{CheckResult, DiffStat, WorkEvidence};
use adjutant_model::permission::{ChoiceKind, PermissionChoice};
use adjutant_model::run::RunExit;
use adjutant_model::{
    Actor, AgentId, Answer, AnswerVerdict, Event, EventId, FieldProblem, NodeId, Reason,
    RecordedEvent, Status, TaskId, Time,
};
use serde::Serialize;

/// Returns values as lines of JSON, as they go over a socket.
pub fn json_lines<T: Serialize>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().fold(String::new(), |mut lines, value| {
        let line = serde_json::to_string(&value).expect("text and numbers make JSON");
        let _ = writeln!(lines, "{line}");
        lines
    })
}

pub fn task() -> TaskId {
    TaskId::parse("TASK-2026-02-09-001").expect("a task id")
}

pub fn other_task() -> TaskId {
    TaskId::parse("TASK-2026-02-09-002").expect("a task id")
}

pub fn agent() -> AgentId {
    AgentId::parse("swe").expect("an agent name")
}

pub fn node() -> NodeId {
    NodeId::parse("mac").expect("a node name")
}

pub fn alice() -> Actor {
    Actor::human("alice")
}

pub fn time() -> Time {
    Time::parse("2026-02-09T20:30:00.250Z").expect("a time")
}

pub fn choices() -> Vec<PermissionChoice> {
    let choice = |kind: &ChoiceKind| PermissionChoice {
        id: format!("option-{kind}"),
        name: "Yes".into(),
        kind: *kind,
    };
    ChoiceKind::ALL.iter().map(choice).collect()
}

pub fn evidence() -> WorkEvidence {
    WorkEvidence {
        branch: Some("adjutant/task-001".into()),
        base: Some("main".into()),
        commit: Some("0123456789abcdef".into()),
        dirty: true,
        changes: Some(DiffStat { files: 1, insertions: 20, deletions: 3 }),
        protected: vec![".ai/step-rules.yaml".into()],
        checks: vec![CheckResult {
            command: "make test".into(),
            exit: RunExit::Code(1),
            duration_ms: 1500,
            tail: "1 failed\n".into(),
            log: "checks/1.log".into(),
        }],
        flaw: Some("the work tree is gone".into()),
        unsettled: true,
    }
}

pub fn recorded(number: u64, event: Event) -> RecordedEvent {
    let happened = NewEvent { actor: alice(), task: Some(task()), event };
    RecordedEvent { id: EventId(number), at: time(), node: None, new_event: happened }
}

/// Returns an empty answer for every verdict, and one with all fields set.
pub fn answers() -> Vec<EngineAnswer> {
    let bare = |verdict| EngineAnswer::from(Answer::plain(verdict));
    let full = Answer {
        verdict: AnswerVerdict::Rejected,
        reason: Some(Reason::InvalidArgument),
        task: Some(task()),
        status: Some(Status::Ready),
        problems: vec![
            FieldProblem::new("title", "must not be empty"),
            FieldProblem::new("", "is odd"),
        ],
        warnings: vec!["no agent named \"swe\" is configured".into()],
    };
    let moved = Event::TaskTransitioned {
        from: Status::Ready,
        to: Status::Blocked,
        reason: "no key".into(),
        manner: adjutant_model::event::TransitionCause::Ruled,
    };
    let events = vec![recorded(7, moved), recorded(8, Event::TaskRetried {})];
    let mut all: Vec<EngineAnswer> = AnswerVerdict::ALL.map(bare).into();
    all.push(EngineAnswer { answer: full, events, effects: vec![] });
    all
}
