//! Random attempts of a hostile run: messages of every kind, name, token and origin, and commands, as
//! processes of the run, of a check and of unknown peers would send them. Whatever it tries, no task
//! is done that no person approved, and nothing counts for another run.
//!
//! Work of other agents that waits for a review and is routed to no agent is left out: the protocol
//! lets any other agent review it.

use std::fmt::Write as _;

use adjutant_config::run_token::TokenSecret;
use adjutant_engine::caller_identity::CallerIdentity;
use adjutant_engine::{Engine, EngineRequest, Request};
use adjutant_model::command::{CommandCaller, NewTask, OperatorAction};
use adjutant_model::policy::AgentPolicy;
use adjutant_model::request::{AskedPermission, MessageOrigin};
use adjutant_model::run::{RunExit, RunRef};
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::task::TaskRouting;
use adjutant_model::{Actor, AgentId, AnswerVerdict, Command, Event, Policy, Status, Task, TaskId};
use adjutant_run_files::live_shims::{LiveShim, ProcessOrigin, ShimKind};
use adjutant_store::MemoryStore;
use adjutant_test_support::golden::GoldenFolder;
use adjutant_test_support::soak;
use adjutant_testkit::clock::ManualClock;
use adjutant_testkit::message::{completion, envelope, handoff};
use adjutant_testkit::seeded_rng::SeededRng;
use serde_json::{Value, json};

const ATTEMPTS: u64 = 10_000;
/// After so many attempts everything starts anew, since a run that has reported can do less.
const ATTEMPTS_PER_WORLD: u64 = 100;

const NAMES: [&str; 7] = ["evil", "good", "reviewer", "system", "human:alice", "scheduler", "qa"];

struct HostileSetup {
    engine: Engine<MemoryStore>,
    secret: TokenSecret,
    /// The task of the hostile run.
    own: TaskId,
    /// The task of another run.
    other: TaskId,
    /// A task in review that an earlier run of the hostile agent worked on.
    reviewed: TaskId,
    _home: tempfile::TempDir,
}

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a good name")
}

/// How the agents came to their tasks, but for the one in review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunOrigin {
    /// Adjutant started their runs.
    Started,
    /// They fetched the tasks, and run elsewhere.
    Fetched,
}

impl HostileSetup {
    fn new() -> Self {
        Self::with_run_origin(RunOrigin::Started)
    }

    fn with_run_origin(run_origin: RunOrigin) -> Self {
        let mut store = MemoryStore::default();
        let loaded = store.open();
        let clock = Box::new(ManualClock::at("2026-02-09T20:30:00.000Z"));
        let slots = AgentPolicy { slots: 2, ..AgentPolicy::default() };
        let evil = AgentPolicy { tags: vec!["evil".into()], ..slots.clone() };
        let agents = [(agent("evil"), evil), (agent("good"), slots)].into();
        let policy = Policy { agents, ..Policy::default() };
        let home = tempfile::tempdir().expect("a folder");
        let secret = TokenSecret::open(home.path()).expect("a secret");
        let engine = Engine::start(store, loaded, clock, policy).expect("an engine");
        let mut engine = engine.with_secret(Some(secret.clone()));
        let add = |engine: &mut Engine<MemoryStore>, routing: TaskRouting| {
            let new = NewTask { title: "Do it".to_owned(), routing, ..NewTask::default() };
            let added = submit(engine, operator(Command::Add(Box::new(new))));
            let id = added.answer.task.expect("a task");
            let ready = Command::Move { id: id.clone(), to: Status::Ready, reason: String::new() };
            submit(engine, operator(ready));
            id
        };
        let by_name = |name| TaskRouting { agent: Some(agent(name)), ..TaskRouting::default() };
        // The own task names no agent, so that its lease alone says who may report on it.
        let by_tag = TaskRouting { tags: vec!["evil".into()], ..TaskRouting::default() };
        let fetch = |engine: &mut Engine<MemoryStore>, name: &str, task: &TaskId| {
            let by = CommandCaller::Operator(Actor::Agent(agent(name)));
            let command = Command::Take { agent: agent(name), nonce: None };
            let taken = submit(engine, Request::Command { by, command });
            assert_eq!(taken.answer.task.as_ref(), Some(task));
        };
        let own = add(&mut engine, by_tag);
        let other = add(&mut engine, by_name("good"));
        if run_origin == RunOrigin::Fetched {
            fetch(&mut engine, "evil", &own);
            fetch(&mut engine, "good", &other);
        }
        let reviewed = add(&mut engine, by_name("evil"));
        submit(&mut engine, Request::Tick { lives: [].into() });
        let mut setup = Self { engine, secret, own, other, reviewed, _home: home };
        let report = completion(setup.reviewed.as_str(), "evil", "needs_review").to_string();
        setup.submit(Request::Message {
            origin: MessageOrigin::RunConnection {
                task: setup.reviewed.clone(),
                token: setup.token_of(&setup.reviewed),
            },
            text: report.into_bytes(),
        });
        setup.submit(Request::RunExited {
            task: setup.reviewed.clone(),
            fence: 1,
            exit: RunExit::Code(0),
            tail: String::new(),
            telemetry: Box::default(),
        });
        assert_eq!(setup.task(&setup.reviewed).status(), Status::Review);
        assert_eq!(setup.task(&setup.own).lease().map(|lease| lease.fence), Some(1));
        setup
    }

