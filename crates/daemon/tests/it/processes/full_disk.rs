//! The disk fills up during a run: output is lost, messages and the exit are not.

use std::path::Path;

use adjutant_testkit::small_disk::{run_on_small_disk, skip_without_mounts};

use crate::processes::support::HELPER;

/// Far more output than fits on the disk, a report, and an exit.
const SCRIPT: &str = "
steps: [{work: 1s}, {flood: {bytes: 3000000}}, {print: ''}, {progress: one}, {exit: 5}]";

#[test]
fn messages_and_exit_wait_for_free_disk_space() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let script = home.path().join("script.yaml");
    std::fs::write(&script, SCRIPT).expect("written");
    let mount = home.path().join("disk");
    std::fs::create_dir(&mount).expect("a folder");
    let ran = run_on_small_disk("size=1m", &mount, Path::new(HELPER), |command| {
        command.arg("fill").arg(&mount).arg(&script);
    });
    let Some(ran) = ran else { return skip_without_mounts() };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(said, "Running, Alive, message 1, Code(5)\n", "{ran:?}");
}
