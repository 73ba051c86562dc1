//! Golden files of what the nodes of a fleet send to each other and agree on.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use adjutant_core::account::Budget;
use adjutant_core::path::RelPath;
use adjutant_core::policy::{AgentPolicy, Merge, OnExitOk, Place, Policy};
use adjutant_store::file::{Carried, Home};
use adjutant_store::{EffectId, Version};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::ask::{Question, Reply, To, answers_from_text, answers_to_text};
use super::holder::Holder;
use super::pact::{Times, Unfit};
use super::roster::{AgentWire, NodeInfo};
use super::wire::RequestWire;
use crate::engine::Request;
use crate::golden_tests::json_lines;
use crate::golden_tests::requests::every_request;
use crate::golden_tests::samples::{answers, node, task};

/// Every request a node sends to the leader. A tick is the leader's own.
fn request_lines() -> String {
    let mut wires = Vec::new();
    for request in every_request() {
        if let Request::Tick { .. } = request {
            assert!(RequestWire::try_from(&request).is_err(), "a tick is never sent");
            continue;
        }
        let wire = RequestWire::try_from(&request).expect("it can be sent");
        let line = serde_json::to_string(&wire).expect("it makes JSON");
        let read: RequestWire = serde_json::from_str(&line).expect("it is read back");
        let read = Request::try_from(read).expect("it makes sense");
        assert_eq!(format!("{read:?}"), format!("{request:?}"), "{line}");
        wires.push(wire);
    }
    assert_every_variant!(
        &wires,
        RequestWire {
            Plain,
            Line,
            FromRun,
            Seen,
            RunExited,
            Beat,
            Keyed,
            Refused,
            Notified,
            WorkChecked,
            WorkMerged,
            WorkSaved,
            Stories,
        }
    );
    json_lines(wires)
}

fn question_lines() -> String {
    let file = |home, path: &str, content: &[u8]| Carried {
        task: task(),
        home,
        path: RelPath::parse(path).expect("a relative path"),
        content: content.into(),
    };
    let bare = Question {
        id: "mac/1-2".into(),
        node: node(),
        again: None,
        files: vec![],
        requests: vec![],
        settled: vec![],
        runs: None,
        to: To::Decider,
    };
    let full = Question {
        id: "mac/1-3".into(),
        node: node(),
        again: Some(Version(41)),
        files: vec![
            file(Home::Task, "outputs/summary.md", b"All done\n"),
            file(Home::Run, "run_result.json", b"\x89PNG\x00\xff"),
        ],
        requests: vec![Request::Beat { task: task(), fence: 3 }, Request::SessionEnd(None)],
        settled: vec![EffectId { event: adjutant_core::EventId(9), place: 1 }],
        runs: Some([(task(), 3)].into()),
        to: To::Itself,
    };
    let line = |question: Question| {
        let bytes = question.encode().expect("it can be sent");
        let read = Question::decode(&bytes).expect("it is read back");
        assert_eq!(format!("{read:?}"), format!("{question:?}"));
        String::from_utf8(bytes).expect("JSON is text") + "\n"
    };
    [bare, full].map(line).concat()
}

fn reply_lines() -> String {
    let done = |answers, runs| Reply::Done { version: Version(41), answers, runs };
    let replies = [
        done(vec![], [].into()),
        done(answers(), [(task(), 3)].into()),
        Reply::NotDeciding,
        Reply::Behind(Version(40)),
        Reply::Failed("no space left on device".into()),
    ];
    assert_every_variant!(&replies, Reply { Done, NotDeciding, Behind, Failed });
    let line = |reply: Reply| {
        let bytes = reply.encode();
        let read = Reply::decode(&bytes).expect("it is read back");
        assert_eq!(format!("{read:?}"), format!("{reply:?}"));
        String::from_utf8(bytes).expect("JSON is text") + "\n"
    };
    replies.map(line).concat()
}

/// The answers that travel with a commit.
fn kept_answers() -> String {
    let text = answers_to_text(&answers());
    assert_eq!(answers_from_text(&text), Ok(answers()));
    text + "\n"
}

fn announcements() -> String {
    let full = AgentPolicy {
        slots: 2,
        on_exit_ok: OnExitOk::NeedsReview,
        mode: Some("code".into()),
        role: Some("backend".into()),
        tags: vec!["rust".into()],
        budget: Budget { tokens: Some(1000), cost: Some(2_500_000) },
        budget_day: Budget { tokens: Some(9000), cost: Some(9_000_000) },
        settings: u64::MAX,
        checks: Some(vec!["make test".into()]),
        merge: Some(Merge::Squash),
        place: Place::Worktree,
    };
    let exits = [OnExitOk::NoReport, OnExitOk::NeedsReview, OnExitOk::Done];
    assert_every_variant!(&exits, OnExitOk { NoReport, NeedsReview, Done });
    let mut agents = BTreeMap::from([("full".to_owned(), AgentWire::from(&full))]);
    for on_exit_ok in exits {
        let agent = AgentPolicy { on_exit_ok, ..AgentPolicy::default() };
        agents.insert(format!("bare-{on_exit_ok:?}"), AgentWire::from(&agent));
    }
    let of_project = AgentWire::of(&AgentPolicy::default(), &Policy::default());
    agents.insert("of-project".into(), of_project);
    let info = |labels: &[&str], agents| NodeInfo {
        program: "0.1.0".into(),
        since: "2026-02-09T20:00:00.000Z".into(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        concurrency: 3,
        agents,
        version: 41,
        runs: 1,
    };
    json_lines([info(&[], BTreeMap::new()), info(&["gpu"], agents)])
}

/// The file that remembers what this folder had its node names under.
fn name_file() -> String {
    let root = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(root.path().join("journal")).expect("a folder");
    let holder = |name: &str, own: &str| {
        let node = adjutant_core::NodeId::parse(name).expect("a node name");
        Holder::new(root.path(), node, own.to_owned())
    };
    holder("desk", "4f3a").settle().expect("it is written");
    holder("mac", "91bc").settle().expect("it is written");
    holder("mac", "a7de").write_ahead().expect("it is written");
    fs::read_to_string(root.path().join("journal/name")).expect("its text")
}

#[test]
fn fleet_messages_match_golden_files() {
    let mut golden = GoldenFolder::new("fleet/nodes");
    golden.add("requests.jsonl", request_lines());
    golden.add("questions.jsonl", question_lines());
    golden.add("replies.jsonl", reply_lines());
    golden.add("kept-answers.json", kept_answers());
    golden.add("announcements.jsonl", announcements());
    let times = Times::new(Duration::from_secs(90), Duration::from_secs(15));
    golden.add("agreed-times.json", json_lines([times]));
    golden.add("name", name_file());
    golden.check();
}

#[test]
fn fleet_refusals_match_golden_files() {
    let differs = Unfit::Differs {
        setting: "heartbeat_ttl",
        own: Duration::from_secs(90),
        theirs: Duration::from_mins(1),
        nodes: "mac, mini".into(),
    };
    let all = [
        Unfit::NameTaken(node()),
        Unfit::Lingers(node()),
        differs,
        Unfit::Protocol { own: 1, theirs: 2, nodes: vec![] },
        Unfit::Store(adjutant_store::StoreError::Fenced),
    ];
    assert_every_variant!(&all, Unfit { NameTaken, Lingers, Differs, Protocol, Store });
    let mut golden = GoldenFolder::new("reasons/nodes");
    golden.add("join.txt", all.map(|unfit| format!("{unfit}\n")).concat());
    golden.check();
}
