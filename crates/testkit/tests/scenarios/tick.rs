//! Steps about ticks of the scheduler and the heartbeats they check.

use adjutant_core::schedule::{ScheduleAction, TaskRecovery};
use serde_json::json;

use crate::file::json_text;
use crate::scenario_state::ScenarioState;
use crate::step_arguments::StepArguments;
use crate::steps::StepDefinition;

pub(crate) const STEPS: &[StepDefinition] = &[
    ("the heartbeat of {task} counts until {time}", beat),
    ("{task} has no heartbeat", |scene, words| {
        assert!(!scene.project.exists(&format!("runs/{}/run_heartbeat.json", words.captured(0))));
    }),
    ("{agent} has started a run of {task}", start),
    ("it is {time}", |scene, words| scene.project.clock.set(words.captured(0))),
    ("the scheduler ticks", |scene, _| scene.tick()),
    ("the scheduler is asked what it would do", |scene, _| scene.tick_dry()),
    ("its actions are:", |scene, words| {
        let actions: Vec<Vec<String>> = scene.last_tick().actions.iter().map(row).collect();
        assert_eq!(actions, words.table()[1..]);
    }),
    ("it has no actions", |scene, _| assert_eq!(scene.last_tick().actions, [])),
    ("{count} of its actions count as executed", |scene, words| {
        assert_eq!(scene.last_tick().executed().to_string(), words.captured(0));
    }),
];

fn beat(scene: &mut ScenarioState, words: &StepArguments) {
    let (task, until) = words.captured_pair();
    let beat = json!({
        "taskId": task,
        "agentId": "swe-backend",
        "lastHeartbeat": "2026-02-10T09:55:00.000Z",
        "beatCount": 5,
        "expiresAt": until,
    });
    scene.project.write(&format!("runs/{task}/run_heartbeat.json"), &json_text(&beat));
}

/// Writes the file that is written when a lease is taken.
fn start(scene: &mut ScenarioState, words: &StepArguments) {
    let (agent, task) = words.captured_pair();
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

fn row(action: &ScheduleAction) -> Vec<String> {
    let recovery = match action {
        ScheduleAction::StaleHeartbeat { recovery, .. }
        | ScheduleAction::ExpireLease { recovery, .. }
        | ScheduleAction::RunLost { recovery, .. } => match recovery {
            TaskRecovery::Result(outcome) => outcome.to_string(),
            TaskRecovery::Reclaim => "reclaim".to_owned(),
            TaskRecovery::Deadletter => "deadletter".to_owned(),
        },
        ScheduleAction::RunOver { .. }
        | ScheduleAction::RenewLease { .. }
        | ScheduleAction::Block { .. }
        | ScheduleAction::Unblock { .. }
        | ScheduleAction::Assign { .. } => String::new(),
    };
    vec![action.kind().to_owned(), action.task().to_string(), recovery]
}
