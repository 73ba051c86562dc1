//! A full disk: a clear error, nothing half done, and work continues once there is space again.
#![expect(clippy::print_stdout, reason = "how it was done is worth knowing")]

use std::path::Path;
use std::process::{Command, Output};

use adjutant_testkit::ManualClock;
use adjutant_testkit::audit::{EventLogScope, find_problems};
use adjutant_testkit::crash_child::{NOW, open_engine, open_or_init_folder};
use adjutant_testkit::small_disk::{run_on_small_disk, skip_without_mounts};

const CHILD: &str = env!("CARGO_BIN_EXE_full_disk");

/// The mount options of a disk of 4 MiB with room for 400 files.
const SMALL: &str = "size=4m,nr_inodes=400";

#[test]
fn full_disk_leaves_nothing_half_done_and_work_continues_with_space() {
    let home = tempfile::tempdir().expect("a folder");
    let ran = run_on_small_disk(SMALL, home.path(), Path::new(CHILD), |command| {
        command.arg(home.path()).env("ADJUTANT_JOURNAL_BYTES_MAX", "200000");
    });
    let Some(ran) = ran else {
        // A limit on the size of files stands in for the disk.
        skip_without_mounts();
        return with_a_limit_on_files(home.path());
    };
    let output = text(&ran);
    println!("{output}");
    assert!(ran.status.success(), "{output}");
}

fn with_a_limit_on_files(home: &Path) {
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, "sh", CHILD, "--limited"]).arg(home);
    let ran = command.output().expect("the child starts");
    println!("{}", text(&ran));
    assert!(ran.status.success(), "{}", text(&ran));
    let folder = open_or_init_folder(home);
    let engine = open_engine(&folder, &ManualClock::at(NOW));
    let found = find_problems(&folder, engine.world(), EventLogScope::Complete);
    assert!(found.is_empty(), "{found:#?}");
}

fn text(ran: &Output) -> String {
    String::from_utf8_lossy(&[&ran.stdout[..], &ran.stderr[..]].concat()).into_owned()
}
