//! Measures five nodes with real daemons: how fast they assign work, and how soon a new leader
//! accepts a command after the leader is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use adjutant_engine::EngineRequest;
use adjutant_engine::ipc::IpcClient;
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask};
use adjutant_model::{Actor, AgentId, AnswerVerdict, Command as Wish};
use adjutant_replication::nats::NodeKey;
use serde_json::Value;
use tempfile::TempDir;

use crate::commands::adjutant_program;
use crate::process_pairs;
use crate::report::BenchReport;
use crate::throughput::event_times;

const NODES: usize = 5;
/// The number of runs a node may have at once.
const SLOTS: usize = 4;

struct BenchNode {
    name: String,
    home: TempDir,
    daemon: Option<Child>,
}

/// Measures how many tasks per second five nodes finish with agents that do nothing, and how many
/// are assigned while slots are free.
pub(super) fn measure_claims(report: &mut BenchReport, address: &str, tasks: usize) {
    let floor = process_pairs::measure_pair_rate(report, tasks, NODES * SLOTS);
    let nodes = start_fleet(address, "claims");
    add_tasks(&nodes[0], tasks);
    let root = nodes[0].data_folder();
    wait_until(|| event_times(&root, "run.exited").len() == tasks);
    let (started, exited) = (event_times(&root, "run.started"), event_times(&root, "run.exited"));
    let first = started.first().copied().unwrap_or_default();
    let rate = |times: &[Duration]| {
        let took = times.last().copied().unwrap_or_default().saturating_sub(first);
        times.len() as f64 / took.as_secs_f64()
    };
    let claimed = format!("{:.0}/s", rate(&started));
    report.add_row("claims over five nodes", claimed, String::new(), String::new(), "");
    let through = rate(&exited);
    let (floor_text, ratio) =
        (format!("{floor:.0}/s (pairs of processes)"), format!("{:.2}", through / floor));
    let what = "tasks through a no-op agent, five nodes";
    report.add_row(what, format!("{through:.0}/s"), floor_text, ratio, "");
}

/// Measures the time from the death of the leader until another node has accepted a command.
pub(super) fn measure_failover(report: &mut BenchReport, address: &str, rounds: usize) {
    let mut nodes = start_fleet(address, "failover");
    let mut took: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        let decider = nodes[0].leader().expect("there is a leader");
        let (gone, there): (Vec<&mut BenchNode>, Vec<&mut BenchNode>) =
            nodes.iter_mut().partition(|node| node.name == decider);
        let dead = gone.into_iter().next().expect("it is one of them");
        let asked = there.into_iter().next().expect("there are others");
        dead.kill();
        let start = Instant::now();
        wait_until(|| submit(asked, &[new_task("after")]));
        took.push(start.elapsed());
        dead.start_daemon();
        wait_until(|| dead.leader().is_some());
    }
    took.sort_unstable();
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let (median, most) = (took[took.len() / 2], took[took.len() - 1]);
    let what = format!("decider killed until another has accepted, {rounds} times, term 6 s");
    let value = format!("{}, at most {}", seconds(median), seconds(most));
    report.add_row(&what, value, String::new(), String::new(), "");
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts five nodes and waits until each of them sees all five.
fn start_fleet(address: &str, prefix: &str) -> Vec<BenchNode> {
    let keys: Vec<NodeKey> = (0..NODES).map(|_| NodeKey::generate()).collect();
    let line = |(number, key): (usize, &NodeKey)| format!("n{number} {}", key.public());
    let accepted: Vec<String> = keys.iter().enumerate().map(line).collect();
    let node = |(number, key)| BenchNode::new(number, key, &accepted, address, prefix);
    let mut nodes: Vec<BenchNode> = keys.iter().enumerate().map(node).collect();
    nodes.iter_mut().for_each(BenchNode::start_daemon);
    wait_until(|| nodes.iter().all(|node| node.visible_nodes() == NODES));
    nodes
}

fn add_tasks(node: &BenchNode, tasks: usize) {
    let requests: Vec<EngineRequest> = (0..tasks).map(|n| new_task(&format!("task {n}"))).collect();
    // Small groups, because an operator's commands do not arrive as one commit.
    for some in requests.chunks(20) {
        assert!(submit(node, some), "tasks can be made");
    }
}

fn submit(node: &BenchNode, requests: &[EngineRequest]) -> bool {
    let answered = IpcClient::connect(&node.data_folder()).map(|mut client| client.ask(requests));
    let is_done = |verdict: AnswerVerdict| verdict == AnswerVerdict::Applied;
    matches!(answered, Some(Ok(all)) if all.iter().all(|one| is_done(one.answer.verdict)))
}

fn new_task(title: &str) -> EngineRequest {
    let mut task = NewTask::default();
    (task.title, task.start) = (title.to_owned(), InitialStatus::Ready);
    task.routing.agent = Some(AgentId::parse("swe").expect("a good name"));
    let by = CommandCaller::Operator(Actor::human("bench"));
    EngineRequest::command(by, Wish::Add(Box::new(task)))
}

impl BenchNode {
    fn new(number: usize, key: &NodeKey, accepted: &[String], address: &str, prefix: &str) -> Self {
        let home = tempfile::Builder::new().prefix("adjutant-node-").tempdir().expect("a folder");
        let node = Self { name: format!("n{number}"), home, daemon: None };
        node.run_command(&["init", "."]);
        let settings = format!(
            "store = {address:?}\n[nats]\nnode = {:?}\nprefix = {prefix:?}\n\
             accepted_keys = {accepted:?}\n\
             [scheduler]\nconcurrency = {SLOTS}\n\
             [agents.swe]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"true\"]\nslots = {SLOTS}\n\
             on_exit_ok = \"done\"\n",
            node.name
        );
        fs::write(node.data_folder().join("adjutant.toml"), settings).expect("settings");
        let file = node.data_folder().join("node-key");
        fs::write(&file, key.seed()).expect("a key");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
        node
    }

    fn data_folder(&self) -> PathBuf {
        self.home.path().join(".adjutant")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(adjutant_program());
        command.args(arguments).current_dir(self.home.path()).stderr(Stdio::null());
        // This variable names the servers of tests and is not a setting.
        command.env_remove("ADJUTANT_NATS_SERVER");
        command
    }

    fn run_command(&self, arguments: &[&str]) -> Vec<u8> {
        self.command(arguments).output().expect("it runs").stdout
    }

    fn start_daemon(&mut self) {
        let mut command = self.command(&["up", "--listen", "off"]);
        self.daemon = Some(command.stdout(Stdio::null()).spawn().expect("a daemon"));
    }

    fn status(&self) -> Value {
        serde_json::from_slice(&self.run_command(&["fleet", "status", "--json"]))
            .unwrap_or_default()
    }

    fn leader(&self) -> Option<String> {
        self.status()["decider"].as_str().map(str::to_owned)
    }

    /// Returns the number of nodes this node sees, or 0 while there is no leader.
    fn visible_nodes(&self) -> usize {
        let status = self.status();
        let nodes = status["nodes"].as_array().map_or(0, Vec::len);
        if status["decider"].is_string() { nodes } else { 0 }
    }

    fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl Drop for BenchNode {
    fn drop(&mut self) {
        self.kill();
    }
}
