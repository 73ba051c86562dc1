//! Ticks of the scheduler, and the signs of life it goes by.

use adjutant_core::schedule::{Action, Recovery};
use serde_json::json;

use crate::file::json_text;
use crate::scene::Scene;
use crate::steps::Known;
use crate::words::Words;

pub(crate) const STEPS: &[Known] = &[
    ("the heartbeat of {task} counts until {time}", beat),
    ("{task} has no heartbeat", |scene, words| {
        assert!(!scene.project.has(&format!("runs/{}/run_heartbeat.json", words.at(0))));
    }),
    ("{agent} has started a run of {task}", start),
    ("it is {time}", |scene, words| scene.project.clock.set(words.at(0))),
    ("the scheduler ticks", |scene, _| scene.tick()),
    ("the scheduler is asked what it would do", |scene, _| scene.tick_dry()),
    ("its actions are:", |scene, words| {
        let actions: Vec<Vec<String>> = scene.ticked().actions.iter().map(row).collect();
        assert_eq!(actions, words.table()[1..]);
    }),
    ("it has no actions", |scene, _| assert_eq!(scene.ticked().actions, [])),
    ("{count} of its actions count as executed", |scene, words| {
        assert_eq!(scene.ticked().executed().to_string(), words.at(0));
    }),
];

fn beat(scene: &mut Scene, words: &Words) {
    let (task, until) = words.pair();
    let beat = json!({
        "taskId": task,
        "agentId": "swe-backend",
        "lastHeartbeat": "2026-02-10T09:55:00.000Z",
        "beatCount": 5,
        "expiresAt": until,
    });
    scene.project.write(&format!("runs/{task}/run_heartbeat.json"), &json_text(&beat));
}

/// What is written when a lease is taken.
fn start(scene: &mut Scene, words: &Words) {
    let (agent, task) = words.pair();
    let run = json!({
        "taskId": task,
        "agentId": agent,
        "startedAt": "2026-02-09T20:55:00.000Z",
        "status": "running",
        "artifactPaths": {"inputs": "inputs/", "work": "work/", "output": "output/"},
        "metadata": {},
    });
    scene.project.write(&format!("runs/{task}/run.json"), &json_text(&run));
}

fn row(action: &Action) -> Vec<String> {
    let recovery = match action {
        Action::StaleHeartbeat { recovery, .. }
        | Action::ExpireLease { recovery, .. }
        | Action::RunLost { recovery, .. } => match recovery {
            Recovery::Result(outcome) => outcome.to_string(),
            Recovery::Reclaim => "reclaim".to_owned(),
            Recovery::Deadletter => "deadletter".to_owned(),
        },
        Action::RunOver { .. }
        | Action::RenewLease { .. }
        | Action::Block { .. }
        | Action::Unblock { .. }
        | Action::Assign { .. } => String::new(),
    };
    vec![action.kind().to_owned(), action.task().to_string(), recovery]
}
