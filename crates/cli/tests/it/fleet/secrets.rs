//! The password of a fleet is sent to its servers and shown nowhere.

use adjutant_testkit::cluster::NatsCluster;

use crate::fleet::node::{Node, prefix, until, until_or};

/// A password with every character that has a meaning in an address.
const PASSWORD: &str = "hunter2,@:/%";
/// The password as it is escaped in an address.
const WRITTEN: &str = "hunter2%2C%40%3A%2F%25";

#[test]
fn password_is_in_no_log_event_or_answer() {
    let told = format!("authorization {{ user: crew, password: {PASSWORD:?} }}\n");
    let (mut server, prefix) = (NatsCluster::start_single(&told), prefix("secret"));
    let address = server.address().replace("fleet:fleet@", &format!("crew:{WRITTEN}@"));
    let settings = "durability = \"relaxed\"\n[log]\nlevel = \"debug\"\nformat = \"text\"\n";
    let mut node = Node::new("a", &address, &prefix, settings);
    node.up();
    let decides = |node: &Node| {
        node.tries(&["fleet", "status", "--json"]).is_ok_and(|text| text.contains("\"a\""))
    };
    until_or("it is let in", || decides(&node), || node.said());
    node.does(&["task", "add", "One", "--status", "ready"]);
    // Lost connections and reconnects produce most of the log.
    server.kill_server(0);
    let gone = node.tries(&["fleet", "status"]).expect_err("nobody answers");
    let sick = node.finds();
    server.restart_server(0);
    until("it is back", || node.tries(&["task", "add", "Two"]).is_ok());
    let file = node.home().join("project.tar");
    let exported = node.told(&["export", file.to_str().expect("a path")]);
    assert!(exported.contains("1 secret was redacted in adjutant.toml"), "{exported}");
    let said = [
        node.told(&["fleet", "status"]),
        node.told(&["doctor"]),
        node.told(&["status"]),
        format!("{:?}", node.events()),
        format!("{gone}{sick}{exported}"),
    ];
    node.down();
    let all = format!("{}{}", said.concat(), node.said());
    assert!(node.said().contains("task.created"), "the log is there: {}", node.said());
    assert!(!all.contains("hunter2"), "{all}");
}

#[test]
fn invalid_store_address_is_not_repeated() {
    let node = Node::new("a", "redis://me:hunter2@one:4222", "p", "");
    let words = node.tries(&["task", "add", "One"]).expect_err("it is no store of ours");
    assert!(words.contains("it must begin with nats:// or tls://"), "{words}");
    assert!(!words.contains("hunter2") && !node.finds().contains("hunter2"), "{words}");
    node.share("nats://me:hunter2,x@one:4222", "p", "");
    let words = node.tries(&["task", "add", "One"]).expect_err("a comma ends an address");
    assert!(words.contains("write a comma in a password as %2C"), "{words}");
    assert!(!words.contains("hunter2"), "{words}");
}
