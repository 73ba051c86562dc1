//! Two daemons on one folder.

use crate::up::stage::{Stage, wait_for};

#[test]
fn a_second_daemon_says_who_has_the_folder_and_leaves() {
    let stage = Stage::new("");
    let up = stage.up();
    let ran = stage.adjutant(["up"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains(&format!("process {}", up.pid())), "{ran:?}");
    let ran = stage.adjutant(["up", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains(&format!("process {}", up.pid())), "{ran:?}");
    up.kill();
    stage.until_idle();
}

#[test]
fn a_second_daemon_that_waits_takes_over_when_the_first_is_gone() {
    let stage = Stage::new("").with_agent("actor", "steps: [{report: {outcome: done}}]");
    let up = stage.up();
    let mut second = stage.begin_up(&["--wait", "--until-idle"]);
    let id = stage.add("actor");
    wait_for("the first has done it", || stage.status(&id) == "done");
    assert!(second.is_there(), "it waits");
    up.kill();
    assert_eq!(second.ends().code(), Some(0), "{}", stage.errors());
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    stage.is_whole();
}
