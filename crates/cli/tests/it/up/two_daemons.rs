//! Two daemons on one folder.

use crate::up::project::{DaemonProject, wait_for};

#[test]
fn second_daemon_names_first_one_and_exits() {
    let stage = DaemonProject::new("");
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
fn second_daemon_with_wait_takes_over_after_first() {
    let stage = DaemonProject::new("").with_agent("actor", "steps: [{report: {outcome: done}}]");
    let up = stage.up();
    let mut second = stage.begin_up(&["--wait", "--until-idle"]);
    let id = stage.add("actor");
    wait_for("the first has done it", || stage.status(&id) == "done");
    assert!(second.is_running(), "it waits");
    up.kill();
    assert_eq!(second.wait_for_exit().code(), Some(0), "{}", stage.errors());
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    stage.assert_consistent();
}
