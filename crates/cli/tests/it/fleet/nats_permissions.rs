//! The minimal NATS permissions in the manual: a node can do everything with them, and its user
//! without the key of the node can do no harm.

use adjutant_testkit::cluster::NatsCluster;
use adjutant_testkit::fleet_keys::node_key;
use adjutant_testkit::nats_admin::NatsAdmin;
use serde_json::Value;

use crate::fleet::documented_setup::{node_users, sample};
use crate::fleet::node::{Node, until, until_or};

/// An agent that prints a line, and leaves a file that does not fit into one message.
const AGENT: &str = r#"
[agents.writer]
kind = "command"
sandbox = "none"
command = ["sh", "-c", """
outputs="$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID/outputs"
mkdir -p "$outputs" && head -c 2000000 /dev/urandom >"$outputs/picture.bin"
echo "It is printed."
adjutant report done"""]
"#;

#[test]
fn node_needs_only_documented_nats_permissions() {
    let cluster = NatsCluster::with_users(&node_users(&sample("server_name")));
    let address = cluster.address().replace("fleet:fleet@", "");
    let login = |node: &Node| {
        let user = node_key(&format!("nats of {}", node.name));
        node.write_key("nats.nk", user.seed());
    };
    // The node uses the prefix of the manual, so that its text is used unchanged.
    let mut a = Node::bare("desk");
    a.does(&["init", "."]);
    a.does(&["task", "add", "Before there was a fleet"]);
    a.share(&address, "adjutant", &format!("nkey = \"nats.nk\"\n{AGENT}"));
    login(&a);
    // A join archive is made, and another node joins by it.
    a.does(&["fleet", "restore"]);
    let mut b = Node::new("laptop", &address, "adjutant", "nkey = \"nats.nk\"\n");
    login(&b);
    a.up();
    b.up();
    let denied = || -> String { (0..3).map(|server| denials(&cluster, server)).collect() };
    let status = || b.tries(&["fleet", "status", "--json"]).unwrap_or_default();
    until_or("both are there", || status().contains("\"node\":\"laptop\""), denied);
    let task = b.does(&["task", "add", "One", "--status", "ready", "--agent", "writer"]);
    let id = task["id"].as_str().expect("an id").to_owned();
    until_or("it is done", || b.count("review") == 1, denied);
    let printed = || b.tries(&["logs", &id]).unwrap_or_default();
    until_or("what it printed is shown", || printed().contains("It is printed."), denied);
    let picture = b.data().join(format!("tasks/review/{id}/outputs/picture.bin"));
    until("what it left is here", || picture.metadata().is_ok_and(|file| file.len() == 2_000_000));
    assert_eq!(b.does(&["doctor"])["ok"], true);
    a.down();
    // The leader gave its lease back, and the other node takes it.
    until("another decides", || b.does(&["fleet", "status"])["decider"] == "laptop");
    assert_eq!(denied(), "", "nothing was tried that the manual does not name");

    // A client has the user of one node, and the key of none.
    let mut client = NatsAdmin::connect_as(&address, node_key("nats of desk").seed());
    client.send("adjutant.ask.laptop", b"{\"id\":\"desk/1\",\"node\":\"desk\",\"requests\":[]}");
    let is_refusal = |event: &Value| event["payload"]["reason"] == "foreign_node";
    until_or("it is refused", || b.events().iter().any(is_refusal), || b.said());
    for line in [
        "PUB adjutant.nodes.laptop 0\r\n",
        "PUB $JS.API.STREAM.DELETE.adjutant_commits 0\r\n",
        "PUB $JS.API.STREAM.UPDATE.adjutant_commits 0\r\n",
        "PUB $JS.API.STREAM.MSG.DELETE.adjutant_commits 0\r\n",
        "PUB _INBOX.laptop.x 0\r\n",
        "PUB other.commits 0\r\n",
        "SUB adjutant.ask.laptop 7",
        "SUB _INBOX.laptop.> 8",
        "SUB > 9",
    ] {
        let complaints = client.complaints(line);
        let is_denied = |text: &String| text.contains("Permissions Violation");
        assert!(complaints.iter().any(is_denied), "{line}: {complaints:?}");
    }
    b.down();
}

/// Returns the permission violations in a server's log.
fn denials(cluster: &NatsCluster, server: usize) -> String {
    let said = cluster.server_log(server);
    let denied = said.lines().filter(|line| line.contains("Violation"));
    denied.flat_map(|line| [line, "\n"]).collect()
}
