//! Golden files of the shim: its spec, its replies, its control requests and the files
//! of an attempt.

use std::time::Duration;

use adjutant_model::document::DocumentKind;
use adjutant_model::request::RefusedAccess;
use adjutant_model::{Actor, AgentId, Reason, TaskId};
use adjutant_run_files::attempt_files::{
    AttemptFolder, CONFIRMED, ExitRecord, OUTBOX, ProcessExit, RunDeadlines, ShimRecord, SyncLevel,
    TELEMETRY,
};
use adjutant_run_files::sandbox_spec::{
    CommandSandbox, ProcessLimit, ResourceLimits, SandboxMount, SandboxNetwork, StrictSandbox,
};
use adjutant_run_files::shim_spec::{
    AgentEnvironment, AofLineMode, OrderDelivery, ReportSpec, RunLimits, ShimSpec, StopTarget,
};
use adjutant_run_files::socket_protocol::RunSocketRequest;
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::golden_samples::json_lines;

use super::ShimReply;
use super::control_socket::ControlRequest;
use super::heartbeat_file::HeartbeatWriter;
use super::outbox::{OutboxReader, OutboxWriter, RunMessage, confirm_up_to};
use crate::agent::{AgentSelfReport, ModelUsage, ReachedLimit};

const AT: &str = "2026-02-09T20:30:00.250Z";

fn report() -> ReportSpec {
    ReportSpec { file: "result.yaml".into(), kind: "result".into() }
}

/// Written out without `..`, so that a new field needs a sample.
fn full_spec() -> ShimSpec {
    ShimSpec {
        nonce: None,
        task_id: "TASK-2026-02-09-001".into(),
        agent: "swe".into(),
        attempt: 2,
        fence: 3,
        folder: "/p/.adjutant/runs/TASK-2026-02-09-001/attempts/2".into(),
        command: vec!["claude".into(), "-p".into()],
        workspace: "/p".into(),
        environment: AgentEnvironment {
            pass: Some(vec!["PATH".into(), "CLAUDE_*".into()]),
            deny: vec!["AWS_*".into()],
            set: [("ADJUTANT_ATTEMPT".into(), "2".into())].into(),
        },
        prompt: OrderDelivery::Stdin,
        lines: AofLineMode::Output,
        report: Some(report()),
        limits: RunLimits {
            timeout_ms: Some(3_600_000),
            idle_timeout_ms: Some(600_000),
            grace_ms: 10_000,
            ttl_ms: 90_000,
            beat_ms: 18_000,
            budget_tokens: Some(100_000),
            budget_cost: Some(2_500_000),
            log_bytes: 1 << 26,
        },
        asks: StopTarget::Agent,
        reads: Some("claude".into()),
        session: Some("c7d4-11".into()),
        untried: Some("version 9 was not tried".into()),
        sandbox: CommandSandbox::Landlock { writable: vec!["/p/out".into()] },
        secrets: vec!["the operator's token".into()],
    }
}

/// A view with every kind of mount.
fn full_view() -> StrictSandbox {
    let mounts = [
        ("/p", SandboxMount::ReadOnly),
        ("/p/.adjutant", SandboxMount::Empty),
        ("/p/.adjutant/worktrees/T", SandboxMount::Writable),
        ("/h", SandboxMount::Private),
        ("/h/.gemini", SandboxMount::WritableFrom("/p/.adjutant/sandbox/agents/g/.gemini".into())),
        ("/h/.gitconfig", SandboxMount::ReadOnlyFrom("/p/.adjutant/sandbox/gitconfig".into())),
        ("/bin", SandboxMount::Link("usr/bin".into())),
    ];
    let kinds: Vec<_> = mounts.iter().map(|(_, mount)| mount.clone()).collect();
    assert_every_variant!(
        &kinds,
        SandboxMount { ReadOnly, ReadOnlyFrom, Writable, WritableFrom, Link, Empty, Private }
    );
    let mounts = mounts.map(|(path, mount)| (path.into(), mount)).into();
    StrictSandbox {
        mounts,
        network: SandboxNetwork::Hosts(vec!["api.example.com".into(), "127.0.0.1:8080".into()]),
        limits: ResourceLimits {
            processes: Some(ProcessLimit { max: 512, is_required: true }),
            memory_bytes: Some(1 << 30),
        },
    }
}

