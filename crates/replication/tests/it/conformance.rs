//! The store conformance suite on a three-server cluster, with the folders of three nodes.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use adjutant_replication::nats::{CommitStream, FleetConnection, FleetOptions};
use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::fleet_keys::fleet_options;
use adjutant_testkit::nodes::TestFleet;

static CLUSTER: LazyLock<SharedCluster> = LazyLock::new(SharedCluster::join);

/// Gives every project a prefix of its own on the servers.
fn options() -> FleetOptions {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("conform-{}-{number}", std::process::id());
    FleetOptions { prefix, ..fleet_options(&CLUSTER.address(), "node-0") }
}

fn nodes() -> TestFleet<CommitStream> {
    let fleet = FleetConnection::connect(&options()).expect("the fleet can be reached");
    TestFleet::new(3, move |_| CommitStream::new(&fleet))
}

adjutant_testkit::conformance!(nodes());
