//! The report documents of a script agent that uses the mission or `new_task` dialect.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use adjutant_process::clock::{Clock, SystemClock};
use adjutant_run_files::dialect_files;
use adjutant_store::yaml;
use serde_json::{Map, Value, json};

use super::step::{AttemptResult, DocumentDelivery, MissionStatus, ResultDocument};

/// The time between the two halves of a document.
const PAUSE: Duration = Duration::from_secs(2);

/// Reports the result of a mission.
pub(super) fn result(report: &ResultDocument<MissionStatus>) -> io::Result<()> {
    let document = result_document(
        report,
        &order_task_id(report, dialect_files::MISSION_VARIABLE, "task_id")?,
    );
    deliver(&document, report.by, &yaml::print(&document))
}

/// Reports the result of a `new_task`.
pub(super) fn attempt(report: &ResultDocument<AttemptResult>) -> io::Result<()> {
    let document = attempt_document(
        report,
        &order_task_id(report, dialect_files::NEW_TASK_VARIABLE, "taskId")?,
    );
    deliver(&document, report.by, &format!("{:#}\n", Value::Object(document.clone())))
}

/// Returns the task's id as the work order has it.
fn order_task_id<S>(report: &ResultDocument<S>, variable: &str, field: &str) -> io::Result<String> {
    if let Some(task) = &report.task {
        return Ok(task.clone());
    }
    let order = std::fs::read_to_string(path(variable)?)?;
    let order = yaml::read(&order)
        .map_err(|problems| io::Error::other(format!("the work order is invalid: {problems:?}")))?;
    let id = order.get(field).and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| io::Error::other(format!("the work order has no {field}")))
}

fn path(variable: &str) -> io::Result<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.ok_or_else(|| {
        io::Error::other(format!("{variable} is not set: the agent may have another dialect"))
    })
}

pub(super) fn result_document(
    report: &ResultDocument<MissionStatus>,
    id: &str,
) -> Map<String, Value> {
    let now = SystemClock.now().to_string();
    let entry =
        |level: &str, message: &str| json!({"level": level, "message": message, "timestamp": now});
    let status = match report.status {
        MissionStatus::Completed => "completed",
        MissionStatus::Failed => "failed",
        MissionStatus::Blocked => "blocked",
    };
    let mut log = vec![entry("info", "Began"), entry("info", notes_text(&report.notes))];
    log.extend(report.tips.iter().map(|tip| entry("tip", tip)));
    let file = |path: &String| json!({"path": path, "action": "created"});
    let issue = |kind: &str, text: &String| json!({"type": kind, "description": text});
    let blockers = report.blockers.iter().map(|text| issue("blocker", text));
    let issues: Vec<Value> =
        blockers.chain(report.questions.iter().map(|text| issue("question", text))).collect();
    object(json!({
        "version": "1",
        "task_id": id,
        "status": status,
        "files_modified": report.files.iter().map(file).collect::<Vec<_>>(),
        "log": log,
        "issues": issues,
        "completed_at": now,
    }))
}

pub(super) fn attempt_document(
    report: &ResultDocument<AttemptResult>,
    id: &str,
) -> Map<String, Value> {
    let result = match report.status {
        AttemptResult::Success => "success",
        AttemptResult::Failure => "failure",
        AttemptResult::ClarificationNeeded => "clarification_needed",
        AttemptResult::ConflictDetected => "conflict_detected",
    };
    let artifact = |path: &String| json!({"type": "document", "path": path});
    let issue = |kind: &str, text: &String| json!({"type": kind, "description": text});
    let blockers = report.blockers.iter().map(|text| issue("technical_issue", text));
    let questions = report.questions.iter().map(|text| issue("clarification_needed", text));
    object(json!({
        "taskId": id,
        "result": result,
        "summary": notes_text(&report.notes),
        "outputArtifacts": report.files.iter().map(artifact).collect::<Vec<_>>(),
        "issues_encountered": blockers.chain(questions).collect::<Vec<_>>(),
    }))
}

fn notes_text(notes: &str) -> &str {
    if notes.is_empty() { "Nothing to add" } else { notes }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn deliver(document: &Map<String, Value>, by: DocumentDelivery, text: &str) -> io::Result<()> {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    match by {
        DocumentDelivery::File => write_report(text),
        DocumentDelivery::Halves => {
            write_report(first)?;
            std::thread::sleep(PAUSE);
            let mut file = std::fs::OpenOptions::new().append(true).open(report_path()?)?;
            file.write_all(second.as_bytes())
        }
        DocumentDelivery::Half => write_report(first),
        DocumentDelivery::Nonsense => write_report("status: [completed\n\tand: {so on\n"),
        DocumentDelivery::Output => print(text),
        DocumentDelivery::Line => print(&format!("{}\n", Value::Object(document.clone()))),
        DocumentDelivery::Send => send(text),
    }
}

fn report_path() -> io::Result<PathBuf> {
    path(dialect_files::RESULT_VARIABLE)
}

fn write_report(text: &str) -> io::Result<()> {
    std::fs::write(report_path()?, text)
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn send(text: &str) -> io::Result<()> {
    let mut child =
        Command::new(std::env::current_exe()?).args(["send", "-"]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes())?;
    }
    let ended = child.wait()?;
    if ended.success() { Ok(()) } else { Err(io::Error::other(format!("adjutant send: {ended}"))) }
}
