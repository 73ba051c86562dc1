//! Programs and tests on a small disk: a tmpfs in a mount namespace, which is gone with the process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use adjutant_test_support::skip::skip;

/// Names the disk, inside the namespace that has it.
const DISK: &str = "ADJUTANT_TEST_DISK";

const MOUNT: &str = "mount -t tmpfs -o \"$1\" none \"$2\" && shift 2 && exec \"$@\"";

/// The ways to get a mount namespace: as root, or as root of a user namespace.
const WAYS: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];

/// Runs a test on a disk of 16 MiB: the test of this name calls itself in a namespace that has one.
pub fn on_a_small_disk(test: &str, work: impl FnOnce(&Path)) {
    if let Some(disk) = std::env::var_os(DISK) {
        return work(&PathBuf::from(disk));
    }
    let home = tempfile::tempdir().expect("a temporary folder");
    let program = std::env::current_exe().expect("a program");
    let ran = run_on_small_disk("size=16m", home.path(), &program, |command| {
        command.args(["--exact", test, "--nocapture"]).env(DISK, home.path());
    });
    let Some(ran) = ran else { return skip_for_lack_of_mounts() };
    let said = String::from_utf8_lossy(&[&ran.stdout[..], &ran.stderr[..]].concat()).into_owned();
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

/// Runs a program on a tmpfs with these mount options; returns none if this machine does not let the
/// user mount one.
pub fn run_on_small_disk(
    options: &str,
    mount: &Path,
    program: &Path,
    arguments: impl FnOnce(&mut Command),
) -> Option<Output> {
    let inside = |way: &[&str], program: &Path| {
        let mut command = Command::new("unshare");
        command.args(way).args(["--", "sh", "-c", MOUNT, "sh", options]).arg(mount).arg(program);
        command
    };
    let can = |way: &&[&str]| inside(way, Path::new("true")).status().is_ok_and(|it| it.success());
    let mut command = inside(WAYS.into_iter().find(can)?, program);
    arguments(&mut command);
    Some(command.output().expect("the program starts"))
}

/// Records that a test needs a small disk and cannot have one.
pub fn skip_for_lack_of_mounts() {
    skip("this user cannot mount a small disk", "run it as root, or allow user namespaces");
}
