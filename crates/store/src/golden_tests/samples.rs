//! Small sample values: ids, times, and the parts of events.

use adjutant_core::account::{Parked, Usage};
use adjutant_core::completion::{Completion, Outcome, RunResult, TestReport};
use adjutant_core::evidence::{Changes, Check, Evidence};
use adjutant_core::handoff::Handoff;
use adjutant_core::path::RelPath;
use adjutant_core::permit::{Choice, ChoiceKind, Permit};
use adjutant_core::pipeline::{Hold, Position, Reason, Status, Step, StoryId};
use adjutant_core::run::Exit;
use adjutant_core::trials::Question;
use adjutant_core::worklog::Entry;
use adjutant_core::{AgentId, NodeId, Stamp, TaskId, Time};

pub(crate) const ATTEMPT: u32 = 2;
pub(crate) const FENCE: u64 = 7;

pub(crate) fn id(number: u32) -> TaskId {
    TaskId::parse(&format!("TASK-2026-02-09-{number:03}")).expect("a task id")
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("an agent name")
}

pub(crate) fn node(name: &str) -> NodeId {
    NodeId::parse(name).expect("a node name")
}

pub(crate) fn time(clock: &str) -> Time {
    Time::parse(&format!("2026-02-09T{clock}Z")).expect("a time")
}

/// A time as an agent wrote it, with an offset.
pub(crate) fn stamp() -> Stamp {
    Stamp::parse("2026-02-09T23:10:00+02:00").expect("a time")
}

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("a relative path")
}

pub(crate) fn story(text: &str) -> StoryId {
    StoryId::parse(text).expect("a story id")
}

pub(crate) fn usage() -> Usage {
    Usage { input: 1200, output: 340, cached: 800, cost: 1_234_567 }
}

pub(crate) fn question(suggestion: Option<&str>) -> Question {
    let suggestion = suggestion.map(str::to_owned);
    Question { text: "Which database: A or B?".into(), suggestion }
}

pub(crate) fn permit(choices: Vec<Choice>) -> Permit {
    Permit {
        attempt: ATTEMPT,
        fence: FENCE,
        number: 3,
        since: time("20:12:00.000"),
        text: "Run `make`".into(),
        choices,
    }
}

/// One choice of every kind.
pub(crate) fn choices() -> Vec<Choice> {
    let choice = |kind: &ChoiceKind| Choice {
        id: format!("option-{kind}"),
        name: format!("Option {kind}"),
        kind: *kind,
    };
    ChoiceKind::ALL.iter().map(choice).collect()
}

pub(crate) fn bare_parked() -> Parked {
    let reason = "not logged in".into();
    Parked { agent: agent("swe"), until: None, reason, settings: 0x1f, node: None }
}

pub(crate) fn full_parked() -> Parked {
    Parked {
        agent: agent("qa"),
        until: Some(time("22:00:00.000")),
        reason: "usage limit reached".into(),
        settings: u64::MAX,
        node: Some(node("mac")),
    }
}

pub(crate) fn exits() -> Vec<Exit> {
    vec![
        Exit::Code(0),
        Exit::Code(-1),
        Exit::Signal(9),
        Exit::TimedOut,
        Exit::Idle,
        Exit::OverBudget,
        Exit::Stopped,
        Exit::Lost,
        Exit::NotStarted("no such file".into()),
        Exit::NoWorkspace("no git: at all".into()),
    ]
}

/// Evidence with every field, and a check for every way a command can end.
pub(crate) fn full_evidence() -> Evidence {
    let check = |exit| Check {
        command: "make test".into(),
        exit,
        duration_ms: 1500,
        tail: "2 passed\n".into(),
        log: "checks/1.log".into(),
    };
    Evidence {
        branch: Some("adjutant/task-001".into()),
        base: Some("main".into()),
        commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
        dirty: true,
        changes: Some(Changes { files: 1, insertions: 20, deletions: 3 }),
        checks: exits().into_iter().map(check).collect(),
        flaw: Some("the work tree is gone".into()),
    }
}

pub(crate) fn completion(outcome: Outcome) -> Completion {
    Completion {
        outcome,
        summary_ref: path("outputs/summary.md"),
        deliverables: vec![path("src/a.rs"), path("src/b c.rs")],
        tests: TestReport { total: 3, passed: 2, failed: 1 },
        blockers: vec!["no key".into()],
        notes: "Two of \"three\".\nÜber".into(),
    }
}

pub(crate) fn result(completion: Completion) -> RunResult {
    RunResult { task: id(1), agent: agent("swe"), completed_at: stamp(), completion }
}

pub(crate) fn empty_completion() -> Completion {
    Completion {
        outcome: Outcome::Done,
        summary_ref: path("outputs/summary.md"),
        deliverables: vec![],
        tests: TestReport::default(),
        blockers: vec![],
        notes: String::new(),
    }
}

pub(crate) fn full_handoff() -> Handoff {
    Handoff {
        task: id(1),
        parent: id(2),
        from: agent("swe"),
        to: agent("qa"),
        acceptance_criteria: vec!["All tests pass".into(), "Two\nlines".into()],
        expected_outputs: vec![path("tests/report.md")],
        context_refs: vec![path("docs/plan.md")],
        constraints: vec!["No new dependencies".into()],
        due_by: stamp(),
    }
}

pub(crate) fn bare_handoff() -> Handoff {
    Handoff {
        task: id(1),
        parent: id(2),
        from: agent("swe"),
        to: agent("qa"),
        acceptance_criteria: vec![],
        expected_outputs: vec![],
        context_refs: vec![],
        constraints: vec![],
        due_by: stamp(),
    }
}

pub(crate) fn full_entry() -> Entry {
    Entry {
        at: stamp(),
        progress: Some("Core done".into()),
        notes: Some("ETA | tomorrow".into()),
        blockers: vec!["no key".into(), "b".into()],
    }
}

pub(crate) fn bare_entry() -> Entry {
    Entry { at: stamp(), progress: None, notes: None, blockers: vec![] }
}

pub(crate) fn bare_position() -> Position {
    Position {
        story: story("US-005"),
        step: Step::Bdd,
        attempt: 1,
        max_attempts: 3,
        status: Status::Pending,
        reason: None,
        hold: None,
        auto: false,
        waits_for: vec![],
        fence: None,
        error: None,
        node: None,
    }
}

pub(crate) fn full_position() -> Position {
    Position {
        story: story("US-005"),
        step: Step::Impl,
        attempt: ATTEMPT,
        max_attempts: 5,
        status: Status::NeedsHuman,
        reason: Some(Reason::ScopeWarning),
        hold: Some(Hold::Stuck),
        auto: true,
        waits_for: vec![story("US-003"), story("US-004")],
        fence: Some(FENCE),
        error: Some("two tests fail".into()),
        node: Some(node("mini")),
    }
}