/// A spec without optional fields, and one for every variant of its enums.
fn specs() -> Vec<ShimSpec> {
    let bare = ShimSpec {
        environment: AgentEnvironment::default(),
        report: None,
        limits: RunLimits::new(Duration::from_secs(10), Duration::from_secs(90)),
        asks: StopTarget::All,
        reads: None,
        session: None,
        untried: None,
        sandbox: CommandSandbox::None,
        secrets: vec![],
        ..full_spec()
    };
    let prompts = [OrderDelivery::Stdin, OrderDelivery::Argument, OrderDelivery::File];
    assert_every_variant!(&prompts, OrderDelivery { Stdin, Argument, File });
    let all_lines = [AofLineMode::Messages, AofLineMode::TokenMessages, AofLineMode::Output];
    assert_every_variant!(&all_lines, AofLineMode { Messages, TokenMessages, Output });
    let asks = [StopTarget::All, StopTarget::Agent];
    assert_every_variant!(&asks, StopTarget { All, Agent });
    let mut specs = vec![full_spec(), bare.clone()];
    specs.extend(prompts.map(|prompt| ShimSpec { prompt, ..bare.clone() }));
    specs.extend(all_lines.map(|lines| ShimSpec { lines, ..bare.clone() }));
    specs.extend(asks.map(|asks| ShimSpec { asks, ..bare.clone() }));
    let sandboxes = [
        CommandSandbox::None,
        CommandSandbox::Landlock { writable: vec!["/p/out".into()] },
        CommandSandbox::Strict(full_view()),
    ];
    assert_every_variant!(&sandboxes, CommandSandbox { None, Landlock, Strict });
    specs.extend(sandboxes.map(|sandbox| ShimSpec { sandbox, ..bare.clone() }));
    specs
}

fn requests() -> String {
    let stop = |leave| ControlRequest::Stop { reason: "the task was cancelled".into(), leave };
    let all = [
        ControlRequest::Watch,
        ControlRequest::Touch,
        ControlRequest::Served,
        stop(false),
        stop(true),
    ];
    assert_every_variant!(&all, ControlRequest { Watch, Touch, Served, Stop });
    json_lines(all)
}

fn run_requests() -> String {
    let submitted = adjutant_model::request::EngineRequest::message("AOF/1 {}");
    let all = [
        RunSocketRequest::Submit(Box::new(submitted)),
        RunSocketRequest::TaskContext,
        RunSocketRequest::TaskFile,
        RunSocketRequest::Output,
        RunSocketRequest::StoreSummary { text: "Done.".into() },
        RunSocketRequest::McpStarted,
        RunSocketRequest::Activity,
    ];
    assert_every_variant!(
        &all,
        RunSocketRequest {
            Submit,
            TaskContext,
            TaskFile,
            Output,
            StoreSummary,
            McpStarted,
            Activity
        }
    );
    for request in &all {
        let line = serde_json::to_string(request).expect("it makes JSON");
        let read: RunSocketRequest = serde_json::from_str(&line).expect("it is read back");
        assert_eq!(read, *request, "{line}");
    }
    json_lines(all)
}

fn replies() -> String {
    let all = [
        ShimReply::Started,
        ShimReply::Known,
        ShimReply::NotStarted("no such file".into()),
        ShimReply::NoRoom,
    ];
    assert_every_variant!(&all, ShimReply { Started, Known, NotStarted, NoRoom });
    json_lines(all)
}

