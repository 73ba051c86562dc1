//! A sample of every event in every shape it is written in.

use adjutant_core::account::Usage;
use adjutant_core::answer::{Problem, Reason};
use adjutant_core::aof::Kind;
use adjutant_core::completion::Outcome;
use adjutant_core::dialect::DocumentKind;
use adjutant_core::event::{Channel, Manner};
use adjutant_core::evidence::Evidence;
use adjutant_core::mission::EpicId;
use adjutant_core::notice;
use adjutant_core::pipeline::{self, Hold, Position, Step};
use adjutant_core::policy::Merge;
use adjutant_core::run::Place;
use adjutant_core::trials::BlockedBy;
use adjutant_core::worklog::Entry;
use adjutant_core::{Event, EventId, Status};
use adjutant_test_support::assert_every_variant;

use super::samples::{
    ATTEMPT, FENCE, agent, bare_entry, bare_handoff, bare_parked, bare_position, choices,
    completion, empty_completion, exits, full_entry, full_evidence, full_handoff, full_parked,
    full_position, id, node, permit, question, result, stamp, time, usage,
};
use super::task::{bare_task, full_task, varied_task};

/// Returns every event, in the order of the enum.
pub(crate) fn every_event() -> Vec<Event> {
    let all = [messages(), tasks(), completions(), stories(), delegations(), questions()];
    let more = [runs(), agents(), work(), merges(), salvage(), refusals(), upkeep()];
    let all: Vec<Event> = all.into_iter().chain(more).flatten().collect();
    assert_every_variant!(
        &all,
        Event {
            MessageReceived,
            DocumentReceived,
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
            AgentFreed,
            TaskRetried,
            RunDeferred,
            WorkClaimed,
            WorkChecked,
            WorkSaved,
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
        }
    );
    all
}

fn messages() -> Vec<Event> {
    let received = |kind| Event::MessageReceived { kind, to: agent("router"), sent_at: stamp() };
    let document = |kind| Event::DocumentReceived { kind, id: "T1".into() };
    let rejected = |problems| Event::MessageRejected { reason: Reason::InvalidEnvelope, problems };
    let problems = vec![
        Problem::new("payload.notes", "is required"),
        Problem::new("", "the message is empty"),
    ];
    let warned = |reason: &Reason| Event::MessageWarned { reason: *reason, detail: "odd".into() };
    let mut all: Vec<Event> = Kind::ALL.map(received).into();
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
    };
    let edited = |changed: &[&str], body: Option<&str>| Event::TaskEdited {
        task: Box::new(bare_task(Status::Ready)),
        changed: changed.iter().map(|field| (*field).to_owned()).collect(),
        body: body.map(str::to_owned),
    };
    let moved =
        |from, to, manner| Event::TaskTransitioned { from, to, reason: "because".into(), manner };
    let manners = [
        Manner::Ruled,
        Manner::Held(BlockedBy::Dependency),
        Manner::ByHand,
        Manner::AgainstTheTable,
    ];
    assert_every_variant!(&manners, Manner { Ruled, Held, ByHand, AgainstTheTable });
    let mut all = vec![created(bare_task(Status::Backlog), Some("The body is not in the line"))];
    all.extend(Status::ALL.map(|status| created(bare_task(status), None)));
    all.extend([created(full_task(), None), created(varied_task(), None)]);
    all.extend([edited(&[], None), edited(&["title", "body"], Some("New body"))]);
    all.push(Event::TaskRemoved);
    all.extend(manners.map(|manner| moved(Status::Ready, Status::Blocked, manner)));
    all.extend(Status::ALL.map(|to| moved(Status::Backlog, to, Manner::Ruled)));
    all
}

