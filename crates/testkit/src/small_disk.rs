//! A test on a small disk, which calls itself in a namespace that has one.
#![expect(clippy::print_stdout, reason = "that it could not be tried is worth knowing")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Names the disk, inside the namespace that has it.
const DISK: &str = "ADJUTANT_TEST_DISK";

/// A small disk, which is gone with the process.
const MOUNT: &str = "mount -t tmpfs -o size=16m none \"$1\" && shift && exec \"$@\"";

/// Does something on a small disk: the test of this name calls itself in a namespace that has one,
/// as root or as root of a namespace of its own.
pub fn on_a_small_disk(test: &str, work: impl FnOnce(&Path)) {
    if let Some(disk) = std::env::var_os(DISK) {
        return work(&PathBuf::from(disk));
    }
    let home = tempfile::tempdir().expect("a temporary folder");
    let Some(ran) = again(home.path(), test) else {
        println!("COULD NOT MOUNT A SMALL DISK: not tried");
        return;
    };
    let said = String::from_utf8_lossy(&[&ran.stdout[..], &ran.stderr[..]].concat()).into_owned();
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

fn again(mount: &Path, test: &str) -> Option<Output> {
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    ways.into_iter().find_map(|namespace| {
        let inside = |program: &Path| {
            let mut command = Command::new("unshare");
            command.args(namespace).args(["--", "sh", "-c", MOUNT, "sh"]).arg(mount).arg(program);
            command
        };
        let can = inside(Path::new("true")).output().ok()?.status.success();
        let mut child = inside(&std::env::current_exe().expect("a program"));
        child.args(["--exact", test, "--nocapture"]).env(DISK, mount);
        can.then(|| child.output().expect("it starts"))
    })
}
