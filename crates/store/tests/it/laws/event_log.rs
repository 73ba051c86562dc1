//! Property tests: an event is read from the event log as it was written, except bodies, which are
//! not in it.

use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::completion::{
    CompletionReport, HandoffRef, RunResult, TestReport, WorkOutcome,
};
use adjutant_model::event::{NewEvent, ReceivedMessage, ReportChannel, TransitionCause};
use adjutant_model::evidence::{CheckResult, DiffStat, WorkEvidence};
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::message_type::MessageType;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::{RunExit, RunPlace};
use adjutant_model::run_history::BlockedBy;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::usage::{ParkedAgent, TokenUsage};
use adjutant_model::work_log::WorkLogEntry;
use adjutant_model::{Actor, Event, EventId, NodeId, RecordedEvent, Timestamp};
use adjutant_store::event_log::{EventChain, decode, encode};
use adjutant_store::hash::ShortHash;
use adjutant_test_support::soak::cases;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::laws::generate::{
    agent, id, nonce, permission_request, position, status, task, text, time,
};

fn stamp() -> impl Strategy<Value = Timestamp> {
    let offset = select(&["Z", "+02:00", "-11:30", ".5Z", ".123456789+00:00"][..]);
    ("20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]", offset)
        .prop_map(|(time, offset)| Timestamp::parse(&format!("{time}{offset}")).expect("a good time"))
}

fn path() -> impl Strategy<Value = RelPath> {
    "\\PC{1,20}".prop_filter_map("no path", |path| RelPath::parse(&path).ok())
}

fn reason() -> impl Strategy<Value = Reason> {
    select(Reason::ALL.to_vec())
}

/// Generates problems with paths as validation names them.
fn problem() -> impl Strategy<Value = FieldProblem> {
    let path = "([a-zA-Z]{1,8}(\\.[a-zA-Z]{1,8}|\\[[0-9]\\]){0,3})?";
    (path, text()).prop_map(|(path, detail)| FieldProblem::new(path, format!("is wrong: {detail}")))
}

fn kind() -> impl Strategy<Value = MessageType> {
    select(
        &[
            MessageType::CompletionReport,
            MessageType::StatusUpdate,
            MessageType::HandoffRequest,
            MessageType::HandoffAccepted,
            MessageType::HandoffRejected,
        ][..],
    )
}

fn manner() -> impl Strategy<Value = TransitionCause> {
    select(
        &[
            TransitionCause::Ruled,
            TransitionCause::ByHand,
            TransitionCause::AgainstTheTable,
            TransitionCause::Held(BlockedBy::Dependency),
            TransitionCause::Reopened,
        ][..],
    )
}

fn result() -> impl Strategy<Value = RunResult> {
    let tests = (any::<u64>(), any::<u64>(), any::<u64>())
        .prop_map(|(total, passed, failed)| TestReport { total, passed, failed });
    let completion =
        (select(&WorkOutcome::ALL), path(), vec(path(), 0..3), tests, vec(text(), 0..3), text())
            .prop_map(|(outcome, summary_ref, deliverables, tests, blockers, notes)| {
                CompletionReport {
                    outcome,
                    summary_ref,
                    handoff_ref: HandoffRef,
                    deliverables,
                    tests,
                    blockers,
                    notes,
                }
            });
    (id(), agent(), stamp(), completion).prop_map(|(task, agent, completed_at, completion)| {
        RunResult { task, agent, completed_at, completion }
    })
}

fn handoff() -> impl Strategy<Value = TaskHandoff> {
    let lists = (vec(text(), 0..3), vec(path(), 0..3), vec(path(), 0..3), vec(text(), 0..3));
    (id(), id(), agent(), agent(), lists, stamp()).prop_map(
        |(task, parent, from, to, (criteria, outputs, refs, constraints), due_by)| TaskHandoff {
            task,
            parent,
            from,
            to,
            acceptance_criteria: criteria,
            expected_outputs: outputs,
            context_refs: refs,
            constraints,
            due_by,
        },
    )
}

