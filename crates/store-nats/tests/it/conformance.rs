//! The conformance suite on a three-server cluster, with handles on the folders of three nodes.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use adjutant_store_nats::{Commits, Fleet, Options};
use adjutant_testkit::cluster::Shared;
use adjutant_testkit::nodes::Nodes;

static CLUSTER: LazyLock<Shared> = LazyLock::new(Shared::join);

/// Every project has a prefix of its own on the servers.
fn options() -> Options {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("conform-{}-{number}", std::process::id());
    Options { prefix, ..Options::parse(&CLUSTER.address()).expect("a good address") }
}

fn nodes() -> Nodes<Commits> {
    let fleet = Fleet::connect(&options()).expect("the fleet can be reached");
    Nodes::new(3, move |_| Commits::new(&fleet))
}

adjutant_store::conformance!(nodes());
