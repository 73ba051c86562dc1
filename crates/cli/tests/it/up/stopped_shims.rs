//! Shims that do not answer, because their own agent stops them: the limits of the run hold, and
//! no process of it is left. Each test runs as this user, and as an ordinary user if this is root.

use serde_json::Value;

use crate::up::project::{DaemonProject, until, wait_for};

/// An agent that stops its shim once, as its first act.
const STOPS_ONCE: &str = "kill -STOP $PPID\necho stopped\nexec sleep 1000\n";

/// An agent that stops its shim as often as it can, from a session of its own and without anything
/// in its environment that names the run. The shim runs for a moment whenever it is woken.
const STOPS_OFTEN: &str = "trap '' TERM\n\
    setsid env -i sh -c 'trap \"\" TERM; while :; do kill -STOP '$PPID'; done' &\n\
    while :; do sleep 1000; done\n";

/// An agent that halts every thread of its shim as a debugger does: no signal wakes it.
const HALTS: &str = r#"
trap '' TERM
setsid env -i PATH="$PATH" python3 -c '
import ctypes, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
trace = ctypes.CDLL(None).ptrace
trace.argtypes = [ctypes.c_long] * 4
for thread in os.listdir("/proc/" + sys.argv[1] + "/task"):
    trace(16, int(thread), 0, 0)
    os.waitpid(int(thread), 0x40000000)
time.sleep(1000)
' $PPID &
while :; do sleep 1000; done
"#;

fn each_user(check: impl Fn(DaemonProject) + Sync) {
    std::thread::scope(|scope| {
        if rustix::process::geteuid().is_root() {
            scope.spawn(|| check(DaemonProject::for_ordinary_user("attempts_max = 1")));
        }
        check(DaemonProject::new("attempts_max = 1"));
    });
}

/// Waits until the agent has stopped its shim.
fn wait_for_stopped_shim(stage: &DaemonProject, id: &str) {
    let (shim, _) = stage.started_run(id, 1);
    wait_for("the shim is stopped", || shim.is_suspended());
}

/// Asserts that the only run of a task ended like this, and returns why.
fn expect_end(stage: &DaemonProject, id: &str, exit: &str) -> String {
    let exited = stage.events_of(id, "run.exited");
    assert_eq!(exited.len(), 1, "{exited:?}");
    assert_eq!(exited[0]["payload"]["exit"], exit, "{exited:?}");
    stage.assert_consistent();
    exited[0]["payload"]["reason"].as_str().expect("a reason").to_owned()
}

fn expect_timeout(stage: &DaemonProject, id: &str) -> String {
    assert_eq!(stage.status(id), "deadletter", "{:#?}", stage.events());
    let failed: Vec<Value> = stage.events_of(id, "run.failed");
    let reason = failed[0]["payload"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("timed out"), "{reason}");
    expect_end(stage, id, "timed_out")
}

#[test]
fn stopped_shim_is_woken_and_enforces_its_timeout() {
    each_user(|stage| {
        let stage = stage.with_command("actor", STOPS_ONCE, "timeout = \"1s\"");
        let id = stage.add("actor");
        stage.until_idle();
        let reason = expect_timeout(&stage, &id);
        assert!(!reason.contains("did not answer"), "{reason}");
    });
}

#[test]
fn shim_that_is_stopped_again_and_again_times_out() {
    each_user(|stage| {
        let stage = stage.with_command("actor", STOPS_OFTEN, "timeout = \"1s\"");
        let id = stage.add("actor");
        stage.until_idle();
        expect_timeout(&stage, &id);
    });
}

#[test]
fn halted_shim_times_out() {
    each_user(|stage| {
        let stage = stage.with_command("actor", HALTS, "timeout = \"1s\"");
        let id = stage.add("actor");
        stage.until_idle();
        let reason = expect_timeout(&stage, &id);
        assert!(reason.starts_with("the shim of the run did not answer"), "{reason}");
    });
}

#[test]
fn halted_shim_times_out_after_daemon_restart() {
    each_user(|stage| {
        let stage = stage.with_command("actor", HALTS, "timeout = \"2s\"");
        let id = stage.add("actor");
        let up = stage.up();
        wait_for_stopped_shim(&stage, &id);
        up.kill();
        stage.until_idle();
        expect_timeout(&stage, &id);
        assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    });
}

#[test]
fn cancelled_task_ends_halted_shim() {
    each_user(|stage| {
        let stage = stage.with_command("actor", HALTS, "");
        let id = stage.add("actor");
        let up = stage.up();
        wait_for_stopped_shim(&stage, &id);
        stage.run_ok(["task", "cancel", &id]);
        until("its end is known", || stage.events_of(&id, "run.exited").pop());
        assert_eq!(stage.status(&id), "cancelled");
        up.kill();
        expect_end(&stage, &id, "stopped");
    });
}

#[test]
fn cancel_without_daemon_ends_halted_shim_later() {
    let stage = DaemonProject::new("").with_command("actor", HALTS, "");
    let id = stage.add("actor");
    let up = stage.up();
    wait_for_stopped_shim(&stage, &id);
    up.kill();
    stage.run_ok(["task", "cancel", &id]);
    stage.until_idle();
    expect_end(&stage, &id, "stopped");
}

#[test]
fn down_ends_halted_shim() {
    each_user(|stage| {
        let stage = stage.with_command("actor", HALTS, "");
        let id = stage.add("actor");
        let up = stage.up();
        wait_for_stopped_shim(&stage, &id);
        stage.run_ok(["down", "--stop"]);
        assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
        assert_eq!(stage.status(&id), "ready");
        expect_end(&stage, &id, "stopped");
    });
}

#[test]
fn silent_shim_loses_its_run_although_nothing_limits_it() {
    let stage = DaemonProject::new("attempts_max = 1\nheartbeat_ttl = \"1s\"")
        .with_command("actor", HALTS, "");
    let id = stage.add("actor");
    stage.until_idle();
    assert_eq!(stage.status(&id), "deadletter");
    let reason = expect_end(&stage, &id, "lost");
    assert!(reason.starts_with("the shim of the run did not answer"), "{reason}");
}
