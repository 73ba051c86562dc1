//! A full disk: a clear error, nothing half done, and work goes on when there is room again.
#![expect(clippy::print_stdout, reason = "how it was done is worth knowing")]

use std::path::Path;
use std::process::{Command, Output};

use adjutant_testkit::SetClock;
use adjutant_testkit::audit::{Record, problems};
use adjutant_testkit::hand::{NOW, folder, open};
use adjutant_testkit::small_disk::{run_on_small_disk, skip_for_lack_of_mounts};

const CHILD: &str = env!("CARGO_BIN_EXE_full_disk");

/// The mount options of a disk of 4 MiB with room for 400 files.
const SMALL: &str = "size=4m,nr_inodes=400";

#[test]
fn on_a_full_disk_nothing_is_half_done_and_work_goes_on_when_there_is_room() {
    let home = tempfile::tempdir().expect("a folder");
    let ran = run_on_small_disk(SMALL, home.path(), Path::new(CHILD), |command| {
        command.arg(home.path()).env("ADJUTANT_JOURNAL_BYTES_MAX", "200000");
    });
    let Some(ran) = ran else {
        // A limit on the size of files stands in for the disk.
        skip_for_lack_of_mounts();
        return with_a_limit_on_files(home.path());
    };
    let said = text(&ran);
    println!("{said}");
    assert!(ran.status.success(), "{said}");
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
