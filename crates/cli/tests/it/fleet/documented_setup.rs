//! Three servers and two nodes, configured exactly as the manual says.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;

use adjutant_testkit::cluster::NatsCluster;
use adjutant_testkit::fleet_keys::{accepted_line, node_key};

use crate::fleet::node::{Node, until_or};
use crate::fleet::tls_credentials::certificates;

/// The host names of the servers in the manual.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// Returns the sample of the manual that contains `has`.
pub(crate) fn sample(has: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let text = fs::read_to_string(page).expect("the manual");
    let found = text.split("```").skip(1).step_by(2).find(|sample| sample.contains(has));
    // The first line of a sample names its language.
    found.and_then(|sample| sample.split_once('\n')).expect("the sample").1.to_owned()
}

/// Replaces the manual's machines by loopback addresses, and its password by a word.
fn here(text: &str, clients: &[u16], routes: &[u16]) -> String {
    let mut text = text
        .replace("desk UBCDEFGH…", &accepted_line("desk"))
        .replace("laptop UDEFGHIJ…", &accepted_line("laptop"))
        .replace('…', "secret");
    for (name, (client, route)) in NAMES.iter().zip(clients.iter().zip(routes)) {
        text = text.replace(&format!("{name}:4222"), &format!("127.0.0.1:{client}"));
        text = text.replace(&format!("{name}:6222"), &format!("127.0.0.1:{route}"));
    }
    text
}

/// Returns where the users of a server's configuration are.
fn users_range(sample: &str) -> (usize, usize) {
    let begin = sample.find("users: [").expect("the users") + "users: [".len();
    let end = begin + sample[begin..].find("\n    ]\n").expect("the end of the users");
    (begin, end)
}

/// Returns the users of both nodes: that of the manual, and the same for the other node.
pub(crate) fn node_users(sample: &str) -> String {
    let (begin, end) = users_range(sample);
    let of = |name: &str| {
        let key = node_key(&format!("nats of {name}")).public().to_string();
        sample[begin..end].replace("UCDEFGHI…", &key).replace("desk", name)
    };
    format!("{}\n{}", of("desk"), of("laptop"))
}

/// Returns the configuration of one of the servers.
fn server(keys: &Path, number: usize, clients: &[u16], routes: &[u16]) -> String {
    let file = |name: &str| keys.join(name).display().to_string();
    let sample = sample("server_name");
    let (begin, end) = users_range(&sample);
    let sample = [&sample[..begin], &node_users(&sample), &sample[end..]].concat();
    here(&sample, clients, routes)
        .replace("server_name: one", &format!("server_name: {}", NAMES[number]))
        .replace("0.0.0.0:4222", &format!("127.0.0.1:{}", clients[number]))
        .replace("0.0.0.0:6222", &format!("127.0.0.1:{}", routes[number]))
        .replace("/etc/nats/one.pem", &file("server.pem"))
        .replace("/etc/nats/one.key", &file("server.key"))
        .replace("/etc/nats/ca.pem", &file("ca.pem"))
        .replace("/var/lib/nats", &format!("d{number}"))
}

#[test]
fn manual_samples_make_working_fleet() {
    let keys = tempfile::tempdir().expect("a folder");
    certificates(keys.path());
    let (tell, told) = std::sync::mpsc::channel();
    let cluster = NatsCluster::with_config(|number, clients, routes| {
        tell.send((clients.to_vec(), routes.to_vec())).expect("the test listens");
        server(keys.path(), number, clients, routes)
    });
    let (clients, routes) = told.recv().expect("the ports");
    let settings = here(&sample("store = "), &clients, &routes);
    let node = |name: &str| {
        let node = Node::bare(name);
        node.does(&["init", "."]);
        node.settle(&settings.replace("node = \"desk\"", &format!("node = {name:?}")));
        fs::copy(keys.path().join("ca.pem"), node.data().join("ca.pem")).expect("copied");
        node.keep_key();
        node.write_key("nats.nk", node_key(&format!("nats of {name}")).seed());
        node
    };
    let (mut desk, mut laptop) = (node("desk"), node("laptop"));
    desk.up();
    laptop.up();
    let stand =
        || (0..3).map(|number| cluster.server_log(number)).collect::<String>() + &desk.said();
    let status = || desk.tries(&["fleet", "status", "--json"]).unwrap_or_default();
    until_or("both are there", || status().contains("\"node\":\"laptop\""), stand);
    let task = laptop.does(&["task", "add", "By the manual"]);
    until_or("it is here", || desk.count("backlog") == 1, stand);
    assert_eq!(desk.does(&["task", "list"])[0]["id"], task["id"]);
    assert_eq!(desk.does(&["doctor"])["ok"], true);
    // Clients need TLS and a password. Routes do not even greet a connection without TLS.
    for port in clients {
        let said = first_line(port);
        assert!(said.contains("\"tls_required\":true"), "{port}: {said}");
        assert!(said.contains("\"auth_required\":true"), "{port}: {said}");
    }
    assert_eq!(first_line(routes[0]), "");
}

/// Returns the greeting of a server; it is empty if the server waits for TLS and then closes.
fn first_line(port: u16) -> String {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let mut first = String::new();
    BufReader::new(stream).read_line(&mut first).expect("it says something, or goes");
    first
}