fn completions() -> Vec<Event> {
    let completed = |completion, channel| Event::TaskCompleted {
        result: Box::new(result(completion)),
        channel,
    };
    let channels = [Channel::Message, Channel::LeftBehind];
    assert_every_variant!(&channels, Channel { Message, LeftBehind });
    let mut all: Vec<Event> = channels.map(|channel| completed(empty_completion(), channel)).into();
    all.extend(Outcome::ALL.map(|outcome| completed(completion(outcome), Channel::Message)));
    all
}

fn stories() -> Vec<Event> {
    let mut positions = vec![bare_position(), full_position()];
    positions.extend(Step::ALL.map(|step| Position { step, ..bare_position() }));
    let with_status = |status| Position { status, ..bare_position() };
    positions.extend(pipeline::Status::ALL.map(with_status));
    let with_reason = |reason| Position { reason: Some(reason), ..bare_position() };
    positions.extend(pipeline::Reason::ALL.map(with_reason));
    positions.extend(Hold::ALL.map(|hold| Position { hold: Some(hold), ..bare_position() }));
    let moved = |position| Event::StoryMoved { position: Box::new(position) };
    positions.into_iter().map(moved).collect()
}

fn delegations() -> Vec<Event> {
    let entries = [
        bare_entry(),
        Entry { progress: Some("Core done".into()), ..bare_entry() },
        Entry { notes: Some("Nothing to add".into()), ..bare_entry() },
        full_entry(),
    ];
    let mut all: Vec<Event> = entries.map(|entry| Event::TaskLogged { entry }).into();
    let handoffs = [bare_handoff(), full_handoff()];
    all.extend(handoffs.map(|handoff| Event::DelegationRequested { handoff: Box::new(handoff) }));
    all.push(Event::DelegationAccepted);
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
        Event::TaskAsked { question: Box::new(question(None)) },
        Event::TaskAsked { question: Box::new(question(Some("Take A"))) },
        Event::RunAsked { permit: Box::new(permit(vec![])) },
        Event::RunAsked { permit: Box::new(permit(choices())) },
        answered(None, false),
        answered(Some("option-allow_once"), true),
        Event::EpicNoted { epic, at: stamp(), text: "Tabs break the parser".into() },
    ]
}

fn runs() -> Vec<Event> {
    let (attempt, fence, expires_at) = (ATTEMPT, FENCE, time("20:15:00.000"));
    let started =
        |place| Event::RunStarted { agent: agent("swe"), attempt, fence, expires_at, place };
    let places = [Place::Here, Place::Node(node("mac")), Place::Elsewhere];
    assert_every_variant!(&places, Place { Here, Node, Elsewhere });
    let exited =
        |exit| Event::RunExited { attempt, fence, exit, reason: "last line it printed".into() };
    let failed = |not_before| Event::RunFailed {
        attempt,
        fence,
        reason: "stale_heartbeat".into(),
        not_before,
    };
    let mut all: Vec<Event> = places.map(started).into();
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
        used(None, Usage::default(), None),
        used(Some("c7d4-11"), usage(), Some("version 9 was not tried")),
        parked(bare_parked(), None),
        parked(full_parked(), Some(time("20:20:00.000"))),
        Event::AgentFreed { agent: agent("swe") },
        Event::TaskRetried,
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
    let mut all: Vec<Event> = Outcome::ALL.map(|outcome| claimed(outcome, None)).into();
    all.extend(Merge::ALL.map(|merge| claimed(Outcome::Done, Some(merge))));
    all.extend([checked(Evidence::default()), checked(full_evidence())]);
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
        Event::MergeRequested { note: "Looks good".into() },
        Event::MergeWaiting { reason: "the work tree is not clean".into() },
        refused(&[]),
        refused(&["src/a.rs", "src/b c.rs"]),
        merged(Evidence::default()),
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

fn upkeep() -> Vec<Event> {
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
    all.extend(notice::Kind::ALL.map(sent));
    all.extend(notice::Kind::ALL.map(failed));
    all.push(Event::FolderAdopted { tasks: 12 });
    all
}
