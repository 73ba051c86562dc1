//! A disk that is full while a run goes on: output is lost, messages and the end are not.
#![expect(clippy::print_stdout, reason = "that it could not be tried is worth knowing")]

use std::path::Path;
use std::process::{Command, Output};

use crate::processes::support::HELPER;

/// A small disk, which is gone with the process.
const MOUNT: &str = "mount -t tmpfs -o size=1m none \"$1\" && shift && exec \"$@\"";

/// Far more output than there is room for, a report, and the end.
const SCRIPT: &str = "
steps: [{work: 1s}, {flood: {bytes: 3000000}}, {print: ''}, {progress: one}, {exit: 5}]";

#[test]
fn messages_and_the_end_wait_for_room() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let script = home.path().join("script.yaml");
    std::fs::write(&script, SCRIPT).expect("written");
    let mount = home.path().join("disk");
    std::fs::create_dir(&mount).expect("a folder");
    let Some(ran) = on_a_small_disk(&mount, &script) else {
        println!("COULD NOT MOUNT A SMALL DISK: not tried");
        return;
    };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(said, "Now, Alive, message 1, Code(5)\n", "{ran:?}");
}

/// Runs on a disk of its own, as root or as root of a namespace of its own; returns none if this
/// machine allows neither.
fn on_a_small_disk(mount: &Path, script: &Path) -> Option<Output> {
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    ways.into_iter().find_map(|namespace| {
        let inside = |program: &str| {
            let mut command = Command::new("unshare");
            command.args(namespace).args(["--", "sh", "-c", MOUNT, "sh"]).arg(mount).arg(program);
            command
        };
        let can = inside("true").output().ok()?.status.success();
        let mut helper = inside(HELPER);
        helper.arg("fill").arg(mount).arg(script);
        can.then(|| helper.output().expect("it starts"))
    })
}
