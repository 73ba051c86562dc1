//! A node that dies for good: other nodes do its tasks.

use serde_json::Value;

use crate::fleet::failover_fleet::FailoverFleet;
use crate::fleet::node::{accepted_once, is_whole, until, until_or};

/// The first attempt works for an hour.
const DOES: &str = "[ $ADJUTANT_ATTEMPT = 1 ] && work 36000\nwork 3; finish 'after all'";

/// Returns the attempt and one field of the payload, for each event of this type on a task.
fn told<'e>(events: &'e [Value], kind: &str, task: &str, field: &str) -> Vec<(u64, &'e str)> {
    let of = events.iter().filter(|event| event["type"] == kind && event["taskId"] == task);
    let each = |event: &'e Value| {
        let payload = &event["payload"];
        (payload["attempt"].as_u64().expect("a number"), payload[field].as_str().unwrap_or(""))
    };
    of.map(each).collect()
}

#[test]
fn dead_node_runs_are_done_by_others() {
    let estate = FailoverFleet::with_agent(DOES);
    let tasks = [estate.add("one"), estate.add("two")];
    let FailoverFleet { mut decides, mut dies, mut heir, diary, .. } = estate;
    let works = |task: &String| diary.units(task, 1).len() > 2;
    until_or("it works on both", || tasks.iter().all(works), || dies.shown());
    dies.kill();
    heir.up();
    until_or("another does both", || heir.count("review") == 2, || heir.said());
    until("both have the same record", || heir.events() == decides.events());
    let events = heir.events();
    is_whole(&events);
    accepted_once(&events, &tasks);
    diary.shows_one_at_a_time(&[]);
    for task in &tasks {
        assert_eq!(told(&events, "run.started", task, "node"), [(1, "dies"), (2, "heir")]);
        // The first attempt counts as failed.
        let failed = told(&events, "run.failed", task, "reason");
        assert_eq!(failed, [(1, "disappeared; its exit status is unknown")]);
        let kept = heir.data().join("runs").join(task).join("attempts/1/run.json");
        assert!(kept.is_file(), "what is known of the first is kept");
    }
    decides.down();
    heir.down();
    assert_eq!(heir.does(&["doctor"])["ok"], true);
}
