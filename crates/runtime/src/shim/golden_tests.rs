//! Golden files of the shim: what it is told, what it answers, and the files of an attempt.

use std::path::PathBuf;
use std::time::Duration;

use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::Reply;
use super::beat::Heart;
use super::door::Wish;
use super::files::{Ended, Exit, Folder, OUTBOX, Record, Sync, TAKEN, TOLD};
use super::outbox::{Outbox, Reader, Said, take};
use super::spec::{Asks, Environment, Limits, Lines, Prompt, Report, Spec};
use crate::agent::{Limited, Told, Used};
use crate::golden_tests::json_lines;

const AT: &str = "2026-02-09T20:30:00.250Z";

fn report() -> Report {
    Report { file: "result.yaml".into(), kind: "result".into() }
}

/// Written out without `..`, so that a new field needs a sample.
fn full_spec() -> Spec {
    Spec {
        task_id: "TASK-2026-02-09-001".into(),
        agent: "swe".into(),
        attempt: 2,
        fence: 3,
        folder: "/p/.adjutant/runs/TASK-2026-02-09-001/attempts/2".into(),
        command: vec!["claude".into(), "-p".into()],
        workspace: "/p".into(),
        environment: Environment {
            deny: vec!["AWS_*".into()],
            set: [("ADJUTANT_ATTEMPT".into(), "2".into())].into(),
        },
        prompt: Prompt::Stdin,
        lines: Lines::Output,
        report: Some(report()),
        limits: Limits {
            timeout_ms: Some(3_600_000),
            idle_timeout_ms: Some(600_000),
            grace_ms: 10_000,
            ttl_ms: 90_000,
            beat_ms: 18_000,
            budget_tokens: Some(100_000),
            budget_cost: Some(2_500_000),
            log_bytes: 1 << 26,
        },
        asks: Asks::Agent,
        reads: Some("claude".into()),
        session: Some("c7d4-11".into()),
        untried: Some("version 9 was not tried".into()),
        confined: Some(vec![PathBuf::from("/p/out")]),
    }
}

/// A spec with no optional field, and one for every word of its enums.
fn specs() -> Vec<Spec> {
    let bare = Spec {
        environment: Environment::default(),
        report: None,
        limits: Limits::new(Duration::from_secs(10), Duration::from_secs(90)),
        asks: Asks::All,
        reads: None,
        session: None,
        untried: None,
        confined: None,
        ..full_spec()
    };
    let prompts = [Prompt::Stdin, Prompt::Argument, Prompt::File];
    assert_every_variant!(&prompts, Prompt { Stdin, Argument, File });
    let all_lines = [Lines::Messages, Lines::Output];
    assert_every_variant!(&all_lines, Lines { Messages, Output });
    let asks = [Asks::All, Asks::Agent];
    assert_every_variant!(&asks, Asks { All, Agent });
    let mut specs = vec![full_spec(), bare.clone()];
    specs.extend(prompts.map(|prompt| Spec { prompt, ..bare.clone() }));
    specs.extend(all_lines.map(|lines| Spec { lines, ..bare.clone() }));
    specs.extend(asks.map(|asks| Spec { asks, ..bare.clone() }));
    specs
}

fn requests() -> String {
    let stop = |leave| Wish::Stop { reason: "the task was cancelled".into(), leave };
    let all = [
        Wish::Watch,
        Wish::Touch,
        Wish::Served,
        Wish::Say { token: "3-0123".into(), text: "AOF/1 {}".into() },
        stop(false),
        stop(true),
    ];
    assert_every_variant!(&all, Wish { Watch, Touch, Served, Say, Stop });
    json_lines(all)
}

fn replies() -> String {
    let all =
        [Reply::Started, Reply::Known, Reply::NotStarted("no such file".into()), Reply::NoRoom];
    assert_every_variant!(&all, Reply { Started, Known, NotStarted, NoRoom });
    json_lines(all)
}

#[test]
fn shim_socket_lines_match_golden_files() {
    let specs = specs();
    let lines = json_lines(&specs);
    let read = lines.lines().map(|line| serde_json::from_str(line).expect("it is read back"));
    assert_eq!(read.collect::<Vec<Spec>>(), specs);
    let mut golden = GoldenFolder::new("ipc/shim");
    golden.add("specs.jsonl", lines);
    golden.add("start-replies.jsonl", replies());
    golden.add("requests.jsonl", requests());
    golden.add("news.jsonl", String::from_utf8_lossy(super::door::NEWS));
    golden.check();
}

fn record(agent: Option<(i32, u64)>, report: Option<Report>) -> Record {
    Record {
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
    }
}

