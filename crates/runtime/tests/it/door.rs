//! What goes through the door of a daemon comes out as it went in, and is answered in order.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use adjutant_core::command::{Caller, Changes, Chore, NewTask, Start};
use adjutant_core::name::Actor;
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Answer, Command, Priority, Reason, Status, TaskId, Time, Verdict};
use adjutant_runtime::door::{DOOR, Guest, NoAnswer, Porter};
use adjutant_runtime::{Answered, Request, Service};
use adjutant_store::record::encode;
use adjutant_testkit::Project;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{id_of, operator, send};

fn text(text: &str) -> String {
    text.to_owned()
}

/// A daemon's engine and its door.
struct House {
    project: Project,
    service: Service,
    porter: Porter,
}

impl House {
    fn open() -> Self {
        let project = Project::new();
        let service = Service::start(project.engine());
        let porter = Porter::open(project.folder().root(), service.client()).expect("a door");
        Self { project, service, porter }
    }

    fn guest(&self) -> Guest {
        Guest::enter(self.project.folder().root()).expect("somebody is there")
    }

    fn close(self) -> Project {
        drop(self.porter);
        self.service.stop().expect("it stops");
        self.project
    }
}

/// Every command, with something in every field.
fn commands(id: &TaskId) -> Vec<Command> {
    let due = Time::parse("2026-03-01T12:00:00Z").expect("a time");
    let new = NewTask {
        title: text("Mend \"the\" gate\u{1f6aa}"),
        body: text("Two\nlines\n"),
        priority: Priority::High,
        routing: Routing {
            agent: AgentId::parse("swe").ok(),
            mode: None,
            role: Some("coder".into()),
            tags: vec!["rust".into(), "api".into()],
        },
        parent: Some(id.clone()),
        depends_on: vec![id.clone()],
        resource: Some(text("staging")),
        due_by: Some(due),
        review: Review::NotNeeded,
        start: Start::Ready,
        checks: vec![text("make test")],
    };
    let set = Changes {
        title: Some(text("Another")),
        body: Some(text("Other words")),
        priority: Some(Priority::Low),
        agent: Some(AgentId::parse("other").ok()),
        tags: Some(vec![text("c")]),
        depends_on: Some(vec![]),
        parent: Some(None),
        resource: Some(Some(text("prod"))),
        due_by: Some(Some(due)),
        review: Some(Review::NotNeeded),
    };
    let unset = Changes {
        agent: Some(None),
        resource: Some(None),
        due_by: Some(None),
        ..Changes::default()
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
        Command::Cancel { id: id(), reason: text("no more") },
        Command::Chore(Chore::Mend),
        Command::Answer { id: id(), text: text("yes") },
        Command::ApplySalvage { id: id(), name: text("7-message.json"), text: None },
    ]
}

/// What somebody who asked can see: the answer, and the lines of the record.
fn visible(answered: &Answered) -> (Answer, Vec<String>) {
    let lines = answered.events.iter().map(|event| encode(event, None));
    (answered.answer.clone(), lines.collect())
}

/// A request through the door does what it does without one, to the record and to the files.
#[test]
fn every_command_does_the_same_through_the_door() {
    let new = NewTask { start: Start::Ready, title: text("First"), ..NewTask::default() };
    let first = operator(Command::Add(Box::new(new)));
    let house = House::open();
    let mut guest = house.guest();
    let plain = Project::new();
    let mut engine = plain.engine();
    let mut both = |request: &Request| {
        let through = guest.ask(std::slice::from_ref(request)).expect("an answer");
        let direct = engine.submit_one(request.clone()).expect("an answer");
        assert_eq!(visible(&through[0]), visible(&direct), "{request:?}");
        direct
    };
    let id = id_of(&both(&first));
    for command in commands(&id) {
        both(&operator(command));
    }
    let files = |project: &Project| {
        let path = |id: &str, status| project.read(&format!("tasks/{status}/{id}.md"));
        (path(id.as_str(), "cancelled"), path("TASK-2026-02-09-002", "ready"))
    };
    assert_eq!(files(&house.project), files(&plain));
    house.close();
}

