//! Three servers and a node that are told what the manual says, word by word.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;

use adjutant_testkit::cluster::Cluster;

use crate::fleet::locked::certificates;
use crate::fleet::node::{Node, until_or};

/// What the servers of the manual are called.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// Returns a sample of the manual: the one in which this stands.
fn sample(has: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let text = fs::read_to_string(page).expect("the manual");
    let found = text.split("```").skip(1).step_by(2).find(|sample| sample.contains(has));
    // The first line of a sample says what language it is in.
    found.and_then(|sample| sample.split_once('\n')).expect("the sample").1.to_owned()
}

/// Puts loopback in the place of the machines of the manual, and a word in that of a password.
fn here(text: &str, clients: &[u16], routes: &[u16]) -> String {
    let mut text = text.replace('…', "secret");
    for (name, (client, route)) in NAMES.iter().zip(clients.iter().zip(routes)) {
        text = text.replace(&format!("{name}:4222"), &format!("127.0.0.1:{client}"));
        text = text.replace(&format!("{name}:6222"), &format!("127.0.0.1:{route}"));
    }
    text
}

/// Returns what one of the servers is told.
fn server(keys: &Path, number: usize, clients: &[u16], routes: &[u16]) -> String {
    let file = |name: &str| keys.join(name).display().to_string();
    here(&sample("server_name"), clients, routes)
        .replace("server_name: one", &format!("server_name: {}", NAMES[number]))
        .replace("0.0.0.0:4222", &format!("127.0.0.1:{}", clients[number]))
        .replace("0.0.0.0:6222", &format!("127.0.0.1:{}", routes[number]))
        .replace("/etc/nats/one.pem", &file("server.pem"))
        .replace("/etc/nats/one.key", &file("server.key"))
        .replace("/etc/nats/ca.pem", &file("ca.pem"))
        .replace("/var/lib/nats", &format!("d{number}"))
}

#[test]
fn servers_and_nodes_that_are_told_what_it_says_are_a_fleet() {
    let keys = tempfile::tempdir().expect("a folder");
    certificates(keys.path());
    let (tell, told) = std::sync::mpsc::channel();
    let cluster = Cluster::told(|number, clients, routes| {
        tell.send((clients.to_vec(), routes.to_vec())).expect("somebody listens");
        server(keys.path(), number, clients, routes)
    });
    let (clients, routes) = told.recv().expect("the ports");
    let settings = here(&sample("store = "), &clients, &routes);
    let node = |name: &str| {
        let node = Node::bare(name);
        node.does(&["init", "."]);
        node.settle(&settings.replace("\"desk\"", &format!("{name:?}")));
        fs::copy(keys.path().join("ca.pem"), node.data().join("ca.pem")).expect("copied");
        node
    };
    let (mut desk, mut laptop) = (node("desk"), node("laptop"));
    desk.up();
    laptop.up();
    let stand = || (0..3).map(|number| cluster.said(number)).collect::<String>() + &desk.said();
    let status = || desk.tries(&["fleet", "status", "--json"]).unwrap_or_default();
    until_or("both are there", || status().contains("\"node\":\"laptop\""), stand);
    let task = laptop.does(&["task", "add", "By the manual"]);
    until_or("it is here", || desk.count("backlog") == 1, stand);
    assert_eq!(desk.does(&["task", "list"])[0]["id"], task["id"]);
    assert_eq!(desk.does(&["doctor"])["ok"], true);
    // Nobody speaks with a server without TLS and a password, and as another server not even that.
    for port in clients {
        let said = first_line(port);
        assert!(said.contains("\"tls_required\":true"), "{port}: {said}");
        assert!(said.contains("\"auth_required\":true"), "{port}: {said}");
    }
    assert_eq!(first_line(routes[0]), "");
}

/// Returns what a server says before it is told anything; nothing, if it waits for TLS in vain.
fn first_line(port: u16) -> String {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let mut first = String::new();
    BufReader::new(stream).read_line(&mut first).expect("it says something, or goes");
    first
}