    fn submit(&mut self, request: Request) -> adjutant_engine::EngineAnswer {
        submit(&mut self.engine, request)
    }

    fn task(&self, id: &TaskId) -> Task {
        self.engine.world().task(id).expect("it is there").clone()
    }

    fn token_of(&self, id: &TaskId) -> String {
        self.secret.token(id, 1, self.nonce_of(id))
    }

    /// Returns the nonce of the current or the last run of a task.
    fn nonce_of(&self, id: &TaskId) -> Option<RunNonce> {
        let task = self.task(id);
        let lease = task.lease().map(RunRef::from);
        lease.or(task.last_run).and_then(|run| run.nonce)
    }

    /// Returns who a process of the attack is: of the hostile run, of a check of it, or unknown.
    fn caller(&self, rng: &mut SeededRng) -> CallerIdentity {
        let shim = |kind| LiveShim {
            task: Some(self.own.clone()),
            agent: Some(agent("evil")),
            fence: Some(1),
            nonce: self.nonce_of(&self.own),
            ..LiveShim::new(kind)
        };
        let origin = match rng.below(6) {
            0 => ProcessOrigin::Inside(Box::new(shim(ShimKind::Check))),
            1 => ProcessOrigin::Unknown,
            _ => ProcessOrigin::Inside(Box::new(shim(ShimKind::Run))),
        };
        CallerIdentity::from_origin(origin, Some(&self.secret))
    }

    fn random_request(&self, rng: &mut SeededRng) -> Request {
        let tasks = [&self.own, &self.other, &self.reviewed];
        let id = (*rng.choose(&tasks)).clone();
        let name = *rng.choose(&NAMES);
        let token = self.random_token(rng);
        match rng.below(10) {
            0 => {
                let by = CommandCaller::Operator(Actor::human("alice"));
                Request::Command { by, command: random_command(rng, id) }
            }
            1 => Request::LifeSign { task: id, by: Actor::human(name), token },
            2 => {
                let asked = AskedPermission { number: 1, text: name.to_owned(), choices: vec![] };
                Request::PermissionAsked { task: id, by: Actor::human(name), token, asked }
            }
            3 => Request::SessionEnd(rng.one_in(2).then_some(id)),
            _ => {
                let mut message = random_message(rng, id.as_str(), self.own.as_str(), name);
                if rng.one_in(2) {
                    message["runToken"] = json!(token);
                }
                let prefix = if rng.one_in(2) { "AOF/1 " } else { "" };
                let text = format!("{prefix}{message}").into_bytes();
                Request::Message { origin: self.random_origin(rng, id, token), text }
            }
        }
    }

    fn random_token(&self, rng: &mut SeededRng) -> String {
        match rng.below(6) {
            0 => self.token_of(&self.other),
            1 => self.token_of(&self.reviewed),
            2 => "1-00000000000000000000000000000000".to_owned(),
            3 => self.secret.token(&self.own, 2, self.nonce_of(&self.own)),
            4 => self.secret.token(&self.own, 1, Some(RunNonce::from_random(rng.next_u64()))),
            _ => self.token_of(&self.own),
        }
    }

