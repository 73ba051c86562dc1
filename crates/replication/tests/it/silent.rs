//! A connection that goes silent without an error, as when a machine changes its
//! network, is replaced soon.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use adjutant_replication::nats::{CommitStream, FleetConnection, FleetOptions};
use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::fleet_keys::fleet_options;
use adjutant_testkit::nats_admin::NatsAdmin;

/// A TCP relay that forwards only on connections opened since the last network change.
struct TcpRelay {
    address: String,
    network: Arc<AtomicU64>,
}

impl TcpRelay {
    fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens").to_string();
        let network = Arc::<AtomicU64>::default();
        let present = Arc::clone(&network);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(&server) else { continue };
                let (Ok(back), Ok(answers)) = (near.try_clone(), far.try_clone()) else { continue };
                let (one, other) = (Arc::clone(&present), Arc::clone(&present));
                thread::spawn(move || forward_bytes(near, far, &one));
                thread::spawn(move || forward_bytes(answers, back, &other));
            }
        });
        Self { address, network }
    }

    /// Silences all existing connections.
    fn change_network(&self) {
        self.network.fetch_add(1, Ordering::Release);
    }
}

/// Forwards bytes until the network changes, then discards them without closing the connection.
fn forward_bytes(mut from: TcpStream, mut to: TcpStream, present: &AtomicU64) {
    let own = present.load(Ordering::Acquire);
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if present.load(Ordering::Acquire) == own && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn client_reconnects_soon_after_network_change() {
    let shared = SharedCluster::join();
    let address = shared.address();
    // Once this returns, the servers have elected a leader, so only the network is silent.
    NatsAdmin::connect_when_ready(&address);
    let first = address.trim_start_matches("nats://").split(',').next().expect("a server");
    let (login, host) = first.split_once('@').expect("a user");
    let relay = TcpRelay::start(host.to_owned());
    let options = FleetOptions {
        prefix: format!("silent-{}", std::process::id()),
        retry_timeout: Duration::from_secs(3),
        ..fleet_options(&format!("nats://{login}@{}", relay.address), "a")
    };
    let fleet = FleetConnection::connect(&options).expect("the fleet can be reached");
    let commits = CommitStream::new(&fleet);
    commits.last_version().expect("an answer");
    relay.change_network();
    assert!(commits.last_version().is_err(), "nothing comes");
    let since = Instant::now();
    while commits.last_version().is_err() {
        assert!(since.elapsed() < Duration::from_secs(45), "a minute's pings are too slow");
    }
}
