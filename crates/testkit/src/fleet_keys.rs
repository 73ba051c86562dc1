//! The keys of the nodes in tests. The key of a name is always the same, and every node of a test
//! accepts all names.

use adjutant_model::NodeId;
use adjutant_replication::nats::{AcceptedKeys, FleetOptions, NodeKey, NodeSigner};
use nkeys::{KeyPair, KeyPairType};

/// The node names that tests use, besides `n0`, `node-0` and the like.
const NAMES: [&str; 31] = [
    "a", "ahead", "alone", "b", "behind", "bench", "c", "cold", "d", "decides", "desk", "dies",
    "heir", "lamp", "laptop", "large", "late", "leaves", "left", "mac", "n", "new", "others",
    "plain", "right", "small", "stays", "third", "warm", "with-gpu", "wrong",
];

/// How many numbered nodes there may be.
const NUMBERED: usize = 10;

/// Returns the key of a node.
pub fn node_key(name: &str) -> NodeKey {
    let mut bytes = [7; 32];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes()) {
        *byte ^= letter;
    }
    let pair = KeyPair::new_from_raw(KeyPairType::User, bytes).expect("any bytes make a key");
    NodeKey::parse(&pair.seed().expect("a seed")).expect("a user's seed")
}

/// Returns the line of a node in `accepted_keys`.
pub fn accepted_line(name: &str) -> String {
    format!("{name} {}", node_key(name).public())
}

/// Returns the lines of all nodes in `accepted_keys`.
pub fn accepted_lines() -> Vec<String> {
    let numbered =
        (0..NUMBERED).flat_map(|number| [format!("n{number}"), format!("node-{number}")]);
    NAMES.map(str::to_owned).into_iter().chain(numbered).map(|name| accepted_line(&name)).collect()
}

/// Returns what a node of this name signs with, and whom it accepts.
pub fn signer(name: &str) -> NodeSigner {
    let accepted = AcceptedKeys::parse(&accepted_lines()).expect("good lines");
    let node = NodeId::parse(name).expect("a good name");
    NodeSigner::new(node, node_key(name), accepted).expect("it is one of the names")
}

/// Returns options for servers at an address, with the key of a node.
pub fn fleet_options(address: &str, name: &str) -> FleetOptions {
    let options = FleetOptions::parse(address).expect("a good address");
    FleetOptions { signer: Some(signer(name)), ..options }
}
