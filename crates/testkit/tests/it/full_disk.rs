//! A full disk: a clear error, nothing half done, and work goes on when there is room again.
#![expect(clippy::print_stdout, reason = "how it was done is worth knowing")]

use std::path::Path;
use std::process::{Command, Output};

use adjutant_testkit::SetClock;
use adjutant_testkit::audit::{Record, problems};
use adjutant_testkit::hand::{NOW, folder, open};

const CHILD: &str = env!("CARGO_BIN_EXE_full_disk");

/// A disk of 4 MiB with room for 400 files, which is gone with the process.
const MOUNT: &str = "mount -t tmpfs -o size=4m,nr_inodes=400 none \"$1\" && shift && exec \"$@\"";

#[test]
fn on_a_full_disk_nothing_is_half_done_and_work_goes_on_when_there_is_room() {
    let home = tempfile::tempdir().expect("a folder");
    let Some(ran) = on_a_small_disk(home.path()) else {
        println!("COULD NOT MOUNT A SMALL DISK: a limit on the size of files stands in for it");
        return with_a_limit_on_files(home.path());
    };
    let said = text(&ran);
    println!("{said}");
    assert!(ran.status.success(), "{said}");
}

/// Runs the child on a disk of its own, as root or as root of a namespace of its own; returns none
/// if this machine allows neither.
fn on_a_small_disk(mount: &Path) -> Option<Output> {
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    ways.into_iter().find_map(|namespace| {
        let inside = |program: &str| {
            let mut command = Command::new("unshare");
            command.args(namespace).args(["--", "sh", "-c", MOUNT, "sh"]).arg(mount).arg(program);
            command
        };
        let can = inside("true").output().ok()?.status.success();
        let mut child = inside(CHILD);
        child.arg(mount).env("ADJUTANT_JOURNAL_BYTES_MAX", "200000");
        can.then(|| child.output().expect("the child starts"))
    })
}

fn with_a_limit_on_files(home: &Path) {
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, "sh", CHILD, "--limited"]).arg(home);
    let ran = command.output().expect("the child starts");
    println!("{}", text(&ran));
    assert!(ran.status.success(), "{}", text(&ran));
    let folder = folder(home);
    let engine = open(&folder, &SetClock::at(NOW));
    let found = problems(&folder, engine.world(), Record::Whole);
    assert!(found.is_empty(), "{found:#?}");
}

fn text(ran: &Output) -> String {
    String::from_utf8_lossy(&[&ran.stdout[..], &ran.stderr[..]].concat()).into_owned()
}