#[test]
fn shim_socket_lines_match_golden_files() {
    let specs = specs();
    let lines = json_lines(&specs);
    let read = lines.lines().map(|line| serde_json::from_str(line).expect("it is read back"));
    assert_eq!(read.collect::<Vec<ShimSpec>>(), specs);
    let mut golden = GoldenFolder::new("ipc/shim");
    golden.add("specs.jsonl", lines);
    golden.add("start-replies.jsonl", replies());
    golden.add("requests.jsonl", requests());
    golden.add("run-requests.jsonl", run_requests());
    let news = [super::control_socket::NOTIFICATION, super::control_socket::PULSE].concat();
    golden.add("news.jsonl", String::from_utf8_lossy(&news));
    golden.check();
}

fn record(agent: Option<(i32, u64)>, report: Option<ReportSpec>) -> ShimRecord {
    ShimRecord {
        network: SandboxNetwork::Open,
        limits: ResourceLimits::default(),
        nonce: None,
        shim_pid: 4711,
        shim_start: 123_456,
        agent_pid: agent.map(|(pid, _)| pid),
        agent_start: agent.map(|(_, start)| start),
        boot_id: "0b1c-boot".into(),
        fence: 3,
        attempt: 2,
        agent: "swe".into(),
        started_at: AT.into(),
        report,
        sandbox: None,
        deadlines: None,
    }
}

fn exits() -> Vec<ExitRecord> {
    let exits = [
        ProcessExit::Code(1),
        ProcessExit::Signal(9),
        ProcessExit::TimedOut,
        ProcessExit::Idle,
        ProcessExit::OverBudget,
        ProcessExit::Stopped("the task was cancelled".into()),
        ProcessExit::Lost,
        ProcessExit::NotStarted("no such file".into()),
    ];
    assert_every_variant!(
        &exits,
        ProcessExit { Code, Signal, TimedOut, Idle, OverBudget, Stopped, Lost, NotStarted }
    );
    let ended = |exit| ExitRecord {
        fence: 3,
        attempt: 2,
        exit,
        ended_at: AT.into(),
        tail: "last line\n".into(),
    };
    exits.map(ended).into()
}

fn full_told() -> AgentSelfReport {
    let text = |text: &str| Some(text.to_owned());
    let mut told = AgentSelfReport::default();
    told.session = text("c7d4-11");
    told.version = text("2.1.325");
    told.untried = text("version 9 was not tried");
    told.no_server = text("connection refused");
    told.denied = text("Bash");
    told.used = ModelUsage { input: 1200, output: 340, cached: 800, cost: 1_234_567 };
    told.limited = Some(ReachedLimit { until: Some(1_770_669_000), words: "limit".into() });
    told.unusable = text("not logged in");
    told.stumbled = text("overloaded");
    told.words = text("All done");
    told
}

/// Writes each file of an attempt with the function that writes it in production, and
/// returns the text.
struct AttemptFixture {
    home: tempfile::TempDir,
    folder: AttemptFolder,
}

