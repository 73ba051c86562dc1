//! A sample of every event in every form it is written in.

use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::completion::WorkOutcome;
use adjutant_model::document::DocumentKind;
use adjutant_model::event::{ReceivedMessage, ReportChannel, TransitionCause};
use adjutant_model::evidence::WorkEvidence;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::message_type::MessageType;
use adjutant_model::mission::EpicId;
use adjutant_model::run::RunPlace;
use adjutant_model::run_history::BlockedBy;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::story::{Step, StoryHold, StoryPosition};
use adjutant_model::usage::TokenUsage;
use adjutant_model::work_log::WorkLogEntry;
use adjutant_model::{Event, EventId, Status};
use adjutant_test_support::assert_every_variant;

use super::samples::{
    ATTEMPT, FENCE, agent, bare_entry, bare_handoff, bare_parked, bare_position, choices,
    completion, empty_completion, exits, full_entry, full_evidence, full_handoff, full_parked,
    full_position, id, node, permission_request, result, stamp, time, usage,
};
use super::task::{bare_task, full_task, varied_task};

/// In the order of the enum.
pub(crate) fn every_event() -> Vec<Event> {
    let all = [messages(), tasks(), completions(), stories(), delegations(), questions()];
    let more = [runs(), agents(), work(), merges(), salvage(), refusals(), other_events()];
    let all: Vec<Event> = all.into_iter().chain(more).flatten().collect();
    assert_every_variant!(
        &all,
        Event {
            MessageReceived,
            MessageRejected,
            MessageUnknown,
            MessageWarned,
            TaskCreated,
            TaskEdited,
            TaskRemoved,
            TaskTransitioned,
            TaskCompleted,
            StoryMoved,
            TaskLogged,
            DelegationRequested,
            DelegationAccepted,
            DelegationRejected,
            TaskAnswered,
            TaskAsked,
            RunAsked,
            RunAnswered,
            EpicNoted,
            RunStarted,
            RunHeartbeat,
            RunExited,
            RunFailed,
            RunUsage,
            RunParked,
            HostRefused,
            AgentFreed,
            TaskRetried,
            RunDeferred,
            WorkClaimed,
            WorkChecked,
            WorkSaved,
            ProtectedAllowed,
            ChecksAccepted,
            MergeRequested,
            MergeWaiting,
            MergeRefused,
            WorkMerged,
            RunSalvaged,
            SalvageApplied,
            DispatchRefused,
            CommandRefused,
            AccessRefused,
            RequestKept,
            FleetDecider,
            NotifySent,
            NotifyFailed,
            FolderAdopted,
            LogRestored,
        }
    );
    all
}

fn messages() -> Vec<Event> {
    let received = |kind| {
        Event::MessageReceived(ReceivedMessage::Message {
            kind,
            to: agent("router"),
            sent_at: stamp(),
        })
    };
    let document =
        |kind| Event::MessageReceived(ReceivedMessage::Document { kind, id: "T1".into() });
    let rejected = |problems| Event::MessageRejected { reason: Reason::InvalidEnvelope, problems };
    let problems = vec![
        FieldProblem::new("payload.notes", "is required"),
        FieldProblem::new("", "the message is empty"),
    ];
    let warned = |reason: &Reason| Event::MessageWarned { reason: *reason, detail: "odd".into() };
    let mut all: Vec<Event> = MessageType::ALL.map(received).into();
    all.extend(DocumentKind::ALL.map(document));
    all.extend([rejected(vec![]), rejected(problems)]);
    all.push(Event::MessageUnknown { kind: "coffee.break".into() });
    all.extend(Reason::ALL.iter().map(warned));
    all
}

fn tasks() -> Vec<Event> {
    let created = |task, body: Option<&str>| Event::TaskCreated {
        task: Box::new(task),
        body: body.map(str::to_owned),
        limits: None,
    };
    let edited = |changed: &[&str], body: Option<&str>| Event::TaskEdited {
        task: Box::new(bare_task(Status::Ready)),
        changed: changed.iter().map(|field| (*field).to_owned()).collect(),
        body: body.map(str::to_owned),
        limits: None,
    };
    let moved =
        |from, to, manner| Event::TaskTransitioned { from, to, reason: "because".into(), manner };
    let manners = [
        TransitionCause::Ruled,
        TransitionCause::Held(BlockedBy::Dependency),
        TransitionCause::ByHand,
        TransitionCause::AgainstTheTable,
        TransitionCause::Reopened,
    ];
    assert_every_variant!(
        &manners,
        TransitionCause { Ruled, Held, ByHand, AgainstTheTable, Reopened }
    );
    let mut all = vec![created(bare_task(Status::Backlog), Some("The body is not in the line"))];
    all.extend(Status::ALL.map(|status| created(bare_task(status), None)));
    all.extend([created(full_task(), None), created(varied_task(), None)]);
    all.extend([edited(&[], None), edited(&["title", "body"], Some("New body"))]);
    all.push(Event::TaskRemoved {});
    all.extend(manners.map(|manner| moved(Status::Ready, Status::Blocked, manner)));
    all.extend(Status::ALL.map(|to| moved(Status::Backlog, to, TransitionCause::Ruled)));
    all
}

