//! Five nodes with real daemons: how quickly work is given out over all of them, and how soon
//! another decides when the one that did is killed.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use adjutant_core::command::{Caller, NewTask, Start};
use adjutant_core::{Actor, AgentId, Command as Wish, Verdict};
use adjutant_runtime::Request;
use adjutant_runtime::door::Guest;
use serde_json::Value;
use tempfile::TempDir;

use crate::commands::adjutant;
use crate::pairs;
use crate::report::Report;
use crate::throughput::times;

const NODES: usize = 5;
/// How many runs a node may have at once.
const SLOTS: usize = 4;

/// A machine of a fleet.
struct Node {
    name: String,
    home: TempDir,
    daemon: Option<Child>,
}

/// Measures how many tasks a second five nodes get through whose agents do nothing, and how many
/// of them are given out while there is room.
pub(super) fn claims(report: &mut Report, address: &str, tasks: usize) {
    let floor = pairs::rate(report, tasks, NODES * SLOTS);
    let nodes = fleet(address, "claims");
    add(&nodes[0], tasks);
    let root = nodes[0].data();
    until(|| times(&root, "run.exited").len() == tasks);
    let (started, exited) = (times(&root, "run.started"), times(&root, "run.exited"));
    let first = started.first().copied().unwrap_or_default();
    let rate = |times: &[Duration]| {
        let took = times.last().copied().unwrap_or_default().saturating_sub(first);
        times.len() as f64 / took.as_secs_f64()
    };
    let claimed = format!("{:.0}/s", rate(&started));
    report.add("claims over five nodes", claimed, String::new(), String::new(), "");
    let through = rate(&exited);
    let (floor_text, ratio) =
        (format!("{floor:.0}/s (pairs of processes)"), format!("{:.2}", through / floor));
    let what = "tasks through a no-op agent, five nodes";
    report.add(what, format!("{through:.0}/s"), floor_text, ratio, "");
}

/// Measures how long it takes from the death of the node that decides until another node has
/// accepted something.
pub(super) fn failover(report: &mut Report, address: &str, rounds: usize) {
    let mut nodes = fleet(address, "failover");
    let mut took: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        let decider = nodes[0].decider().expect("somebody decides");
        let (gone, there): (Vec<&mut Node>, Vec<&mut Node>) =
            nodes.iter_mut().partition(|node| node.name == decider);
        let dead = gone.into_iter().next().expect("it is one of them");
        let asked = there.into_iter().next().expect("there are others");
        dead.kill();
        let start = Instant::now();
        until(|| submit(asked, &[new_task("after")]));
        took.push(start.elapsed());
        dead.up();
        until(|| dead.decider().is_some());
    }
    took.sort_unstable();
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let (median, most) = (took[took.len() / 2], took[took.len() - 1]);
    let what = format!("decider killed until another has accepted, {rounds} times, term 6 s");
    let value = format!("{}, at most {}", seconds(median), seconds(most));
    report.add(&what, value, String::new(), String::new(), "");
}

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts five nodes, and waits until all of them are there.
fn fleet(address: &str, prefix: &str) -> Vec<Node> {
    let mut nodes: Vec<Node> =
        (0..NODES).map(|number| Node::new(number, address, prefix)).collect();
    nodes.iter_mut().for_each(Node::up);
    until(|| nodes.iter().all(|node| node.sees() == NODES));
    nodes
}

fn add(node: &Node, tasks: usize) {
    let requests: Vec<Request> = (0..tasks).map(|n| new_task(&format!("task {n}"))).collect();
    // Small groups: what a person does is not one commit.
    for some in requests.chunks(20) {
        assert!(submit(node, some), "tasks can be made");
    }
}

fn submit(node: &Node, requests: &[Request]) -> bool {
    let answered = Guest::enter(&node.data()).map(|mut guest| guest.ask(requests));
    let is_done = |verdict: Verdict| verdict == Verdict::Applied;
    matches!(answered, Some(Ok(all)) if all.iter().all(|one| is_done(one.answer.verdict)))
}

fn new_task(title: &str) -> Request {
    let mut task = NewTask::default();
    (task.title, task.start) = (title.to_owned(), Start::Ready);
    task.routing.agent = Some(AgentId::parse("swe").expect("a good name"));
    let by = Caller::Operator(Actor::human("bench"));
    Request::Command { by, command: Wish::Add(Box::new(task)) }
}

impl Node {
    fn new(number: usize, address: &str, prefix: &str) -> Self {
        let home = tempfile::Builder::new().prefix("adjutant-node-").tempdir().expect("a folder");
        let node = Self { name: format!("n{number}"), home, daemon: None };
        node.run(&["init", "."]);
        let settings = format!(
            "store = {address:?}\n[nats]\nnode = {:?}\nprefix = {prefix:?}\n\
             [scheduler]\nconcurrency = {SLOTS}\n\
             [agents.swe]\nkind = \"command\"\ncommand = [\"true\"]\nslots = {SLOTS}\n\
             on_exit_ok = \"done\"\n",
            node.name
        );
        fs::write(node.data().join("adjutant.toml"), settings).expect("settings");
        node
    }

    fn data(&self) -> PathBuf {
        self.home.path().join(".adjutant")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(adjutant());
        command.args(arguments).current_dir(self.home.path()).stderr(Stdio::null());
        // It names the servers of tests, and is no setting.
        command.env_remove("ADJUTANT_NATS_SERVER");
        command
    }

    fn run(&self, arguments: &[&str]) -> Vec<u8> {
        self.command(arguments).output().expect("it runs").stdout
    }

    fn up(&mut self) {
        let mut command = self.command(&["up", "--listen", "off"]);
        self.daemon = Some(command.stdout(Stdio::null()).spawn().expect("a daemon"));
    }

    fn status(&self) -> Value {
        serde_json::from_slice(&self.run(&["fleet", "status", "--json"])).unwrap_or_default()
    }

    fn decider(&self) -> Option<String> {
        self.status()["decider"].as_str().map(str::to_owned)
    }

    /// Returns how many nodes there are, as this one sees it, once somebody decides.
    fn sees(&self) -> usize {
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

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}
