//! Steps about messages: made valid, changed where a scenario asks for it, and sent.

use adjutant_testkit::message;
use serde_json::{Map, Value, json};

use crate::scenario_state::ScenarioState;
use crate::step_arguments::{StepArguments, json};
use crate::steps::StepDefinition;

pub(crate) const STEPS: &[StepDefinition] = &[
    ("a {kind} on {task} from {agent}", make_message),
    (
        "a handoff.request from {agent} that gives {child}, a part of {parent}, to {agent}",
        make_handoff,
    ),
    ("the message says {path} is {json...}", |scene, words| {
        let (path, value) = words.captured_pair();
        let (object, key) = find_place(&mut scene.message, path);
        object.insert(key, json(value));
    }),
    ("the message has no {path}", |scene, words| {
        let (object, key) = find_place(&mut scene.message, words.captured(0));
        object.remove(&key).expect("the message had it");
    }),
    ("the message is sent", send),
    ("the same message is sent again", send),
    ("the message is sent after the prefix {prefix}", |scene, words| {
        let text = format!("{} {}", words.captured(0), scene.message);
        scene.send(&text);
    }),
    ("the message is sent as the {field} of an event", |scene, words| {
        let event = json!({"event": "message_received", words.captured(0): scene.message});
        scene.send(&event.to_string());
    }),
    ("the message is sent as text in the {field} of an event", |scene, words| {
        let event = json!({words.captured(0): format!("AOF/1 {}", scene.message)});
        scene.send(&event.to_string());
    }),
    ("this text is sent:", |scene, words| scene.send(words.text().trim_end())),
];

fn send(scene: &mut ScenarioState, _: &StepArguments) {
    let text = scene.message.to_string();
    scene.send(&text);
}

/// Makes a message with the fields its type requires; a status update has no content yet.
fn make_message(scene: &mut ScenarioState, words: &StepArguments) {
    let (kind, task, agent) = (words.captured(0), words.captured(1), words.captured(2));
    scene.message = match kind {
        "completion.report" => message::completion(task, agent, "done"),
        "status.update" => {
            message::envelope(kind, task, agent, &json!({"taskId": task, "agentId": agent}))
        }
        "handoff.accepted" | "handoff.rejected" => {
            let accepted = kind == "handoff.accepted";
            message::envelope(kind, task, agent, &json!({"taskId": task, "accepted": accepted}))
        }
        other => message::envelope(other, task, agent, &json!({})),
    };
}

fn make_handoff(scene: &mut ScenarioState, words: &StepArguments) {
    let (from, child, parent, to) =
        (words.captured(0), words.captured(1), words.captured(2), words.captured(3));
    scene.message = message::handoff(child, parent, from, to);
}

/// Finds the object and the key that a path like `payload.tests.failed` names.
fn find_place<'a>(message: &'a mut Value, path: &str) -> (&'a mut Map<String, Value>, String) {
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().expect("a path names something");
    let object = keys.iter().fold(message, |value, key| &mut value[*key]);
    (object.as_object_mut().expect("a path leads through objects"), last.to_owned())
}