fn entry() -> impl Strategy<Value = WorkLogEntry> {
    (stamp(), option::of(text()), option::of(text()), vec(text(), 0..3))
        .prop_map(|(at, progress, notes, blockers)| WorkLogEntry { at, progress, notes, blockers })
}

fn exit() -> impl Strategy<Value = RunExit> {
    let plain = [RunExit::TimedOut, RunExit::Idle, RunExit::Stopped, RunExit::Lost];
    prop_oneof![
        any::<i32>().prop_map(RunExit::Code),
        any::<i32>().prop_map(RunExit::Signal),
        text().prop_map(RunExit::NotStarted),
        text().prop_map(RunExit::NoWorkspace),
        select(plain.to_vec()),
    ]
}

fn run() -> impl Strategy<Value = Event> {
    let numbers = || (any::<u32>(), any::<u64>());
    let node = NodeId::parse("mac-2").expect("a good name");
    let place = select(vec![RunPlace::Here, RunPlace::Elsewhere, RunPlace::Node(node)]);
    let sandbox = select(SandboxLevel::ALL.to_vec());
    let started = (agent(), numbers(), time(), place, sandbox, nonce()).prop_map(
        |(agent, (attempt, fence), expires_at, place, sandbox, nonce)| Event::RunStarted {
            nonce,
            agent,
            attempt,
            fence,
            expires_at,
            place,
            sandbox,
        },
    );
    let beaten = (any::<u64>(), time())
        .prop_map(|(fence, expires_at)| Event::RunHeartbeat { fence, expires_at });
    let exited = (numbers(), exit(), text()).prop_map(|((attempt, fence), exit, reason)| {
        Event::RunExited { attempt, fence, exit, reason }
    });
    let failed = (numbers(), text(), option::of(time())).prop_map(
        |((attempt, fence), reason, not_before)| Event::RunFailed {
            attempt,
            fence,
            reason,
            not_before,
        },
    );
    let texts = || (option::of(text()), option::of(text()));
    let telemetry = (agent(), numbers(), texts(), 0..1u64 << 40).prop_map(
        |(agent, (attempt, fence), (session, warning), count)| Event::RunUsage {
            agent,
            attempt,
            fence,
            session,
            usage: TokenUsage { input: count, output: count / 2, cached: 0, cost: count / 3 },
            warning,
        },
    );
    let parked = (agent(), numbers(), option::of(time()), text()).prop_map(
        |(agent, (attempt, fence), until, reason)| Event::RunParked {
            attempt,
            fence,
            parked: Box::new(ParkedAgent {
                agent,
                until,
                reason: reason.into(),
                settings: fence,
                node: None,
            }),
            not_before: until,
        },
    );
    let freed = agent().prop_map(|agent| Event::AgentFreed { agent });
    let deferred =
        (numbers(), text(), time()).prop_map(|((attempt, fence), reason, not_before)| {
            Event::RunDeferred { attempt, fence, reason, not_before }
        });
    let retried = Just(Event::TaskRetried {});
    prop_oneof![started, beaten, exited, failed, telemetry, parked, freed, deferred, retried]
}

fn evidence() -> impl Strategy<Value = Box<WorkEvidence>> {
    let names = (option::of(text()), option::of(text()), option::of(text()), option::of(text()));
    let changes = (any::<u64>(), any::<u64>(), any::<u64>())
        .prop_map(|(files, insertions, deletions)| DiffStat { files, insertions, deletions });
    let check = (text(), exit(), any::<u64>(), text(), text()).prop_map(
        |(command, exit, duration_ms, tail, log)| CheckResult {
            command,
            exit,
            duration_ms,
            tail,
            log,
        },
    );
    let flags = (any::<bool>(), any::<bool>());
    let found = (option::of(changes), vec(text(), 0..3), vec(check, 0..3));
    (names, flags, found).prop_map(
        |((branch, base, commit, flaw), (dirty, unsettled), (changes, protected, checks))| {
            let texts = WorkEvidence { branch, base, commit, flaw, ..WorkEvidence::default() };
            Box::new(WorkEvidence { dirty, unsettled, changes, protected, checks, ..texts })
        },
    )
}

