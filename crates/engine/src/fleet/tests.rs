//! Golden files of what the nodes of a fleet send to each other and agree on.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use adjutant_model::merge_mode::MergeMode;
use adjutant_model::policy::{AgentPolicy, OnExitOk, Policy, WorkspaceKind};
use adjutant_model::relative_path::RelPath;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::usage::UsageBudget;
use adjutant_store::replicated_file::{ReplicatedFile, TaskFolderKind};
use adjutant_store::{EffectId, StoreVersion};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::golden_samples::requests::every_request;
use adjutant_testkit::golden_samples::{answers, json_lines, node, task};

use super::membership_agreement::{AgreedTimes, MembershipError};
use super::node_name_claims::NodeNameClaims;
use super::roster::{AgentWire, NodeInfo};
use crate::engine::node_request::{
    NodeReply, NodeRequest, RequestTarget, answers_from_text, answers_to_text,
};
use crate::engine::{EngineRequest, Request};

/// Every request a node sends to the leader. A tick is the leader's own.
fn request_lines() -> String {
    let mut sent = Vec::new();
    for request in every_request() {
        if let Request::Tick { .. } = request.request {
            assert!(serde_json::to_string(&request).is_err(), "a tick is never sent");
            continue;
        }
        let line = serde_json::to_string(&request).expect("it makes JSON");
        let read: EngineRequest = serde_json::from_str(&line).expect("it is read back");
        assert_eq!(read, request, "{line}");
        sent.push(request);
    }
    json_lines(sent)
}

fn question_lines() -> String {
    let file = |home, path: &str, content: &[u8]| ReplicatedFile {
        task: task(),
        home,
        path: RelPath::parse(path).expect("a relative path"),
        content: content.into(),
    };
    let bare = NodeRequest {
        id: "mac/1-2".into(),
        node: node(),
        seen_version: None,
        files: vec![],
        requests: vec![],
        settled: vec![],
        runs: None,
        target: RequestTarget::Leader,
    };
    let full = NodeRequest {
        id: "mac/1-3".into(),
        node: node(),
        seen_version: Some(StoreVersion(41)),
        files: vec![
            file(TaskFolderKind::Task, "outputs/summary.md", b"All done\n"),
            file(TaskFolderKind::Run, "run_result.json", b"\x89PNG\x00\xff"),
        ],
        requests: vec![
            Request::Beat { task: task(), fence: 3 }.into(),
            Request::SessionEnd(None).into(),
        ],
        settled: vec![EffectId { event: adjutant_model::EventId(9), place: 1 }],
        runs: Some([(task(), 3)].into()),
        target: RequestTarget::Receiver,
    };
    let line = |question: NodeRequest| {
        let bytes = question.encode().expect("it can be sent");
        let read = NodeRequest::decode(&bytes).expect("it is read back");
        assert_eq!(format!("{read:?}"), format!("{question:?}"));
        String::from_utf8(bytes).expect("JSON is text") + "\n"
    };
    [bare, full].map(line).concat()
}

fn reply_lines() -> String {
    let done = |answers, runs| NodeReply::Done { version: StoreVersion(41), answers, runs };
    let replies = [
        done(vec![], [].into()),
        done(answers(), [(task(), 3)].into()),
        NodeReply::NotLeader,
        NodeReply::SenderBehind(StoreVersion(40)),
        NodeReply::Failed("no space left on device".into()),
    ];
    assert_every_variant!(&replies, NodeReply { Done, NotLeader, SenderBehind, Failed });
    let line = |reply: NodeReply| {
        let bytes = reply.encode();
        let read = NodeReply::decode(&bytes).expect("it is read back");
        assert_eq!(format!("{read:?}"), format!("{reply:?}"));
        String::from_utf8(bytes).expect("JSON is text") + "\n"
    };
    replies.map(line).concat()
}

/// The answers stored with a commit.
fn kept_answers() -> String {
    let text = answers_to_text(&answers());
    assert_eq!(answers_from_text(&text).expect("it is read back"), answers());
    text + "\n"
}

fn announcements() -> String {
    let full = AgentPolicy {
        slots: 2,
        on_exit_ok: OnExitOk::NeedsReview,
        mode: Some("code".into()),
        role: Some("backend".into()),
        tags: vec!["rust".into()],
        budget: UsageBudget { tokens: Some(1000), cost: Some(2_500_000) },
        budget_day: UsageBudget { tokens: Some(9000), cost: Some(9_000_000) },
        settings: u64::MAX,
        checks: Some(vec!["make test".into()]),
        merge: Some(MergeMode::Squash),
        place: WorkspaceKind::Worktree,
        sandbox: SandboxLevel::Landlock,
        step_sandbox: SandboxLevel::None,
        tasks_max: 7,
        program_problem: Some("there is no program swe in PATH".into()),
    };
    let exits = [OnExitOk::NoReport, OnExitOk::NeedsReview, OnExitOk::Done];
    assert_every_variant!(&exits, OnExitOk { NoReport, NeedsReview, Done });
    let mut agents = BTreeMap::from([("full".to_owned(), AgentWire::from(&full))]);
    for on_exit_ok in exits {
        let agent = AgentPolicy { on_exit_ok, ..AgentPolicy::default() };
        agents.insert(format!("bare-{on_exit_ok:?}"), AgentWire::from(&agent));
    }
    let of_project = AgentWire::with_project_settings(&AgentPolicy::default(), &Policy::default());
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

/// The file with the tokens under which this folder claimed node names.
fn name_file() -> String {
    let root = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(root.path().join("journal")).expect("a folder");
    let holder = |name: &str, own: &str| {
        let node = adjutant_model::NodeId::parse(name).expect("a node name");
        NodeNameClaims::new(root.path(), node, own.to_owned())
    };
    holder("desk", "4f3a").record_owned().expect("it is written");
    holder("mac", "91bc").record_owned().expect("it is written");
    holder("mac", "a7de").record_intent().expect("it is written");
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
    let times = AgreedTimes::new(Duration::from_secs(90), Duration::from_secs(15));
    golden.add("agreed-times.json", json_lines([times]));
    golden.add("name", name_file());
    golden.check();
}

#[test]
fn fleet_refusals_match_golden_files() {
    let differs = MembershipError::TimesDiffer {
        setting: "heartbeat_ttl",
        own: Duration::from_secs(90),
        theirs: Duration::from_mins(1),
        nodes: "mac, mini".into(),
    };
    let all = [
        MembershipError::NameTaken(node()),
        MembershipError::NameStillInUse(node()),
        differs,
        MembershipError::Protocol { own: 1, theirs: 2, nodes: vec![] },
        MembershipError::Store(adjutant_store::StoreError::Fenced),
    ];
    assert_every_variant!(
        &all,
        MembershipError { NameTaken, NameStillInUse, TimesDiffer, Protocol, Store }
    );
    let mut golden = GoldenFolder::new("reasons/nodes");
    golden.add("join.txt", all.map(|unfit| format!("{unfit}\n")).concat());
    golden.check();
}
