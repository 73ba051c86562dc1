//! Servers that answer and cannot be used: each is refused with words, and waiting is not advised.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use adjutant_store::file::Folder;
use adjutant_store_nats::{Commits, Durability, Fleet, FleetError, NatsStore, Options};
use adjutant_testkit::cluster::{Cluster, Shared, Sync};
use adjutant_testkit::desk::Desk;
use serde_json::json;

fn options(address: &str, prefix: &str) -> Options {
    let prefix = format!("{prefix}-{}", std::process::id());
    Options { prefix, ..Options::parse(address).expect("a good address") }
}

/// Opens a new folder on servers, which must be refused, and returns the words.
fn refused(fleet: &Fleet) -> String {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::init(home.path()).expect("a folder");
    let opened = NatsStore::open(&folder, "node", Commits::new(fleet));
    let error = opened.map(drop).expect_err("it is refused");
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

#[test]
fn one_server_is_refused_and_what_was_asked_is_said() {
    let cluster = Cluster::start_with(1, Sync::Always);
    let options = options(&cluster.address(), "one");
    let fleet = Fleet::connect(&options).expect("it syncs, and tells so");
    let words = refused(&fleet);
    assert!(words.contains("a stream was asked for that is kept 3 times"), "{words}");
    assert!(words.contains("replicas > 1 not supported in non-clustered mode"), "{words}");
    assert!(words.contains("durability = \"relaxed\""), "{words}");
    let relaxed = Options { durability: Durability::Relaxed, ..options };
    let fleet = Fleet::connect(&relaxed).expect("what is asked for is given");
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::init(home.path()).expect("a folder");
    NatsStore::open(&folder, "node", Commits::new(&fleet)).expect("relaxed takes it");
}

#[test]
fn two_servers_are_refused() {
    let cluster = Cluster::start_with(2, Sync::Always);
    // They have agreed on who leads when somebody sits there.
    Desk::at(&cluster.address());
    let patience = Duration::from_secs(3);
    let options = Options { patience, ..options(&cluster.address(), "two") };
    let words = refused(&Fleet::connect(&options).expect("they sync, and tell so"));
    assert!(words.contains("a stream was asked for that is kept 3 times"), "{words}");
    assert!(words.contains("durability = \"relaxed\""), "{words}");
}

#[test]
fn a_stream_that_is_kept_once_is_refused_on_three_servers() {
    let shared = Shared::join();
    let options = options(&shared.address(), "once");
    let name = format!("{}_commits", options.prefix);
    let config = json!({
        "name": name, "subjects": [format!("{}.commits", options.prefix)], "retention": "limits",
        "storage": "file", "discard": "new", "deny_delete": true, "num_replicas": 1,
    });
    Desk::at(&shared.address()).ask(&format!("STREAM.CREATE.{name}"), &config);
    let fleet = Fleet::connect(&options).expect("the servers are good");
    let words = refused(&fleet);
    assert!(words.contains(&format!("the stream {name} is kept 1 times, not 3")), "{words}");
    assert!(words.contains("durability = \"relaxed\""), "{words}");
}

#[test]
fn a_wrong_password_is_refused_and_a_silent_server_is_not() {
    let shared = Shared::join();
    let wrong = shared.address().replace("fleet:fleet@", "fleet:hunter2@");
    let error = Fleet::connect(&options(&wrong, "wrong")).map(drop).expect_err("it is wrong");
    assert!(matches!(error, FleetError::Refused { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    let silent = options("nats://fleet:hunter2@127.0.0.1:1", "silent");
    let error = Fleet::connect(&silent).map(drop).expect_err("nobody is there");
    assert!(matches!(error, FleetError::Unreachable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

/// Says that it is a server of this version, and answers nothing but pings.
fn pretender(version: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let info = json!({
        "server_id": "old", "server_name": "old", "version": version, "go": "go1.21", "host": "",
        "port": address.port(), "headers": true, "max_payload": 1_048_576, "proto": 1,
        "client_id": 1, "jetstream": true,
    });
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let info = info.clone();
            thread::spawn(move || {
                let heard = BufReader::new(stream.try_clone().expect("a stream"));
                let _ = stream.write_all(format!("INFO {info}\r\n").as_bytes());
                for line in heard.lines().map_while(Result::ok) {
                    if line == "PING" {
                        let _ = stream.write_all(b"PONG\r\n");
                    }
                }
            });
        }
    });
    format!("nats://{address}")
}

#[test]
fn a_server_that_is_too_old_is_refused() {
    let connected = |version| Fleet::connect(&options(&pretender(version), "old")).map(drop);
    let words = connected("2.10.26").expect_err("it is too old").to_string();
    assert!(words.contains("old is version 2.10.26, and 2.11 is the least"), "{words}");
    let words = connected("2.11.0").expect_err("it does not tell whether it syncs").to_string();
    assert!(!words.contains("is the least"), "{words}");
}