fn exits() -> Vec<Ended> {
    let exits = [
        Exit::Code(1),
        Exit::Signal(9),
        Exit::TimedOut,
        Exit::Idle,
        Exit::OverBudget,
        Exit::Stopped("the task was cancelled".into()),
        Exit::Lost,
        Exit::NotStarted("no such file".into()),
    ];
    assert_every_variant!(
        &exits,
        Exit { Code, Signal, TimedOut, Idle, OverBudget, Stopped, Lost, NotStarted }
    );
    let ended = |exit| Ended {
        fence: 3,
        attempt: 2,
        exit,
        ended_at: AT.into(),
        tail: "last line\n".into(),
    };
    exits.map(ended).into()
}

fn full_told() -> Told {
    let text = |text: &str| Some(text.to_owned());
    let mut told = Told::default();
    told.session = text("c7d4-11");
    told.version = text("2.1.325");
    told.untried = text("version 9 was not tried");
    told.no_server = text("connection refused");
    told.denied = text("Bash");
    told.used = Used { input: 1200, output: 340, cached: 800, cost: 1_234_567 };
    told.limited = Some(Limited { until: Some(1_770_669_000), words: "limit".into() });
    told.unusable = text("not logged in");
    told.stumbled = text("overloaded");
    told.words = text("All done");
    told
}

/// Writes what may lie in the folder of an attempt, by the functions that write it, one after the
/// other, and returns each text.
struct Attempt {
    home: tempfile::TempDir,
    folder: Folder,
}

impl Attempt {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::at(home.path());
        Self { home, folder }
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.path().join(name)).expect("the file is there")
    }

    fn records(&self) -> String {
        let all = [record(None, None), record(Some((4712, 123_457)), Some(report()))];
        let each = all.map(|record| {
            self.folder.write_record(&record, Sync::Later).expect("it is written");
            assert_eq!(self.folder.record().expect("it is read"), Some(record));
            self.text("shim.json") + "\n"
        });
        each.concat()
    }

    fn exits(&self) -> String {
        let each = exits().into_iter().map(|ended| {
            self.folder.write_exit(&ended, Sync::Later).expect("it is written");
            assert_eq!(self.folder.exit().expect("it is read"), Some(ended));
            self.text("exit.json") + "\n"
        });
        each.collect()
    }

    fn told(&self) -> String {
        let mut limited = Told::default();
        limited.limited = Some(Limited { until: None, words: "limit".into() });
        let all = [Told::default(), limited, full_told()];
        let each = all.map(|told| {
            self.folder.write_told(&told).expect("it is written");
            assert_eq!(self.folder.told().expect("it is read"), Some(told));
            self.text(TOLD) + "\n"
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
        let mut outbox = Outbox::open(&self.folder).expect("an outbox");
        let said = |kind: Option<&str>, flaw: Option<&str>| Said {
            line: "AOF/1 {\"type\": \"status.update\"}".into(),
            kind: kind.map(str::to_owned),
            flaw: flaw.map(str::to_owned),
        };
        for said in [said(None, None), said(Some("result"), None), said(None, Some("cut off"))] {
            outbox.add(said).expect("it is added");
        }
        let mut reader = Reader::open(&self.folder);
        while reader.read().expect("it is read").is_some() {}
        take(&self.folder, 2).expect("it is noted");
        self.text(OUTBOX)
    }

    /// The heartbeat lies two folders above that of the attempt. Its times are masked.
    fn heartbeat(&self) -> String {
        let folder = Folder::at(&self.home.path().join("attempts/2"));
        let mut heart = Heart::of(&full_spec(), &folder);
        heart.beat(&full_spec());
        heart.beat(&full_spec());
        let text = self.text("run_heartbeat.json");
        let mut beat: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(text, format!("{beat:#}\n"));
        for key in ["lastHeartbeat", "expiresAt"] {
            adjutant_core::Time::parse(beat[key].as_str().expect("text")).expect("a time");
            beat[key] = "<time>".into();
        }
        format!("{beat:#}\n")
    }

    fn lease(&self) -> String {
        super::lease::extend(self.home.path(), Duration::from_millis(12_345))
            .expect("it is written");
        self.text(super::lease::FILE)
    }
}

#[test]
fn shim_files_match_golden_files() {
    let attempt = Attempt::new();
    let mut golden = GoldenFolder::new("run-files/attempt");
    golden.add("shim.json", attempt.records());
    golden.add("exit.json", attempt.exits());
    golden.add("told.json", attempt.told());
    golden.add("answer-3.json", attempt.answers());
    golden.add("outbox.jsonl", attempt.outbox());
    golden.add("outbox.taken", attempt.text(TAKEN) + "\n");
    golden.add("lease", attempt.lease());
    golden.add("run_heartbeat.json", attempt.heartbeat());
    golden.check();
}
