//! Servers that speak only TLS, ask for a client certificate, and require credentials.

use std::fs;
use std::path::Path;
use std::process::Command;

use adjutant_testkit::cluster::NatsCluster;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::fleet::node::{Node, prefix, until};

/// The settings a node needs to connect.
const KEYS: [&str; 4] = [
    "ca = \"ca.pem\"\n",
    "cert = \"client.pem\"\n",
    "key = \"client.key\"\n",
    "credentials = \"node.creds\"\n",
];

fn openssl(folder: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    let ran = command.args(arguments.split(' ')).current_dir(folder).output();
    let ran = ran.expect("openssl is on this machine");
    assert!(ran.status.success(), "{arguments}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Makes a certificate authority, and the certificates of a server and a client.
pub(crate) fn certificates(folder: &Path) {
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2";
    openssl(folder, &format!("req -x509 {new} -subj /CN=ca -keyout ca.key -out ca.pem"));
    for (name, extension) in
        [("server", "subjectAltName=IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")]
    {
        let signed = "-CA ca.pem -CAkey ca.key";
        openssl(
            folder,
            &format!(
                "req -x509 {new} -subj /CN={name} {signed} -addext basicConstraints=CA:FALSE \
                 -addext {extension} -keyout {name}.key -out {name}.pem"
            ),
        );
    }
}

/// Signs a claim in the form the servers expect.
fn signed(by: &KeyPair, subject: &str, says: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claim = json!({
        "jti": "test", "iat": 1_700_000_000, "iss": by.public_key(), "sub": subject,
        "name": subject, "nats": says,
    });
    let text =
        format!("{}.{}", part(&json!({ "typ": "JWT", "alg": "ed25519-nkey" })), part(&claim));
    let signature = by.sign(text.as_bytes()).expect("a signature");
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Makes a NATS operator, an account and a user, and returns the servers' configuration for them.
fn accounts(folder: &Path) -> String {
    let (operator, user) = (KeyPair::new_operator(), KeyPair::new_user());
    let (system, account) = (KeyPair::new_account(), KeyPair::new_account());
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1,
        "consumer": -1,
    });
    let no_storage = json!({ "subs": -1, "data": -1, "payload": -1, "conn": -1, "leaf": -1 });
    let of = |account: &KeyPair, limits: Value| {
        let says = json!({ "type": "account", "version": 2, "limits": limits });
        signed(&operator, &account.public_key(), &says)
    };
    let says = json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 });
    let pass = signed(&account, &user.public_key(), &says);
    let seed = user.seed().expect("a seed");
    let file = format!(
        "-----BEGIN NATS USER JWT-----\n{pass}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    fs::write(folder.join("node.creds"), file).expect("written");
    let own = json!({ "type": "operator", "version": 2 });
    format!(
        "operator: {}\nsystem_account: {s}\nresolver: MEMORY\n\
         resolver_preload: {{ {s}: {}, {}: {} }}\n",
        signed(&operator, &operator.public_key(), &own),
        of(&system, no_storage),
        account.public_key(),
        of(&account, limits),
        s = system.public_key(),
    )
}

fn server(folder: &Path) -> NatsCluster {
    certificates(folder);
    let accounts = accounts(folder);
    let file = |name: &str| folder.join(name).display().to_string();
    let tls = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}\n",
        file("server.pem"),
        file("server.key"),
        file("ca.pem")
    );
    NatsCluster::start_single(&format!("{tls}{accounts}"))
}

/// Makes a node that has all key files, with only the settings in `told`.
fn node(name: &str, address: &str, prefix: &str, keys: &Path, told: &[&str]) -> Node {
    let settings = format!("durability = \"relaxed\"\n{}", told.concat());
    let node = Node::new(name, address, prefix, &settings);
    for file in ["ca.pem", "client.pem", "client.key", "node.creds"] {
        fs::copy(keys.join(file), node.data().join(file)).expect("copied");
    }
    node
}

#[test]
fn node_without_certificate_or_credentials_is_refused() {
    let keys = tempfile::tempdir().expect("a folder");
    let (server, prefix) = (server(keys.path()), prefix("locked"));
    let address = server.address().replace("nats://fleet:fleet@", "tls://");
    let mut a = node("a", &address, &prefix, keys.path(), &KEYS);
    let b = node("b", &address, &prefix, keys.path(), &KEYS);
    a.up();
    until("a is there", || a.does(&["fleet", "status"])["decider"] == "a");
    let task = a.does(&["task", "add", "Behind a lock"]);
    assert_eq!(b.does(&["task", "list"])[0]["id"], task["id"]);
    assert_eq!(b.does(&["doctor"])["ok"], true);

    let lacks = |without: &[&str]| {
        let told: Vec<&str> = KEYS.into_iter().filter(|key| !without.contains(key)).collect();
        let outside = node("c", &address, &prefix, keys.path(), &told);
        let words = outside.tries(&["task", "add", "Not let in"]).expect_err("it is refused");
        assert_eq!(outside.events(), [] as [Value; 0], "{words}");
        assert!(words.contains("cannot join the fleet"), "{words}");
        words
    };
    assert!(lacks(&[KEYS[0]]).contains("invalid peer certificate: UnknownIssuer"));
    assert!(lacks(&[KEYS[1], KEYS[2]]).contains("CertificateRequired"));
    assert!(lacks(&[KEYS[3]]).contains("authorization violation"));
    assert_eq!(b.does(&["task", "list"]).as_array().map(Vec::len), Some(1));
}
