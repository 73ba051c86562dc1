//! A run's heartbeats while it is alive.

use adjutant_model::Time;
use adjutant_runs::supervisor::{RunRef, StopMode};
use serde_json::Value;

use crate::processes::support::{RunFixture, wait_until};

fn heartbeat(stage: &RunFixture, run: &RunRef) -> Value {
    let path = stage.root.join("runs").join(run.task.as_str()).join("run_heartbeat.json");
    serde_json::from_slice(&std::fs::read(path).expect("it is there")).expect("it is whole")
}

#[test]
fn heartbeat_starts_with_the_run_and_repeats() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [{print: here}, hang]");
    launch.limits.beat_ms = 20;
    let run = stage.start_launch(&launch);
    let first = heartbeat(&stage, &run);
    wait_until(|| heartbeat(&stage, &run)["beatCount"].as_u64() > first["beatCount"].as_u64());
    let beat = heartbeat(&stage, &run);
    let keys: Vec<&String> = beat.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["taskId", "agentId", "lastHeartbeat", "beatCount", "expiresAt"]);
    assert_eq!((&beat["taskId"], &beat["agentId"]), (&"TASK-2026-02-09-001".into(), &"swe".into()));
    let time = |key: &str| Time::parse(beat[key].as_str().expect("a text")).expect("a time");
    assert_eq!(time("expiresAt").as_millis() - time("lastHeartbeat").as_millis(), 300_000);
    stage.supervisor.stop(&run, "seen", StopMode::Immediately).expect("told");
    stage.wait_for_end(&run);
}

#[test]
fn heartbeat_stops_when_run_is_replaced() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [{print: here}, hang]");
    launch.limits.beat_ms = 20;
    let run = stage.start_launch(&launch);
    stage.supervisor.folder(&crate::processes::support::run(2)).create().expect("made");
    let path = stage.root.join("runs/TASK-2026-02-09-001/run_heartbeat.json");
    // One heartbeat may still be on its way, for any length of time.
    wait_until(|| {
        let _ = std::fs::remove_file(&path);
        std::thread::sleep(std::time::Duration::from_millis(200));
        !path.exists()
    });
    stage.supervisor.stop(&run, "seen", StopMode::Immediately).expect("told");
    stage.wait_for_end(&run);
}
