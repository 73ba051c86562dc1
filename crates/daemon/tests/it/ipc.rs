//! Requests over the daemon's IPC socket arrive unchanged and are answered in order.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use adjutant_engine::ipc::{DAEMON_SOCKET, IpcClient, IpcError, IpcServer};
use adjutant_engine::{EngineAnswer, EngineRequest, EngineService, Request};
use adjutant_model::actor::Actor;
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask, OperatorAction, TaskChanges};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::task::TaskRouting;
use adjutant_model::time_limits::{DurationLimit, TaskTimeLimits};
use adjutant_model::usage::UsageBudget;
use adjutant_model::{
    AgentId, Answer, AnswerVerdict, Command, Priority, Reason, Status, TaskId, Time,
};
use adjutant_store::event_log::encode;
use adjutant_testkit::TestProject;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{message_request, operator_request, task_id_of};

fn text(text: &str) -> String {
    text.to_owned()
}

/// A daemon's engine and its IPC server.
struct IpcFixture {
    project: TestProject,
    service: EngineService,
    server: IpcServer,
}

impl IpcFixture {
    fn open() -> Self {
        let project = TestProject::new();
        let service = EngineService::start(project.open_engine());
        let server = IpcServer::open(project.folder().root(), service.handle()).expect("a door");
        Self { project, service, server }
    }

    fn connect(&self) -> IpcClient {
        IpcClient::connect(self.project.folder().root()).expect("somebody is there")
    }

    fn close(self) -> TestProject {
        drop(self.server);
        self.service.stop().expect("it stops");
        self.project
    }
}

/// Every command, with every field set.
fn commands(id: &TaskId) -> Vec<Command> {
    let due = Time::parse("2026-03-01T12:00:00Z").expect("a time");
    let new = NewTask {
        title: text("Mend \"the\" gate\u{1f6aa}"),
        body: text("Two\nlines\n"),
        priority: Priority::High,
        routing: TaskRouting {
            agent: AgentId::parse("swe").ok(),
            mode: None,
            role: Some("coder".into()),
            tags: vec!["rust".into(), "api".into()],
            ..TaskRouting::default()
        },
        parent: Some(id.clone()),
        depends_on: vec![id.clone()],
        resource: Some(text("staging")),
        due_by: Some(due),
        review: ReviewPolicy::NotNeeded,
        start: InitialStatus::Ready,
        checks: vec![text("make test")],
        budget: UsageBudget { tokens: Some(9), cost: Some(2_500_000) },
        limits: TaskTimeLimits { timeout: Some(DurationLimit::Off), idle_timeout: None },
    };
    let set = TaskChanges {
        title: Some(text("Another")),
        body: Some(text("Other words")),
        priority: Some(Priority::Low),
        agent: Some(AgentId::parse("other").ok()),
        tags: Some(vec![text("c")]),
        depends_on: Some(vec![]),
        parent: Some(None),
        resource: Some(Some(text("prod"))),
        due_by: Some(Some(due)),
        review: Some(ReviewPolicy::NotNeeded),
        mode: Some(Some(text("code"))),
        role: Some(None),
        checks: Some(vec![text("make check")]),
        budget_tokens: Some(Some(10)),
        budget_cost: Some(None),
        timeout: Some(None),
        idle_timeout: Some(Some(DurationLimit::After(Duration::from_secs(90)))),
    };
    let unset = TaskChanges {
        agent: Some(None),
        resource: Some(None),
        due_by: Some(None),
        ..TaskChanges::default()
    };
    let id = || id.clone();
    vec![
        Command::Add(Box::new(new)),
        Command::Edit { id: id(), changes: Box::new(set) },
        Command::Edit { id: id(), changes: Box::new(unset) },
        Command::Move { id: id(), to: Status::Blocked, reason: text("wait") },
        Command::Retry { id: id() },
        Command::Move { id: id(), to: Status::InProgress, reason: text("go") },
        Command::Move { id: id(), to: Status::Review, reason: text("look") },
        Command::Reject { id: id(), reason: text("not yet") },
        Command::Approve { id: id(), note: text("fine") },
        Command::Copy { id: id(), start: InitialStatus::Ready, content: None },
        Command::Cancel { id: id(), reason: text("no more") },
        Command::Reopen { id: id(), reason: text("after all") },
        Command::Cancel { id: id(), reason: text("no more") },
        Command::Chore(OperatorAction::Mend),
        Command::Answer { id: id(), text: text("yes") },
        Command::ApplySalvage { id: id(), name: text("7-message.json"), text: None },
    ]
}

/// The parts of an answer that the caller sees: the answer itself and the lines of the event log.
fn visible_answer(answered: &EngineAnswer) -> (Answer, Vec<String>) {
    let lines = answered.events.iter().map(|event| encode(event, None));
    (answered.answer.clone(), lines.collect())
}

/// A request over the socket has the same effect on event log and files as a direct one.
#[test]
fn ipc_command_has_the_same_effect_as_a_direct_one() {
    let new = NewTask { start: InitialStatus::Ready, title: text("First"), ..NewTask::default() };
    let first = operator_request(Command::Add(Box::new(new)));
    let house = IpcFixture::open();
    let mut guest = house.connect();
    let plain = TestProject::new();
    let mut engine = plain.open_engine();
    let mut both = |request: &EngineRequest| {
        let through = guest.ask(std::slice::from_ref(request)).expect("an answer");
        let direct = engine.submit_one(request.clone()).expect("an answer");
        assert_eq!(visible_answer(&through[0]), visible_answer(&direct), "{request:?}");
        direct
    };
    let id = task_id_of(&both(&first));
    for command in commands(&id) {
        both(&operator_request(command));
    }
    let files = |project: &TestProject| {
        let path = |id: &str, status| project.read(&format!("tasks/{status}/{id}.md"));
        (path(id.as_str(), "cancelled"), path("TASK-2026-02-09-002", "ready"))
    };
    assert_eq!(files(&house.project), files(&plain));
    house.close();
}