    /// Returns where a text comes from: what the process claims, and what the shim and the HTTP
    /// server know of the run.
    fn random_origin(&self, rng: &mut SeededRng, claimed: TaskId, token: String) -> MessageOrigin {
        let own = self.own.clone();
        match rng.below(4) {
            0 => MessageOrigin::Outside,
            1 => MessageOrigin::InsideRun { task: claimed, token },
            2 => MessageOrigin::RunConnection { token: self.token_of(&own), task: own },
            _ => MessageOrigin::RunOutput {
                nonce: self.nonce_of(&own),
                task: own,
                attempt: 1,
                fence: 1,
                seq: rng.next_u64(),
                kind: None,
                flaw: None,
                needs_token: rng.one_in(2),
                from_socket: rng.one_in(2),
                refused: None,
            },
        }
    }
}

/// What a process says about itself and through which channel a request comes.
#[derive(Debug, Clone, Copy)]
enum RequestChannel {
    /// A command of a process outside all runs.
    Operator,
    /// The daemon's socket, or a command without a daemon, from inside the run of the task.
    Run,
    /// HTTP or MCP with the token of the run.
    RunToken,
    /// A line on standard output with the run's token.
    PrintedWithToken,
    /// A line on standard output without it.
    PrintedWithoutToken,
    /// The socket of the run.
    RunSocket,
    /// From inside the run of another task.
    OtherRun,
    /// From inside the run of another task, with the stolen token of this run.
    StolenToken,
    /// From a check of the task.
    Check,
    /// A process that exited before it was identified.
    ExitedPeer,
    /// MCP or HTTP, with the token of an agent that fetched the task and runs elsewhere.
    FetchedAgent,
    /// The same, from an agent that fetched another task.
    OtherFetchedAgent,
}

const CHANNELS: [RequestChannel; 12] = [
    RequestChannel::Operator,
    RequestChannel::Run,
    RequestChannel::RunToken,
    RequestChannel::PrintedWithToken,
    RequestChannel::PrintedWithoutToken,
    RequestChannel::RunSocket,
    RequestChannel::OtherRun,
    RequestChannel::StolenToken,
    RequestChannel::Check,
    RequestChannel::ExitedPeer,
    RequestChannel::FetchedAgent,
    RequestChannel::OtherFetchedAgent,
];

impl RequestChannel {
    /// Returns how the agents came to their tasks.
    fn run_origin(self) -> RunOrigin {
        match self {
            Self::FetchedAgent | Self::OtherFetchedAgent => RunOrigin::Fetched,
            _ => RunOrigin::Started,
        }
    }
}

impl HostileSetup {
    fn caller_in(&self, kind: ShimKind, task: &TaskId, name: &str) -> CallerIdentity {
        let shim = LiveShim {
            task: Some(task.clone()),
            agent: Some(agent(name)),
            fence: Some(1),
            nonce: self.nonce_of(task),
            ..LiveShim::new(kind)
        };
        let origin = ProcessOrigin::Inside(Box::new(shim));
        CallerIdentity::from_origin(origin, Some(&self.secret))
    }

