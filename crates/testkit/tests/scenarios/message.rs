//! Messages: written in good order, spoilt where a scenario asks for it, and sent.

use adjutant_testkit::message;
use serde_json::{Map, Value, json};

use crate::scene::Scene;
use crate::steps::Known;
use crate::words::{Words, json};

pub(crate) const STEPS: &[Known] = &[
    ("a {kind} on {task} from {agent}", write),
    ("a handoff.request from {agent} that gives {child}, a part of {parent}, to {agent}", hand_on),
    ("the message says {path} is {json...}", |scene, words| {
        let (path, value) = words.pair();
        let (object, key) = place(&mut scene.message, path);
        object.insert(key, json(value));
    }),
    ("the message has no {path}", |scene, words| {
        let (object, key) = place(&mut scene.message, words.at(0));
        object.remove(&key).expect("the message had it");
    }),
    ("the message is sent", send),
    ("the same message is sent again", send),
    ("the message is sent after the prefix {prefix}", |scene, words| {
        let text = format!("{} {}", words.at(0), scene.message);
        scene.send(&text);
    }),
    ("the message is sent as the {field} of an event", |scene, words| {
        let event = json!({"event": "message_received", words.at(0): scene.message});
        scene.send(&event.to_string());
    }),
    ("the message is sent as text in the {field} of an event", |scene, words| {
        let event = json!({words.at(0): format!("AOF/1 {}", scene.message)});
        scene.send(&event.to_string());
    }),
    ("this text is sent:", |scene, words| scene.send(words.text().trim_end())),
];

fn send(scene: &mut Scene, _: &Words) {
    let text = scene.message.to_string();
    scene.send(&text);
}

/// Writes a message that has what its type requires; a status update still says nothing.
fn write(scene: &mut Scene, words: &Words) {
    let (kind, task, agent) = (words.at(0), words.at(1), words.at(2));
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

fn hand_on(scene: &mut Scene, words: &Words) {
    let (from, child, parent, to) = (words.at(0), words.at(1), words.at(2), words.at(3));
    scene.message = message::handoff(child, parent, from, to);
}

/// Finds where in a message a path as `payload.tests.failed` leads.
fn place<'a>(message: &'a mut Value, path: &str) -> (&'a mut Map<String, Value>, String) {
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().expect("a path names something");
    let object = keys.iter().fold(message, |value, key| &mut value[*key]);
    (object.as_object_mut().expect("a path leads through objects"), last.to_owned())
}
