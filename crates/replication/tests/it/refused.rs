//! Servers that answer but cannot be used: each is refused with an explanation and
//! no advice to wait.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use adjutant_replication::nats::{
    CommitStream, DurabilityLevel, FleetConnection, FleetError, FleetOptions, NatsStore,
};
use adjutant_store::file::DataFolder;
use adjutant_testkit::cluster::{NatsCluster, SharedCluster, SyncSetting};
use adjutant_testkit::fleet_keys::fleet_options;
use adjutant_testkit::nats_admin::NatsAdmin;
use serde_json::json;

fn options(address: &str, prefix: &str) -> FleetOptions {
    let prefix = format!("{prefix}-{}", std::process::id());
    FleetOptions { prefix, ..fleet_options(address, "node-0") }
}

/// Opens a new folder on servers that must refuse it, and returns the error with its causes.
fn refused(fleet: &FleetConnection) -> String {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = DataFolder::init(home.path()).expect("a folder");
    let opened = NatsStore::open(&folder, "node", CommitStream::new(fleet));
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
fn single_server_is_refused_with_required_replicas() {
    let cluster = NatsCluster::start_with(1, SyncSetting::Always);
    let options = options(&cluster.address(), "one");
    let fleet = FleetConnection::connect(&options).expect("it syncs, and tells so");
    let words = refused(&fleet);
    assert!(words.contains("a stream with 3 replicas needs a cluster"), "{words}");
    assert!(words.contains("replicas > 1 not supported in non-clustered mode"), "{words}");
    assert!(words.contains("durability = \"relaxed\""), "{words}");
    let relaxed = FleetOptions { durability: DurabilityLevel::Relaxed, ..options };
    let fleet = FleetConnection::connect(&relaxed).expect("what is asked for is given");
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = DataFolder::init(home.path()).expect("a folder");
    NatsStore::open(&folder, "node", CommitStream::new(&fleet)).expect("relaxed takes it");
}

#[test]
fn two_server_cluster_is_refused() {
    let cluster = NatsCluster::start_with(2, SyncSetting::Always);
    // Once this returns, the servers have elected a leader.
    NatsAdmin::connect_when_ready(&cluster.address());
    let patience = Duration::from_secs(3);
    let options = FleetOptions { retry_timeout: patience, ..options(&cluster.address(), "two") };
    let words = refused(&FleetConnection::connect(&options).expect("they sync, and tell so"));
    assert!(words.contains("a stream with 3 replicas needs a cluster"), "{words}");
    assert!(words.contains("durability = \"relaxed\""), "{words}");
}

#[test]
fn stream_with_one_replica_is_refused_on_three_servers() {
    let shared = SharedCluster::join();
    let options = options(&shared.address(), "once");
    let name = format!("{}_commits", options.prefix);
    let config = json!({
        "name": name, "subjects": [format!("{}.commits", options.prefix)], "retention": "limits",
        "storage": "file", "discard": "new", "deny_delete": true, "num_replicas": 1,
    });
    NatsAdmin::connect_when_ready(&shared.address())
        .call_api(&format!("STREAM.CREATE.{name}"), &config);
    let fleet = FleetConnection::connect(&options).expect("the servers are good");
    let words = refused(&fleet);
    assert!(words.contains(&format!("the stream {name} has 1 of 3 replicas")), "{words}");
    assert!(words.contains("durability = \"relaxed\""), "{words}");
}

#[test]
fn wrong_password_is_refused_and_silent_server_is_unreachable() {
    let shared = SharedCluster::join();
    let wrong = shared.address().replace("fleet:fleet@", "fleet:hunter2@");
    let error =
        FleetConnection::connect(&options(&wrong, "wrong")).map(drop).expect_err("it is wrong");
    assert!(matches!(error, FleetError::Refused { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    let silent = options("nats://fleet:hunter2@127.0.0.1:1", "silent");
    let error = FleetConnection::connect(&silent).map(drop).expect_err("nobody is there");
    assert!(matches!(error, FleetError::Unreachable { .. }), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
}

/// Starts a fake server that reports this version and answers only pings.
fn fake_server(version: &str) -> String {
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
fn server_too_old_is_refused() {
    let connected =
        |version| FleetConnection::connect(&options(&fake_server(version), "old")).map(drop);
    let words = connected("2.10.26").expect_err("it is too old").to_string();
    assert!(words.contains("old is version 2.10.26, but 2.11 or newer is required"), "{words}");
    let words = connected("2.11.0").expect_err("it does not tell whether it syncs").to_string();
    assert!(!words.contains("or newer is required"), "{words}");
}