#[test]
fn ipc_messages_and_session_ends_stay_in_order() {
    let house = IpcFixture::open();
    let id = "TASK-2026-02-09-001";
    house.project.write_task(id, Status::InProgress, "");
    let messages: Vec<EngineRequest> = (0..500)
        .map(|n| message_request(&progress(id, "swe-backend", &format!("step {n}"))))
        .collect();
    let answers = house.connect().ask(&messages).expect("answers");
    assert!(answers.iter().all(|one| one.answer.verdict == AnswerVerdict::Applied));
    assert!(answers.windows(2).all(|two| two[0].events[0].id < two[1].events[0].id));
    let odd = [
        EngineRequest::message(vec![0xff, 0xfe, b'{']),
        EngineRequest::message(b"AOF/1 {".to_vec()),
        Request::SessionEnd(None).into(),
        Request::SessionEnd(TaskId::parse(id).ok()).into(),
    ];
    let answers = house.connect().ask(&odd).expect("answers");
    let verdicts: Vec<AnswerVerdict> = answers.iter().map(|one| one.answer.verdict).collect();
    assert_eq!(verdicts[..2], [AnswerVerdict::Ignored, AnswerVerdict::Rejected]);
    assert_eq!(answers[1].answer.reason, Some(Reason::InvalidJson));
    house.close();
}

#[test]
fn ipc_caller_inside_run_is_not_an_operator() {
    let house = IpcFixture::open();
    let command = Command::Add(Box::new(NewTask { title: text("Mine"), ..NewTask::default() }));
    let by = CommandCaller::InsideRun(Actor::human("alice"));
    let answers = house.connect().ask(&[EngineRequest::command(by, command)]).expect("an answer");
    assert_eq!(answers[0].answer.reason, Some(Reason::OperatorOnly));
    house.close();
}

#[test]
fn ipc_invalid_line_is_answered_and_the_next_one_counts() {
    let house = IpcFixture::open();
    let stream =
        UnixStream::connect(house.project.folder().root().join(DAEMON_SOCKET)).expect("a door");
    let lines = concat!(
        "nonsense\n",
        r#"{"request":{"command":{"by":{"operator":"human:a"},"command":{"retry":{"id":"x"}}}}}"#,
        "\n",
        r#"{"request":{"beat":{"task":"TASK-2026-02-09-001","fence":1}}}"#,
        "\n",
        // As an older version writes it.
        r#"{"sessionEnd":null}"#,
        "\n",
        r#"{"request":{"sessionEnd":null},"key":{"key":"00ff","digest":"ff00"}}"#,
        "\n",
        r#"{"request":{"sessionEnd":null}}"#,
        "\n",
    );
    (&stream).write_all(lines.as_bytes()).expect("room");
    let replies: Vec<String> =
        BufReader::new(stream).lines().take(6).map(|line| line.expect("a line")).collect();
    assert!(replies[0].contains("failed"), "{replies:?}");
    assert!(replies[1].contains("must match TASK-YYYY-MM-DD-NNN"), "{replies:?}");
    assert!(replies[2].contains("only the daemon itself may send it"), "{replies:?}");
    assert!(replies[3].contains("it may come from another version"), "{replies:?}");
    assert!(replies[4].contains("only the daemon itself may send it"), "{replies:?}");
    assert!(replies[5].contains("answered"), "{replies:?}");
    house.close();
}

#[test]
fn ipc_socket_is_private_and_removed_with_its_daemon() {
    let house = IpcFixture::open();
    let door = house.project.folder().root().join(DAEMON_SOCKET);
    let mode = door.metadata().expect("a door").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut guest = house.connect();
    drop(guest.ask(&[Request::SessionEnd(None).into()]).expect("an answer"));
    let IpcFixture { project, service, server: porter } = house;
    drop(porter);
    assert!(!door.exists());
    assert!(IpcClient::connect(project.folder().root()).is_none());
    drop(guest);
    service.stop().expect("it stops");
}

#[test]
fn ipc_socket_of_dead_daemon_is_ignored() {
    let project = TestProject::new();
    let root = project.folder().root().to_owned();
    drop(project.open_engine());
    drop(std::os::unix::net::UnixListener::bind(root.join(DAEMON_SOCKET)).expect("a socket"));
    assert!(IpcClient::connect(&root).is_none());
    let service = EngineService::start(project.open_engine());
    let porter = IpcServer::open(&root, service.handle()).expect("a door");
    assert!(IpcClient::connect(&root).is_some());
    drop(porter);
    service.stop().expect("it stops");
}

#[test]
fn ipc_daemon_that_exits_is_not_a_refusal() {
    let project = TestProject::new();
    let root = project.folder().root().to_owned();
    drop(project.open_engine());
    let listener =
        std::os::unix::net::UnixListener::bind(root.join(DAEMON_SOCKET)).expect("a socket");
    let mut guest = IpcClient::connect(&root).expect("somebody is there");
    drop(listener.accept().expect("a guest"));
    let asked = guest.ask(&[Request::SessionEnd(None).into()]);
    assert!(matches!(asked, Err(IpcError::Disconnected(_))), "{asked:?}");
}