fn completions() -> Vec<Event> {
    let completed = |completion, channel| Event::TaskCompleted {
        result: Box::new(result(completion)),
        channel,
    };
    let channels = [ReportChannel::Message, ReportChannel::LeftBehind];
    assert_every_variant!(&channels, ReportChannel { Message, LeftBehind });
    let mut all: Vec<Event> = channels.map(|channel| completed(empty_completion(), channel)).into();
    all.extend(
        WorkOutcome::ALL.map(|outcome| completed(completion(outcome), ReportChannel::Message)),
    );
    all
}

fn stories() -> Vec<Event> {
    let mut positions = vec![bare_position(), full_position()];
    positions.extend(Step::ALL.map(|step| StoryPosition { step, ..bare_position() }));
    let with_status = |status| StoryPosition { status, ..bare_position() };
    positions.extend(adjutant_model::story::StepStatus::ALL.map(with_status));
    let with_reason = |reason| StoryPosition { reason: Some(reason), ..bare_position() };
    positions.extend(adjutant_model::story::StepFailReason::ALL.map(with_reason));
    positions
        .extend(StoryHold::ALL.map(|hold| StoryPosition { hold: Some(hold), ..bare_position() }));
    let moved = |position| Event::StoryMoved { position: Box::new(position) };
    positions.into_iter().map(moved).collect()
}

fn delegations() -> Vec<Event> {
    let entries = [
        bare_entry(),
        WorkLogEntry { progress: Some("Core done".into()), ..bare_entry() },
        WorkLogEntry { notes: Some("Nothing to add".into()), ..bare_entry() },
        full_entry(),
    ];
    let mut all: Vec<Event> = entries.map(|entry| Event::TaskLogged { entry }).into();
    let handoffs = [bare_handoff(), full_handoff()];
    all.extend(handoffs.map(|handoff| Event::DelegationRequested {
        handoff: Box::new(handoff),
        sandbox: SandboxLevel::Landlock,
    }));
    all.push(Event::DelegationAccepted {});
    all.push(Event::DelegationRejected { reason: "No capacity".into() });
    all
}

fn questions() -> Vec<Event> {
    let answered = |choice: Option<&str>, allowed| Event::RunAnswered {
        attempt: ATTEMPT,
        fence: FENCE,
        number: 3,
        choice: choice.map(str::to_owned),
        allowed,
        note: "by alice".into(),
    };
    let epic = EpicId::parse("E2").expect("an epic id");
    vec![
        Event::TaskAnswered { text: "Take A.\nIt is \"faster\".".into() },
        Event::TaskAsked { question: "Which database: A or B?".into(), suggestion: None },
        Event::TaskAsked {
            question: "Which database: A or B?".into(),
            suggestion: Some("Take A".into()),
        },
        Event::RunAsked { permit: Box::new(permission_request(vec![])) },
        Event::RunAsked { permit: Box::new(permission_request(choices())) },
        answered(None, false),
        answered(Some("option-allow_once"), true),
        Event::EpicNoted { epic, at: stamp(), text: "Tabs break the parser".into() },
    ]
}

fn runs() -> Vec<Event> {
    let (attempt, fence, expires_at) = (ATTEMPT, FENCE, time("20:15:00.000"));
    let started_in = |place, sandbox| Event::RunStarted {
        nonce: Some(RunNonce::from_random(0x5eed)),
        agent: agent("swe"),
        attempt,
        fence,
        expires_at,
        place,
        sandbox,
    };
    let started = |place| started_in(place, SandboxLevel::None);
    let places = [RunPlace::Here, RunPlace::Node(node("mac")), RunPlace::Elsewhere];
    assert_every_variant!(&places, RunPlace { Here, Node, Elsewhere });
    let exited =
        |exit| Event::RunExited { attempt, fence, exit, reason: "last line it printed".into() };
    let failed = |not_before| Event::RunFailed {
        attempt,
        fence,
        reason: "stale_heartbeat".into(),
        not_before,
    };
    let mut all: Vec<Event> = places.map(started).into();
    all.push(started_in(RunPlace::Here, SandboxLevel::Strict));
    all.push(Event::RunHeartbeat { fence, expires_at });
    all.extend(exits().into_iter().map(exited));
    all.extend([failed(None), failed(Some(time("20:20:00.000")))]);
    let reason = "no git".to_owned();
    all.push(Event::RunDeferred { attempt, fence, reason, not_before: time("20:20:00.000") });
    all
}

