//! Lines on the daemon's socket: every request of a command, and every reply.

use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;

use super::json_lines;
use super::requests::every_socket_request;
use super::samples::answers;
use crate::door::wire::{ReplyWire, RequestWire};
use crate::engine::{Answered, Request};

fn request_lines() -> String {
    let mut wires = Vec::new();
    for request in every_socket_request() {
        let wire = RequestWire::try_from(&request).expect("it can be sent");
        let line = serde_json::to_string(&wire).expect("it makes JSON");
        let read: RequestWire = serde_json::from_str(&line).expect("it is read back");
        let read = Request::try_from(read).expect("it makes sense");
        assert_eq!(format!("{read:?}"), format!("{request:?}"), "{line}");
        wires.push(wire);
    }
    assert_every_variant!(
        &wires,
        RequestWire {
            Message,
            Bytes,
            Inside,
            SessionEnd,
            Stories,
            LifeSign,
            PermissionAsked,
            Command,
        }
    );
    json_lines(wires)
}

fn reply_lines() -> String {
    let (message, causes) = ("cannot write journal/state", ["no space left on device"]);
    let (message, causes) = (message.to_owned(), causes.map(str::to_owned).to_vec());
    let mut wires = Vec::new();
    for answered in answers() {
        let wire = ReplyWire::Answered(Box::new((&answered).into()));
        let line = serde_json::to_string(&wire).expect("it makes JSON");
        match serde_json::from_str(&line).expect("it is read back") {
            ReplyWire::Answered(read) => assert_eq!(Answered::try_from(*read), Ok(answered)),
            ReplyWire::Failed { .. } | ReplyWire::Alone { .. } => panic!("an answer: {line}"),
        }
        wires.push(wire);
    }
    wires.push(ReplyWire::Failed { message: message.clone(), causes: causes.clone() });
    wires.push(ReplyWire::Alone { message, causes });
    assert_every_variant!(&wires, ReplyWire { Answered, Failed, Alone });
    json_lines(wires)
}

#[test]
fn daemon_socket_lines_match_golden_files() {
    let mut golden = GoldenFolder::new("ipc/daemon");
    golden.add("requests.jsonl", request_lines());
    golden.add("replies.jsonl", reply_lines());
    golden.check();
}
