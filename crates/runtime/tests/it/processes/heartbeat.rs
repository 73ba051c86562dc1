//! The heart beats while the run lives.

use adjutant_core::Time;
use adjutant_runtime::supervisor::{Leave, Run};
use serde_json::Value;

use crate::processes::support::{Stage, until};

fn heartbeat(stage: &Stage, run: &Run) -> Value {
    let path = stage.root.join("runs").join(run.task.as_str()).join("run_heartbeat.json");
    serde_json::from_slice(&std::fs::read(path).expect("it is there")).expect("it is whole")
}

#[test]
fn it_beats_from_the_start_and_goes_on() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [{print: here}, hang]");
    launch.limits.beat_ms = 20;
    let run = stage.begin(&launch);
    let first = heartbeat(&stage, &run);
    until(|| heartbeat(&stage, &run)["beatCount"].as_u64() > first["beatCount"].as_u64());
    let beat = heartbeat(&stage, &run);
    let keys: Vec<&String> = beat.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["taskId", "agentId", "lastHeartbeat", "beatCount", "expiresAt"]);
    assert_eq!((&beat["taskId"], &beat["agentId"]), (&"TASK-2026-02-09-001".into(), &"swe".into()));
    let time = |key: &str| Time::parse(beat[key].as_str().expect("a text")).expect("a time");
    assert_eq!(time("expiresAt").as_millis() - time("lastHeartbeat").as_millis(), 300_000);
    stage.supervisor.stop(&run, "seen", Leave::Now).expect("told");
    stage.end(&run);
}

#[test]
fn a_run_that_was_replaced_beats_no_more() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [{print: here}, hang]");
    launch.limits.beat_ms = 20;
    let run = stage.begin(&launch);
    stage.supervisor.folder(&crate::processes::support::run(2)).create().expect("made");
    let path = stage.root.join("runs/TASK-2026-02-09-001/run_heartbeat.json");
    // One beat may be on its way, however long that takes.
    until(|| {
        let _ = std::fs::remove_file(&path);
        std::thread::sleep(std::time::Duration::from_millis(200));
        !path.exists()
    });
    stage.supervisor.stop(&run, "seen", Leave::Now).expect("told");
    stage.end(&run);
}
