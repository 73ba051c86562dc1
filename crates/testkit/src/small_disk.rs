//! Programs and tests on a small disk: a tmpfs in a mount namespace, which ends with the process.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use adjutant_test_support::skip::skip;

/// The environment variable with the path of the disk, inside its namespace.
const DISK_VARIABLE: &str = "ADJUTANT_TEST_DISK";

const MOUNT_SCRIPT: &str = "mount -t tmpfs -o \"$1\" none \"$2\" && shift 2 && exec \"$@\"";

/// The ways to get a mount namespace: as root, or as root of a user namespace.
const NAMESPACE_FLAGS: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];

/// Runs a test on a disk of 16 MiB: the test of this name calls itself in a namespace that has one.
pub fn run_test_on_small_disk(test: &str, work: impl FnOnce(&Path)) {
    if let Some(disk) = std::env::var_os(DISK_VARIABLE) {
        return work(&PathBuf::from(disk));
    }
    let home = tempfile::tempdir().expect("a temporary folder");
    let program = std::env::current_exe().expect("a program");
    let ran = run_on_small_disk("size=16m", home.path(), &program, |command| {
        command.args(["--exact", test, "--nocapture"]).env(DISK_VARIABLE, home.path());
    });
    let Some(ran) = ran else { return skip_without_mounts() };
    let output = String::from_utf8_lossy(&[&ran.stdout[..], &ran.stderr[..]].concat()).into_owned();
    assert!(ran.status.success() && output.contains("1 passed"), "{output}");
}

/// Runs a program on a tmpfs with these mount options; `None` if this user cannot mount one.
pub fn run_on_small_disk(
    options: &str,
    mount: &Path,
    program: &Path,
    arguments: impl FnOnce(&mut Command),
) -> Option<Output> {
    let inside = |way: &[&str], program: &Path| {
        let mut command = Command::new("unshare");
        command
            .args(way)
            .args(["--", "sh", "-c", MOUNT_SCRIPT, "sh", options])
            .arg(mount)
            .arg(program);
        command
    };
    let can = |way: &&[&str]| inside(way, Path::new("true")).status().is_ok_and(|it| it.success());
    let mut command = inside(NAMESPACE_FLAGS.into_iter().find(can)?, program);
    arguments(&mut command);
    Some(command.output().expect("the program starts"))
}

/// Records that a test needs a small disk and cannot have one.
pub fn skip_without_mounts() {
    skip("this user cannot mount a small disk", "run it as root, or allow user namespaces");
}
