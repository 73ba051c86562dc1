//! Small sample values: ids, times, answers and evidence.

use adjutant_core::event::Happened;
use adjutant_core::evidence::{Changes, Check, Evidence};
use adjutant_core::permit::{Choice, ChoiceKind};
use adjutant_core::run::Exit;
use adjutant_core::{
    Actor, AgentId, Answer, Event, EventId, NodeId, Problem, Reason, Recorded, Status, TaskId,
    Time, Verdict,
};

use crate::engine::Answered;

pub(crate) fn task() -> TaskId {
    TaskId::parse("TASK-2026-02-09-001").expect("a task id")
}

pub(crate) fn other_task() -> TaskId {
    TaskId::parse("TASK-2026-02-09-002").expect("a task id")
}

pub(crate) fn agent() -> AgentId {
    AgentId::parse("swe").expect("an agent name")
}

pub(crate) fn node() -> NodeId {
    NodeId::parse("mac").expect("a node name")
}

pub(crate) fn alice() -> Actor {
    Actor::human("alice")
}

pub(crate) fn time() -> Time {
    Time::parse("2026-02-09T20:30:00.250Z").expect("a time")
}

pub(crate) fn choices() -> Vec<Choice> {
    let choice = |kind: &ChoiceKind| Choice {
        id: format!("option-{kind}"),
        name: "Yes".into(),
        kind: *kind,
    };
    ChoiceKind::ALL.iter().map(choice).collect()
}

pub(crate) fn evidence() -> Evidence {
    Evidence {
        branch: Some("adjutant/task-001".into()),
        base: Some("main".into()),
        commit: Some("0123456789abcdef".into()),
        dirty: true,
        changes: Some(Changes { files: 1, insertions: 20, deletions: 3 }),
        checks: vec![Check {
            command: "make test".into(),
            exit: Exit::Code(1),
            duration_ms: 1500,
            tail: "1 failed\n".into(),
            log: "checks/1.log".into(),
        }],
        flaw: Some("the work tree is gone".into()),
    }
}

pub(crate) fn recorded(number: u64, event: Event) -> Recorded {
    let happened = Happened { actor: alice(), task: Some(task()), event };
    Recorded { id: EventId(number), at: time(), happened }
}

/// An answer with nothing in it for every verdict, and one with everything.
pub(crate) fn answers() -> Vec<Answered> {
    let bare = |verdict| Answered { answer: Answer::plain(verdict), events: vec![], owed: vec![] };
    let full = Answer {
        verdict: Verdict::Rejected,
        reason: Some(Reason::InvalidArgument),
        task: Some(task()),
        status: Some(Status::Ready),
        problems: vec![Problem::new("title", "must not be empty"), Problem::new("", "is odd")],
    };
    let moved = Event::TaskTransitioned {
        from: Status::Ready,
        to: Status::Blocked,
        reason: "no key".into(),
        manner: adjutant_core::event::Manner::Ruled,
    };
    let events = vec![recorded(7, moved), recorded(8, Event::TaskRetried)];
    let mut all: Vec<Answered> = Verdict::ALL.map(bare).into();
    all.push(Answered { answer: full, events, owed: vec![] });
    all
}
