//! A disk that is full while a run goes on: output is lost, messages and the end are not.

use std::path::Path;

use adjutant_testkit::small_disk::{run_on_small_disk, skip_for_lack_of_mounts};

use crate::processes::support::HELPER;

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
    let ran = run_on_small_disk("size=1m", &mount, Path::new(HELPER), |command| {
        command.arg("fill").arg(&mount).arg(&script);
    });
    let Some(ran) = ran else { return skip_for_lack_of_mounts() };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(said, "Now, Alive, message 1, Code(5)\n", "{ran:?}");
}
