//! Golden files of the daemon's socket: every request of a command, and every reply.

use std::mem::discriminant;

use adjutant_run_files::socket_protocol::{IpcReply, RunAnswerRequest};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::golden_samples::requests::{every_request, every_socket_request};
use adjutant_testkit::golden_samples::{answers, json_lines};

use crate::engine::EngineRequest;

fn request_lines() -> String {
    let requests = every_socket_request();
    for request in &requests {
        assert!(request.is_public(), "{request:?}");
        let line = serde_json::to_string(request).expect("it makes JSON");
        let read: EngineRequest = serde_json::from_str(&line).expect("it is read back");
        assert_eq!(read, *request, "{line}");
    }
    for public in every_request().iter().filter(|request| request.is_public()) {
        let is_same = |request: &EngineRequest| {
            discriminant(&request.request) == discriminant(&public.request)
        };
        assert!(requests.iter().any(is_same), "no sample of {public:?}");
    }
    json_lines(requests)
}

fn reply_lines() -> String {
    let (message, causes) = ("cannot write journal/state", ["no space left on device"]);
    let (message, causes) = (message.to_owned(), causes.map(str::to_owned).to_vec());
    let mut replies = Vec::new();
    for answered in answers() {
        let reply = IpcReply::Answered(Box::new(answered.clone()));
        let line = serde_json::to_string(&reply).expect("it makes JSON");
        match serde_json::from_str(&line).expect("it is read back") {
            IpcReply::Answered(read) => assert_eq!(*read, answered),
            IpcReply::Text(_) | IpcReply::Failed { .. } | IpcReply::Alone { .. } => {
                panic!("an answer: {line}")
            }
        }
        replies.push(reply);
    }
    replies.push(IpcReply::Text("The work order.\n".into()));
    replies.push(IpcReply::Failed { message: message.clone(), causes: causes.clone() });
    replies.push(IpcReply::Alone { message, causes });
    assert_every_variant!(&replies, IpcReply { Answered, Text, Failed, Alone });
    json_lines(replies)
}

#[test]
fn daemon_socket_lines_match_golden_files() {
    let mut golden = GoldenFolder::new("ipc/daemon");
    golden.add("requests.jsonl", request_lines());
    golden.add("replies.jsonl", reply_lines());
    let of_shim = RunAnswerRequest { answer_to: 3, attempt: 2 };
    golden.add("requests-of-shims.jsonl", json_lines([of_shim]));
    golden.check();
}
