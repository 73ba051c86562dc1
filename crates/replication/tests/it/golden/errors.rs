//! Golden file of the messages of [`FleetError`].

use std::fmt::Write as _;
use std::io;

use adjutant_replication::nats::{FleetError, FleetOptions};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

#[test]
fn fleet_errors_match_golden_files() {
    let servers = || "nats://127.0.0.1:4222".to_owned();
    let problems = || vec!["it is in memory alone".to_owned(), "it drops what is old".to_owned()];
    let gone = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let bad = FleetOptions::parse("http://127.0.0.1").expect_err("no address of servers");
    let all = [
        FleetError::Options(bad),
        FleetError::File { path: "/p/nats.creds".into(), source: gone() },
        FleetError::Unreachable { attempt: "commit", servers: servers(), source: gone().into() },
        FleetError::Refused { servers: servers(), source: gone().into() },
        FleetError::NotDurable { servers: servers(), problems: problems() },
        FleetError::Altered { stream: "p_commits".into(), problems: problems() },
        FleetError::Foreign {
            what: "commit 7".into(),
            why: "it is not signed".into(),
            next: "do this",
        },
        FleetError::Damaged("the commits before 7 are gone".into()),
    ];
    assert_every_variant!(
        &all,
        FleetError { Options, File, Unreachable, Refused, NotDurable, Altered, Foreign, Damaged }
    );
    let lines = all.iter().fold(String::new(), |mut lines, error| {
        let _ = writeln!(lines, "{error}");
        lines
    });
    let mut golden = GoldenFolder::new("reasons/fleet");
    golden.add("servers.txt", lines);
    golden.check();
}