impl AttemptFixture {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = AttemptFolder::new(home.path());
        Self { home, folder }
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path().join(name)).expect("the file is there")
    }

    fn records(&self) -> String {
        let deadlines = Some(RunDeadlines {
            timeout_at_ms: Some(7_200_000),
            grace_ms: 10_000,
            ttl_ms: 300_000,
        });
        let all = [
            record(None, None),
            ShimRecord { deadlines, ..record(Some((4712, 123_457)), Some(report())) },
        ];
        let each = all.map(|record| {
            self.folder.write_record(&record, SyncLevel::Later).expect("it is written");
            assert_eq!(self.folder.record().expect("it is read"), Some(record));
            self.text("shim.json") + "\n"
        });
        each.concat()
    }

    fn exits(&self) -> String {
        let each = exits().into_iter().map(|ended| {
            self.folder.write_exit(&ended, SyncLevel::Later).expect("it is written");
            assert_eq!(self.folder.exit().expect("it is read"), Some(ended));
            self.text("exit.json") + "\n"
        });
        each.collect()
    }

    fn told(&self) -> String {
        let mut limited = AgentSelfReport::default();
        limited.limited = Some(ReachedLimit { until: None, words: "limit".into() });
        let all = [AgentSelfReport::default(), limited, full_told()];
        let each = all.map(|told| {
            self.folder.write_telemetry(&told).expect("it is written");
            assert_eq!(self.folder.telemetry().expect("it is read"), Some(told));
            self.text(TELEMETRY) + "\n"
        });
        each.concat()
    }

    fn answers(&self) -> String {
        let each = [None, Some("option-allow_once")].map(|choice| {
            self.folder.write_answer(3, choice).expect("it is written");
            self.text("answer-3.json") + "\n"
        });
        each.concat()
    }

    fn outbox(&self) -> String {
        let mut outbox = OutboxWriter::open(&self.folder).expect("an outbox");
        let message = |kind, flaw: Option<&str>| RunMessage {
            text: "AOF/1 {\"type\": \"status.update\"}".into(),
            kind,
            flaw: flaw.map(str::to_owned),
            needs_token: kind.is_none() && flaw.is_none(),
            from_socket: false,
            refused: None,
        };
        for (kind, flaw) in
            [(None, None), (Some(DocumentKind::Result), None), (None, Some("cut off"))]
        {
            outbox.add(message(kind, flaw)).expect("it is added");
        }
        let sent = RunMessage { from_socket: true, ..RunMessage::from_text("{}") };
        outbox.add(sent).expect("it is added");
        let refused = RefusedAccess {
            by: Actor::Agent(AgentId::parse("swe").expect("a name")),
            task: TaskId::parse("TASK-2026-02-09-001").ok(),
            reason: Reason::OperatorOnly,
            detail: "approve (through the socket of the run)".into(),
            count: 1,
        };
        outbox.add_refusal(refused).expect("it is added");
        let mut reader = OutboxReader::open(&self.folder);
        while reader.read().expect("it is read").is_some() {}
        confirm_up_to(&self.folder, 2).expect("it is noted");
        self.text(OUTBOX)
    }

    /// The heartbeat lies two folders above the attempt. Its times are masked.
    fn heartbeat(&self) -> String {
        let folder = AttemptFolder::new(&self.home.path().join("attempts/2"));
        let mut heart = HeartbeatWriter::new(&full_spec(), &folder);
        heart.write_heartbeat(&full_spec());
        heart.write_heartbeat(&full_spec());
        let text = self.text("run_heartbeat.json");
        let mut beat: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(text, format!("{beat:#}\n"));
        for key in ["lastHeartbeat", "expiresAt"] {
            adjutant_model::Time::parse(beat[key].as_str().expect("text")).expect("a time");
            beat[key] = "<time>".into();
        }
        format!("{beat:#}\n")
    }

    fn lease(&self) -> String {
        super::lease_file::extend_lease(self.home.path(), Duration::from_millis(12_345))
            .expect("it is written");
        self.text(super::lease_file::FILE)
    }
}

#[test]
fn shim_files_match_golden_files() {
    let attempt = AttemptFixture::new();
    let mut golden = GoldenFolder::new("run-files/attempt");
    golden.add("shim.json", attempt.records());
    golden.add("exit.json", attempt.exits());
    golden.add("told.json", attempt.told());
    golden.add("answer-3.json", attempt.answers());
    golden.add("outbox.jsonl", attempt.outbox());
    golden.add("outbox.taken", attempt.text(CONFIRMED) + "\n");
    golden.add("lease", attempt.lease());
    golden.add("run_heartbeat.json", attempt.heartbeat());
    golden.check();
}

#[test]
fn outbox_message_of_unknown_kind_is_read_as_text() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = AttemptFolder::new(home.path());
    let lines = "{\"seq\":1,\"line\":\"one\",\"kind\":\"poem\"}\n{\"seq\":2,\"line\":\"two\"}\n";
    std::fs::write(folder.join(OUTBOX), lines).expect("written");
    let mut reader = OutboxReader::open(&folder);
    for text in ["one", "two"] {
        let read = reader.read().expect("it is read").expect("a message");
        assert_eq!(read.message, RunMessage::from_text(text));
    }
}