fn agents() -> Vec<Event> {
    let (attempt, fence) = (ATTEMPT, FENCE);
    let used = |session: Option<&str>, usage, warning: Option<&str>| Event::RunUsage {
        agent: agent("swe"),
        attempt,
        fence,
        session: session.map(str::to_owned),
        usage,
        warning: warning.map(str::to_owned),
    };
    let parked = |parked, not_before| Event::RunParked {
        attempt,
        fence,
        parked: Box::new(parked),
        not_before,
    };
    vec![
        used(None, TokenUsage::default(), None),
        used(Some("c7d4-11"), usage(), Some("version 9 was not tried")),
        Event::HostRefused { agent: agent("swe"), attempt, fence, host: "evil.example:443".into() },
        parked(bare_parked(), None),
        parked(full_parked(), Some(time("20:20:00.000"))),
        Event::AgentFreed { agent: agent("swe") },
        Event::TaskRetried {},
    ]
}

fn work() -> Vec<Event> {
    let (attempt, fence) = (ATTEMPT, FENCE);
    let claimed = |outcome, merge| Event::WorkClaimed {
        attempt,
        fence,
        outcome,
        reason: "All done".into(),
        merge,
    };
    let checked = |evidence| Event::WorkChecked { attempt, fence, evidence: Box::new(evidence) };
    let mut all: Vec<Event> = WorkOutcome::ALL.map(|outcome| claimed(outcome, None)).into();
    all.extend(MergeMode::ALL.map(|merge| claimed(WorkOutcome::Done, Some(merge))));
    all.extend([checked(WorkEvidence::default()), checked(full_evidence())]);
    let reference = "refs/adjutant/salvage/TASK-2026-02-09-001/2".into();
    all.push(Event::WorkSaved { reference, commit: "0123456789abcdef".into() });
    all
}

fn merges() -> Vec<Event> {
    let refused = |files: &[&str]| Event::MergeRefused {
        reason: "merge conflict".into(),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
    };
    let merged = |evidence| Event::WorkMerged {
        base: "main".into(),
        commit: "0123456789abcdef".into(),
        evidence: Box::new(evidence),
    };
    vec![
        Event::ProtectedAllowed { files: vec![".ai/step-rules.yaml".into()] },
        Event::ChecksAccepted { checks: Some(vec!["make test".into()]) },
        Event::ChecksAccepted { checks: None },
        Event::MergeRequested { note: "Looks good".into() },
        Event::MergeWaiting { reason: "the work tree is not clean".into() },
        refused(&[]),
        refused(&["src/a.rs", "src/b c.rs"]),
        merged(WorkEvidence::default()),
        merged(full_evidence()),
    ]
}

fn salvage() -> Vec<Event> {
    let reason = Reason::StaleRun;
    let salvaged = |file: &str, text: Option<&str>| Event::RunSalvaged {
        file: file.into(),
        reason,
        text: text.map(str::to_owned),
    };
    vec![
        salvaged("run_result.json", None),
        salvaged("message.json", Some("The text is not in the line")),
        Event::SalvageApplied { file: "7-message.json".into() },
    ]
}

fn refusals() -> Vec<Event> {
    let reason = Reason::DependencyCycle;
    let denied = Reason::NotYourTask;
    vec![
        Event::DispatchRefused { reason, detail: "001 needs 002 needs 001".into() },
        Event::CommandRefused { command: "task move".into(), reason },
        Event::AccessRefused { reason: denied, detail: "GET /v1/tasks".into(), count: 3 },
    ]
}

fn other_events() -> Vec<Event> {
    let kept = |about, events: &[u64]| Event::RequestKept {
        key: "00ff".into(),
        request: "ff00".into(),
        about,
        events: events.iter().map(|number| EventId(*number)).collect(),
    };
    let (about, tries) = (EventId(7), 2);
    let sent = |kind| Event::NotifySent {
        rule: "ops".into(),
        target: "webhook".into(),
        kind,
        about,
        tries,
    };
    let failed = |kind| Event::NotifyFailed {
        rule: "ops".into(),
        target: "webhook".into(),
        kind,
        about,
        tries,
        reason: "no answer".into(),
    };
    let mut all = vec![kept(None, &[]), kept(Some(id(1)), &[7, 8])];
    all.push(Event::FleetDecider { node: node("mac") });
    all.extend(adjutant_model::notice::NoticeKind::ALL.map(sent));
    all.extend(adjutant_model::notice::NoticeKind::ALL.map(failed));
    all.push(Event::FolderAdopted { tasks: 12 });
    all.push(Event::LogRestored { kept: EventId(3), missing: EventId(5) });
    all
}