#[test]
fn messages_and_ends_of_sessions_come_through_in_order() {
    let house = House::open();
    let id = "TASK-2026-02-09-001";
    house.project.task(id, Status::InProgress, "");
    let messages: Vec<Request> =
        (0..500).map(|n| send(&progress(id, "swe-backend", &format!("step {n}")))).collect();
    let answers = house.guest().ask(&messages).expect("answers");
    assert!(answers.iter().all(|one| one.answer.verdict == Verdict::Applied));
    assert!(answers.windows(2).all(|two| two[0].events[0].id < two[1].events[0].id));
    let odd = [
        Request::Message(vec![0xff, 0xfe, b'{']),
        Request::Message(b"AOF/1 {".to_vec()),
        Request::SessionEnd(None),
        Request::SessionEnd(TaskId::parse(id).ok()),
    ];
    let answers = house.guest().ask(&odd).expect("answers");
    let verdicts: Vec<Verdict> = answers.iter().map(|one| one.answer.verdict).collect();
    assert_eq!(verdicts[..2], [Verdict::Ignored, Verdict::Rejected]);
    assert_eq!(answers[1].answer.reason, Some(Reason::InvalidJson));
    house.close();
}

#[test]
fn who_is_inside_a_run_stays_inside_a_run() {
    let house = House::open();
    let command = Command::Add(Box::new(NewTask { title: text("Mine"), ..NewTask::default() }));
    let by = Caller::InsideRun(Actor::human("alice"));
    let answers = house.guest().ask(&[Request::Command { by, command }]).expect("an answer");
    assert_eq!(answers[0].answer.reason, Some(Reason::OperatorOnly));
    house.close();
}

#[test]
fn what_makes_no_sense_is_answered_and_the_next_line_counts() {
    let house = House::open();
    let stream = UnixStream::connect(house.project.folder().root().join(DOOR)).expect("a door");
    let lines = "nonsense\n{\"command\":{\"by\":{\"operator\":\"human:a\"},\"command\":{\"retry\":{\"id\":\"x\"}}}}\n{\"sessionEnd\":null}\n";
    (&stream).write_all(lines.as_bytes()).expect("room");
    let replies: Vec<String> =
        BufReader::new(stream).lines().take(3).map(|line| line.expect("a line")).collect();
    assert!(replies[0].contains("failed"), "{replies:?}");
    assert!(replies[1].contains("the id of a task cannot be read"), "{replies:?}");
    assert!(replies[2].contains("answered"), "{replies:?}");
    house.close();
}

#[test]
fn a_door_is_for_its_owner_and_goes_with_its_daemon() {
    let house = House::open();
    let door = house.project.folder().root().join(DOOR);
    let mode = door.metadata().expect("a door").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut guest = house.guest();
    drop(guest.ask(&[Request::SessionEnd(None)]).expect("an answer"));
    let House { project, service, porter } = house;
    drop(porter);
    assert!(!door.exists());
    assert!(Guest::enter(project.folder().root()).is_none());
    drop(guest);
    service.stop().expect("it stops");
}

#[test]
fn a_door_that_a_dead_daemon_left_is_no_door() {
    let project = Project::new();
    let root = project.folder().root().to_owned();
    drop(project.engine());
    drop(std::os::unix::net::UnixListener::bind(root.join(DOOR)).expect("a socket"));
    assert!(Guest::enter(&root).is_none());
    let service = Service::start(project.engine());
    let porter = Porter::open(&root, service.client()).expect("a door");
    assert!(Guest::enter(&root).is_some());
    drop(porter);
    service.stop().expect("it stops");
}

#[test]
fn a_daemon_that_goes_away_is_told_apart_from_a_refusal() {
    let project = Project::new();
    let root = project.folder().root().to_owned();
    drop(project.engine());
    let listener = std::os::unix::net::UnixListener::bind(root.join(DOOR)).expect("a socket");
    let mut guest = Guest::enter(&root).expect("somebody is there");
    drop(listener.accept().expect("a guest"));
    let asked = guest.ask(&[Request::SessionEnd(None)]);
    assert!(matches!(asked, Err(NoAnswer::Gone(_))), "{asked:?}");
}
