//! A connection that has gone silent, as when a machine has changed its network: nothing comes and
//! nothing is refused. Another one is sought soon.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use adjutant_store_nats::{Commits, Fleet, Options};
use adjutant_testkit::cluster::Shared;
use adjutant_testkit::desk::Desk;

/// Passes on whatever comes, by connections of the present network only.
struct Relay {
    address: String,
    network: Arc<AtomicU64>,
}

impl Relay {
    fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens").to_string();
        let network = Arc::<AtomicU64>::default();
        let present = Arc::clone(&network);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(&server) else { continue };
                let (Ok(back), Ok(answers)) = (near.try_clone(), far.try_clone()) else { continue };
                let (one, other) = (Arc::clone(&present), Arc::clone(&present));
                thread::spawn(move || pass(near, far, &one));
                thread::spawn(move || pass(answers, back, &other));
            }
        });
        Self { address, network }
    }

    /// Lets nothing through any more by connections that are there.
    fn change_network(&self) {
        self.network.fetch_add(1, Ordering::Release);
    }
}

/// What comes after the network has changed is lost, and nobody is told.
fn pass(mut from: TcpStream, mut to: TcpStream, present: &AtomicU64) {
    let own = present.load(Ordering::Acquire);
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if present.load(Ordering::Acquire) == own && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn a_client_whose_network_has_changed_is_back_soon() {
    let shared = Shared::join();
    let address = shared.address();
    // The servers have agreed on who leads when somebody sits there: only the network is silent.
    Desk::at(&address);
    let first = address.trim_start_matches("nats://").split(',').next().expect("a server");
    let (login, host) = first.split_once('@').expect("a user");
    let relay = Relay::to(host.to_owned());
    let options = Options {
        prefix: format!("silent-{}", std::process::id()),
        patience: Duration::from_secs(3),
        ..Options::parse(&format!("nats://{login}@{}", relay.address)).expect("a good address")
    };
    let fleet = Fleet::connect(&options).expect("the fleet can be reached");
    let commits = Commits::new(&fleet);
    commits.end().expect("an answer");
    relay.change_network();
    assert!(commits.end().is_err(), "nothing comes");
    let since = Instant::now();
    while commits.end().is_err() {
        assert!(since.elapsed() < Duration::from_secs(45), "a minute's pings are too slow");
    }
}