    /// Sends a text about the hostile run's own task, and returns the answer in words.
    fn send_by(&mut self, channel: RequestChannel, mut message: Value) -> String {
        let (own, token) = (self.own.clone(), self.token_of(&self.own));
        if matches!(channel, RequestChannel::PrintedWithToken | RequestChannel::StolenToken) {
            message["runToken"] = json!(token);
        }
        let is_aof = message["protocol"] == "aof";
        let prefix = if is_aof { "AOF/1 " } else { "" };
        let text = format!("{prefix}{message}").into_bytes();
        let nonce = self.nonce_of(&own);
        let printed = |needs_token| MessageOrigin::RunOutput {
            task: own.clone(),
            attempt: 1,
            fence: 1,
            nonce,
            seq: 1,
            kind: None,
            flaw: None,
            needs_token,
            from_socket: !needs_token,
            refused: None,
        };
        let outside = || Request::Message { origin: MessageOrigin::Outside, text: text.clone() };
        let request = match channel {
            RequestChannel::Operator => outside(),
            RequestChannel::Run => {
                self.caller_in(ShimKind::Run, &self.own, "evil").authorize(outside())
            }
            RequestChannel::RunToken | RequestChannel::FetchedAgent => Request::Message {
                origin: MessageOrigin::RunConnection { task: own.clone(), token },
                text: text.clone(),
            },
            RequestChannel::PrintedWithToken | RequestChannel::PrintedWithoutToken => {
                Request::Message { origin: printed(true), text: text.clone() }
            }
            RequestChannel::RunSocket => {
                Request::Message { origin: printed(false), text: text.clone() }
            }
            RequestChannel::OtherRun | RequestChannel::StolenToken => {
                self.caller_in(ShimKind::Run, &self.other, "good").authorize(outside())
            }
            RequestChannel::OtherFetchedAgent => Request::Message {
                origin: MessageOrigin::RunConnection {
                    token: self.token_of(&self.other),
                    task: self.other.clone(),
                },
                text: text.clone(),
            },
            RequestChannel::Check => {
                self.caller_in(ShimKind::Check, &self.own, "evil").authorize(outside())
            }
            RequestChannel::ExitedPeer => {
                CallerIdentity::from_origin(ProcessOrigin::Unknown, Some(&self.secret))
                    .authorize(outside())
            }
        };
        let answer = self.submit(request).answer;
        let reason = answer.reason.map_or_else(String::new, |reason| format!(" {reason}"));
        format!("{}{reason}", answer.verdict)
    }
}

/// Every kind of message about task `own`, by the agent of its run and in another name.
fn every_message(own: &str, other: &str) -> Vec<(String, Value)> {
    let mut all = vec![];
    for name in ["evil", "reviewer"] {
        let update = |to: &str| {
            let payload = json!({"taskId": own, "agentId": name, "status": to, "notes": "x"});
            envelope("status.update", own, name, &payload)
        };
        let answer = |kind: &str, accepted: bool| {
            let payload = json!({"taskId": own, "accepted": accepted, "reason": "x"});
            envelope(kind, own, name, &payload)
        };
        let messages = [
            ("completion.report", completion(own, name, "needs_review")),
            ("status.update to done", update("done")),
            ("status.update to blocked", update("blocked")),
            ("handoff.request of another's task", handoff(other, own, name, "qa")),
            ("handoff.accepted", answer("handoff.accepted", true)),
            ("handoff.rejected", answer("handoff.rejected", false)),
        ];
        all.extend(messages.map(|(kind, message)| (format!("{kind} as {name}"), message)));
    }
    let result = json!({"taskId": own, "result": "success", "summary": "x", "outputs": []});
    all.push(("attempt_completion".to_owned(), result));
    let order = json!({"taskId": "NEW-1", "delegatedToMode": "good", "objective": "x",
        "parentTaskId": own});
    all.push(("new_task below the task".to_owned(), order));
    all
}

/// The answers to every message on every channel, for a person to read.
#[test]
fn authority_of_messages_matches_golden_files() {
    let mut table = String::new();
    let setup = HostileSetup::new();
    let names = (setup.own.to_string(), setup.other.to_string());
    for (name, message) in every_message(&names.0, &names.1) {
        let _ = writeln!(table, "{name}");
        for channel in CHANNELS {
            let mut setup = HostileSetup::with_run_origin(channel.run_origin());
            let answer = setup.send_by(channel, message.clone());
            let _ = writeln!(table, "  {:<20} {answer}", format!("{channel:?}"));
        }
    }
    let mut golden = GoldenFolder::new("authority");
    golden.add("messages.txt", table);
    golden.check();
}

fn operator(command: Command) -> Request {
    Request::Command { by: CommandCaller::Operator(Actor::human("alice")), command }
}

fn submit(engine: &mut Engine<MemoryStore>, request: Request) -> adjutant_engine::EngineAnswer {
    engine.submit_one(EngineRequest::from(request)).expect("an answer")
}

