//! The keys of a node are its own: the join archive has none of them, and joining leaves them
//! alone.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::nats_admin::NatsAdmin;

use crate::fleet::node::{Node, prefix, until};

/// Private files beside `adjutant.toml`.
const KEYS: [&str; 6] =
    ["nats.nk", "node.creds", "client.key", "client.pem", "ca.pem", "hooks/slack.url"];

/// Puts keys into the data folder, readable only by the owner.
fn keep_keys(node: &Node) {
    for key in KEYS {
        let path = node.data().join(key);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, format!("the {key} of {}", node.name)).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("it is ours");
    }
}

fn keys(node: &Node) -> Vec<(String, u32)> {
    let key = |key: &&str| {
        let path = node.data().join(key);
        let text = fs::read_to_string(&path).unwrap_or_default();
        (text, path.metadata().map_or(0, |metadata| metadata.mode() & 0o777))
    };
    KEYS.iter().map(key).collect()
}

#[test]
fn node_joining_by_archive_keeps_its_keys_and_gets_no_others() {
    let (shared, prefix) = (SharedCluster::join(), prefix("keys"));
    let mut a = Node::bare("a");
    a.does(&["init", "."]);
    a.does(&["task", "add", "Before there was a fleet"]);
    keep_keys(&a);
    // These servers never had the first commits, so a node joins by the archive.
    a.share(&shared.address(), &prefix, "");
    a.does(&["fleet", "restore"]);
    let mut b = Node::new("b", &shared.address(), &prefix, "");
    keep_keys(&b);
    fs::write(b.data().join("operator-token"), "mine").expect("a file");
    let before = keys(&b);
    a.up();
    b.up();
    until("both have the same record", || !a.events().is_empty() && a.events() == b.events());
    a.down();
    b.down();
    assert_eq!(keys(&b), before, "its own, as they were");
    let token = fs::read_to_string(b.data().join("operator-token"));
    assert_eq!(token.expect("it is there"), "mine");
    let objects =
        NatsAdmin::connect_when_ready(&shared.address()).messages(&format!("OBJ_{prefix}_objects"));
    let kept: Vec<u8> = objects.into_iter().flat_map(|(_, bytes)| bytes).collect();
    let has = |text: &str| kept.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(has("Before there was a fleet"), "the copy is there");
    for key in KEYS {
        assert!(!has(&format!("the {key} of")), "{key} is in the copy");
    }
    assert!(!has("fleet:fleet@"), "and so is no password");
}