fn work() -> impl Strategy<Value = Event> {
    let numbers = || (any::<u32>(), any::<u64>());
    let merge = option::of(select(MergeMode::ALL.to_vec()));
    let claimed = (numbers(), select(WorkOutcome::ALL.to_vec()), text(), merge).prop_map(
        |((attempt, fence), outcome, reason, merge)| Event::WorkClaimed {
            attempt,
            fence,
            outcome,
            reason,
            merge,
        },
    );
    let checked = (numbers(), evidence())
        .prop_map(|((attempt, fence), evidence)| Event::WorkChecked { attempt, fence, evidence });
    let saved =
        (text(), text()).prop_map(|(reference, commit)| Event::WorkSaved { reference, commit });
    let refused = (text(), vec(text(), 0..3))
        .prop_map(|(reason, files)| Event::MergeRefused { reason, files });
    let merged = (text(), text(), evidence())
        .prop_map(|(base, commit, evidence)| Event::WorkMerged { base, commit, evidence });
    let asked =
        permission_request().prop_map(|permit| Event::RunAsked { permit: Box::new(permit) });
    let answered = (numbers(), any::<u32>(), option::of(text()), any::<bool>(), text()).prop_map(
        |((attempt, fence), number, choice, allowed, note)| Event::RunAnswered {
            attempt,
            fence,
            number,
            choice,
            allowed,
            note,
        },
    );
    prop_oneof![
        asked,
        answered,
        claimed,
        checked,
        saved,
        vec(text(), 0..3).prop_map(|files| Event::ProtectedAllowed { files }),
        option::of(vec(text(), 0..3)).prop_map(|checks| Event::ChecksAccepted { checks }),
        text().prop_map(|note| Event::MergeRequested { note }),
        text().prop_map(|reason| Event::MergeWaiting { reason }),
        refused,
        merged,
    ]
}

