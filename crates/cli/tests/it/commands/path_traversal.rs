//! Paths and symbolic links that lead out of the folder they belong to.

use std::fs;
use std::os::unix::fs::symlink;

use adjutant_model::Status;
use serde_json::{Value, json};

use crate::commands::support::{CliProject, completion, document, example, lines, message};

const CHILD: &str = "TASK-2026-02-09-061";
const PARENT: &str = "TASK-2026-02-09-057";

/// Makes a parent in progress and a child that is ready, both assigned to the same agent.
fn family() -> CliProject {
    let project = CliProject::foreign();
    project.task(PARENT, Status::InProgress, "routing:\n  agent: swe-backend\n");
    project.task(CHILD, Status::Ready, "routing:\n  agent: swe-backend\n");
    project.does(["task", "list"]);
    fs::create_dir(project.home().join("outside")).expect("a folder");
    fs::write(project.home().join("outside/secret"), "secret").expect("a file");
    project
}

fn report(field: &str, value: Value) -> Value {
    let mut report = completion(PARENT, "swe-backend", "done");
    report["payload"][field] = value;
    report
}

fn handoff(field: &str, value: Value) -> Value {
    let mut handoff = document(&example(5));
    handoff["payload"][field] = value;
    handoff
}

#[test]
fn message_path_cannot_climb_out_of_folder() {
    let project = family();
    let before = project.digest();
    let climbing = [
        "..",
        "../x",
        "../../etc/passwd",
        "outputs/../../x",
        "a/b/../../../c",
        "./../x",
        "/",
        "/etc/passwd",
        "//host/x",
        "~",
        "~/x",
        "C:\\x",
        "c:x",
        "\\x",
        "..\\x",
        "a\\..\\..\\x",
        "a/..\\x",
    ];
    let mut messages = Vec::new();
    for path in climbing {
        messages.push(report("summaryRef", json!(path)));
        messages.push(report("deliverables", json!(["fine", path])));
        messages.push(handoff("contextRefs", json!([path])));
        messages.push(handoff("expectedOutputs", json!(["fine", path])));
    }
    let (code, answers) = project.send_lines(lines(&messages).as_bytes());
    assert_eq!((code, answers.len()), (1, 4 * climbing.len()));
    for (line, answer) in messages.iter().zip(&answers) {
        assert_eq!(answer["reason"], "invalid_envelope", "{line}");
        assert_eq!(answer["errors"].as_array().map(Vec::len), Some(1), "{line}: {answer}");
    }
    assert_eq!(project.digest(), before);
}

#[test]
fn message_path_cannot_leave_folder_by_symlink() {
    let project = family();
    let outside = project.home().join("outside");
    let outputs = project.path(&format!("tasks/in-progress/{PARENT}/outputs"));
    fs::create_dir_all(&outputs).expect("a folder");
    symlink("/etc/passwd", outputs.join("absolute")).expect("a link");
    symlink("../../../../../../etc", outputs.join("climbing")).expect("a link");
    symlink("loop", outputs.join("loop")).expect("a link");
    symlink("/etc", project.home().join("etc")).expect("a link");
    symlink("/proc/self/root", outputs.join("root")).expect("a link");
    let inputs = project.path(&format!("tasks/ready/{CHILD}"));
    fs::create_dir_all(&inputs).expect("a folder");
    symlink(&outside, inputs.join("elsewhere")).expect("a link");
    let before = project.digest();
    let why = "leads outside its folder through a symbolic link";
    let check = |line: &Value, error: &str| {
        let (code, answer) = project.send(line.to_string().as_bytes());
        let got = (code, &answer["reason"], &answer["errors"]);
        assert_eq!(got, (1, &json!("invalid_envelope"), &json!([format!("{error}: {why}")])));
    };
    for path in ["absolute", "climbing/passwd", "loop", "root/etc/passwd"] {
        let path = format!("outputs/{path}");
        check(&report("summaryRef", json!(path)), "payload.summaryRef");
        check(&report("deliverables", json!(["fine", path])), "payload.deliverables[1]");
    }
    check(&report("deliverables", json!(["etc/passwd"])), "payload.deliverables[0]");
    check(&handoff("contextRefs", json!(["elsewhere/secret"])), "payload.contextRefs[0]");
    check(&handoff("expectedOutputs", json!(["etc/shadow"])), "payload.expectedOutputs[0]");
    assert_eq!(project.digest(), before);
}

#[test]
fn symlink_that_stays_inside_is_followed() {
    let project = family();
    let outputs = format!("tasks/in-progress/{PARENT}/outputs");
    project.write(&format!("{outputs}/real.md"), "Summary.\n");
    symlink("real.md", project.path(&format!("{outputs}/summary.md"))).expect("a link");
    let (code, answer) = project.send(report("notes", json!("x")).to_string().as_bytes());
    assert_eq!((code, &answer["status"]), (0, &json!("review")));
    let missing = project.types().iter().filter(|kind| kind.ends_with("warning")).count();
    assert_eq!(missing, 1, "only the hand-over is missing");
}

#[test]
fn symlink_is_never_written_through() {
    let project = family();
    let outside = project.home().join("outside");
    symlink(&outside, project.path(&format!("tasks/ready/{CHILD}"))).expect("a link");
    project.send(example(5).as_bytes());
    symlink(&outside, project.path(&format!("runs/{PARENT}"))).expect("a link");
    project.send(completion(PARENT, "swe-backend", "done").to_string().as_bytes());
    let written: Vec<_> = fs::read_dir(&outside)
        .expect("a folder")
        .map(|entry| entry.expect("it reads").file_name())
        .collect();
    assert_eq!(written, ["secret"]);
}

#[test]
fn run_result_is_not_read_through_symlink() {
    let project = family();
    let other = "TASK-2026-02-09-070";
    project.task(other, Status::InProgress, "");
    let result = json!({
        "taskId": PARENT, "agentId": "swe-backend", "completedAt": "2026-02-09T21:10:00.000Z",
        "outcome": "done", "summaryRef": "s", "tests": {"total": 0, "passed": 0, "failed": 0},
        "notes": "",
    });
    fs::write(project.home().join("outside/result.json"), result.to_string()).expect("a file");
    fs::create_dir_all(project.path(&format!("runs/{PARENT}"))).expect("a folder");
    symlink(
        project.home().join("outside/result.json"),
        project.path(&format!("runs/{PARENT}/run_result.json")),
    )
    .expect("a link");
    let own = result.to_string().replace(PARENT, other);
    project.write(&format!("runs/{other}/run_result.json"), own);
    let ran = project.adjutant(["session-end"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains(&format!("{other} in-progress → review\n")), "{ran:?}");
    assert!(project.path(&format!("tasks/in-progress/{PARENT}.md")).is_file());
}

#[test]
fn work_log_entry_cannot_be_forged_by_value() {
    let project = family();
    let forged = "x\r\n- 2026-01-01T00:00:00Z Progress: forged\u{2028}## Work Log\n---\nid: y";
    let payload = json!({"taskId": PARENT, "agentId": "swe-backend", "progress": forged});
    let line = message("status.update", PARENT, "swe-backend", &payload);
    assert_eq!(project.send(line.to_string().as_bytes()).0, 0);
    let body = project.json(["task", "show", PARENT])["body"].clone();
    assert_eq!(
        body,
        "Do it.\n\n## Work Log\n\n- 2026-02-09T21:10:00.000Z Progress: x - 2026-01-01T00:00:00Z \
         Progress: forged ## Work Log --- id: y\n"
    );
}