fn random_command(rng: &mut SeededRng, id: TaskId) -> Command {
    let text = String::new;
    match rng.below(10) {
        0 => Command::Approve { id, note: text() },
        1 => Command::Move { id, to: *rng.choose(&Status::ALL), reason: text() },
        2 => Command::Reject { id, reason: "no".to_owned() },
        3 => Command::Cancel { id, reason: text() },
        4 => Command::Retry { id },
        5 => Command::Answer { id, text: "yes".to_owned() },
        6 => Command::Add(Box::new(NewTask { title: "Mine".to_owned(), ..NewTask::default() })),
        7 => {
            let name = *rng.choose(&["evil", "good"]);
            Command::Take { nonce: None, agent: agent(name) }
        }
        8 => Command::Free { agent: agent("evil") },
        _ => Command::Chore(*rng.choose(&OperatorAction::ALL)),
    }
}

fn random_message(rng: &mut SeededRng, id: &str, own: &str, name: &str) -> Value {
    match rng.below(8) {
        0 | 1 => {
            let to = rng.choose(&["done", "done", "ready", "blocked", "cancelled"]);
            let payload = json!({"taskId": id, "agentId": name, "status": to, "notes": "x"});
            envelope("status.update", id, name, &payload)
        }
        2 | 3 => {
            let outcome = *rng.choose(&["done", "blocked", "needs_review", "partial"]);
            completion(id, name, outcome)
        }
        4 => {
            let parent = if rng.one_in(2) { own } else { id };
            let to = *rng.choose(&NAMES);
            handoff(id, parent, name, to)
        }
        5 => {
            let accepted = rng.one_in(2);
            let kind = if accepted { "handoff.accepted" } else { "handoff.rejected" };
            envelope(kind, id, name, &json!({"taskId": id, "accepted": accepted, "reason": "x"}))
        }
        6 => json!({"taskId": id, "result": "success", "summary": "x", "outputs": []}),
        _ => json!({"taskId": format!("NEW-{}", rng.below(100)), "delegatedToMode": name,
            "objective": "x", "parentTaskId": id}),
    }
}

#[test]
fn hostile_run_finishes_nothing_and_speaks_for_no_other_run() {
    let seed = SeededRng::seed_from_env();
    let mut rng = SeededRng::from_seed(seed);
    let (mut applied, mut refused) = (0, 0);
    for case in 0..soak::cases(ATTEMPTS / ATTEMPTS_PER_WORLD) {
        let run_origin = if case % 2 == 0 { RunOrigin::Started } else { RunOrigin::Fetched };
        let mut setup = HostileSetup::with_run_origin(run_origin);
        let before = setup.task(&setup.other);
        for _ in 0..ATTEMPTS_PER_WORLD {
            let request = setup.random_request(&mut rng);
            // What shim and HTTP server submit for the run does not pass the daemon's socket.
            let is_submitted_for_run = matches!(
                &request,
                Request::Message {
                    origin: MessageOrigin::RunConnection { .. } | MessageOrigin::RunOutput { .. },
                    ..
                }
            );
            let is_command = matches!(request, Request::Command { .. });
            let request = if is_submitted_for_run {
                request
            } else {
                setup.caller(&mut rng).authorize(request)
            };
            let shown = format!("ADJUTANT_SEED={seed}: {request:?}");
            let answered = setup.submit(request);
            match answered.answer.verdict {
                AnswerVerdict::Applied => applied += 1,
                AnswerVerdict::Rejected => refused += 1,
                AnswerVerdict::Noop | AnswerVerdict::Unknown | AnswerVerdict::Ignored => {}
            }
            if is_command {
                assert_eq!(answered.answer.verdict, AnswerVerdict::Rejected, "{shown}");
            }
            let done = setup.engine.world().with_status(Status::Done).count();
            assert_eq!(done, 0, "a task is done after {shown}");
            assert_eq!(setup.task(&setup.other), before, "after {shown}");
            for event in &answered.events {
                let counts = matches!(event.new_event.event, Event::TaskCompleted { .. });
                let is_own = event.new_event.actor == Actor::Agent(agent("evil"));
                assert!(!counts || is_own, "{shown}");
            }
        }
    }
    assert!(applied > 100 && refused > 1_000, "{applied} applied, {refused} refused");
}