/// Generates events as the event log returns them: the body of a new task is empty, or absent if
/// its file came first, and the body of an edit is absent.
fn event() -> impl Strategy<Value = Event> {
    let created = (task(), any::<bool>()).prop_map(|(task, by_hand)| Event::TaskCreated {
        task: Box::new(task),
        body: (!by_hand).then(String::new),
        limits: None,
    });
    let edited = (task(), vec(text(), 0..4)).prop_map(|(task, changed)| Event::TaskEdited {
        task: Box::new(task),
        changed,
        body: None,
        limits: None,
    });
    let moved = (status(), status(), text(), manner()).prop_map(|(from, to, reason, manner)| {
        Event::TaskTransitioned { from, to, reason, manner }
    });
    let received = (kind(), agent(), stamp())
        .prop_map(|(kind, to, sent_at)| ReceivedMessage::Message { kind, to, sent_at })
        .prop_map(Event::MessageReceived);
    prop_oneof![
        received.boxed(),
        (reason(), vec(problem(), 0..4))
            .prop_map(|(reason, problems)| Event::MessageRejected { reason, problems })
            .boxed(),
        text().prop_map(|kind| Event::MessageUnknown { kind }).boxed(),
        (reason(), text())
            .prop_map(|(reason, detail)| Event::MessageWarned { reason, detail })
            .boxed(),
        created.boxed(),
        edited.boxed(),
        Just(Event::TaskRemoved {}).boxed(),
        moved.boxed(),
        (result(), select(&[ReportChannel::Message, ReportChannel::LeftBehind][..]))
            .prop_map(|(result, channel)| Event::TaskCompleted {
                result: Box::new(result),
                channel,
            })
            .boxed(),
        text().prop_map(|error| Event::StoryMoved { position: Box::new(position(&error)) }).boxed(),
        entry().prop_map(|entry| Event::TaskLogged { entry }).boxed(),
        handoff()
            .prop_map(|handoff| Event::DelegationRequested {
                handoff: Box::new(handoff),
                sandbox: SandboxLevel::Landlock
            })
            .boxed(),
        Just(Event::DelegationAccepted {}).boxed(),
        text().prop_map(|reason| Event::DelegationRejected { reason }).boxed(),
        (text(), reason())
            .prop_map(|(file, reason)| Event::RunSalvaged { file, reason, text: None })
            .boxed(),
        run().boxed(),
        work().boxed(),
        text().prop_map(|text| Event::TaskAnswered { text }).boxed(),
        text().prop_map(|file| Event::SalvageApplied { file }).boxed(),
        (reason(), text())
            .prop_map(|(reason, detail)| Event::DispatchRefused { reason, detail })
            .boxed(),
        (text(), reason())
            .prop_map(|(command, reason)| Event::CommandRefused { command, reason })
            .boxed(),
        (reason(), text(), any::<u64>())
            .prop_map(|(reason, detail, count)| Event::AccessRefused { reason, detail, count })
            .boxed(),
        (text(), text(), option::of(id()), vec(any::<u64>().prop_map(EventId), 0..3))
            .prop_map(|(key, request, about, events)| Event::RequestKept {
                key,
                request,
                about,
                events,
            })
            .boxed(),
        (
            text(),
            text(),
            select(&adjutant_model::notice::NoticeKind::ALL[..]),
            any::<u64>(),
            any::<u32>()
        )
            .prop_map(|(rule, target, kind, about, tries)| Event::NotifySent {
                rule,
                target,
                kind,
                about: EventId(about),
                tries,
            })
            .boxed(),
        (text(), text(), select(&adjutant_model::notice::NoticeKind::ALL[..]), text())
            .prop_map(|(rule, target, kind, reason)| Event::NotifyFailed {
                rule,
                target,
                kind,
                about: EventId(7),
                tries: 1,
                reason,
            })
            .boxed(),
        any::<u64>().prop_map(|tasks| Event::FolderAdopted { tasks }).boxed(),
        Just(Event::LogRestored { kept: EventId(3), missing: EventId(5) }).boxed(),
        Just(Event::FleetDecider { node: NodeId::parse("mac-2").expect("a good name") }).boxed(),
    ]
}

fn actor() -> impl Strategy<Value = Actor> {
    prop_oneof![
        agent().prop_map(Actor::Agent),
        text().prop_map(|name| Actor::human(&name)),
        select(&[Actor::Scheduler, Actor::Router, Actor::System][..]),
    ]
}

fn recorded() -> impl Strategy<Value = RecordedEvent> {
    let node = option::of(select(&["desk", "lap-top_2"][..]));
    (any::<u64>(), time(), node, actor(), option::of(id()), event()).prop_map(
        |(number, at, node, actor, task, event)| RecordedEvent {
            id: EventId(number),
            at,
            node: node.map(|name| NodeId::parse(name).expect("a good name")),
            new_event: NewEvent { actor, task, event },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(500)))]

    #[test]
    fn event_is_read_as_it_was_written(recorded in recorded(), prev in option::of(any::<u64>())) {
        let prev = prev.map(|number| ShortHash::digest(&number.to_le_bytes()));
        let line = encode(&recorded, prev);
        prop_assert!(!line.contains(['\n', '\r']), "one line: {}", line);
        prop_assert_eq!(decode(&line), Ok(recorded));
    }

    #[test]
    fn event_lines_are_each_chained_to_the_line_before(all in vec(recorded(), 1..6)) {
        let mut chain = EventChain::default();
        let lines = chain.append_events(&all);
        prop_assert_eq!(chain.last, all[all.len() - 1].id);
        for pair in lines.windows(2) {
            let expected = format!(",\"prev\":\"{}\"}}", ShortHash::digest(pair[0].as_bytes()));
            prop_assert!(pair[1].ends_with(&expected), "{}", pair[1]);
        }
        prop_assert!(!lines[0].contains("\"prev\":"));
    }
}
