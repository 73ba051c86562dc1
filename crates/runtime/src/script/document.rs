//! The documents of a script agent that speaks another dialect: it reads its order as that dialect
//! has it, and answers in kind.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use adjutant_store::yaml;
use serde_json::{Map, Value, json};

use super::step::{AttemptResult, By, MissionStatus, Told};
use crate::clock::{Clock, SystemClock};
use crate::dialect;

/// The time between the two halves of a document.
const PAUSE: Duration = Duration::from_secs(2);

/// Says what came of a mission.
pub(super) fn result(told: &Told<MissionStatus>) -> io::Result<()> {
    let document = result_document(told, &own_id(told, dialect::MISSION_VARIABLE, "task_id")?);
    tell(&document, told.by, &yaml::print(&document))
}

/// Says what came of a `new_task`.
pub(super) fn attempt(told: &Told<AttemptResult>) -> io::Result<()> {
    let document = attempt_document(told, &own_id(told, dialect::NEW_TASK_VARIABLE, "taskId")?);
    tell(&document, told.by, &format!("{:#}\n", Value::Object(document.clone())))
}

/// Returns the id its order names the task by.
fn own_id<S>(told: &Told<S>, variable: &str, field: &str) -> io::Result<String> {
    if let Some(task) = &told.task {
        return Ok(task.clone());
    }
    let order = std::fs::read_to_string(path(variable)?)?;
    let order = yaml::read(&order)
        .map_err(|problems| io::Error::other(format!("the order makes no sense: {problems:?}")))?;
    let id = order.get(field).and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| io::Error::other(format!("the order has no {field}")))
}

fn path(variable: &str) -> io::Result<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.ok_or_else(|| io::Error::other(format!("there is no {variable}: another dialect?")))
}

pub(super) fn result_document(told: &Told<MissionStatus>, id: &str) -> Map<String, Value> {
    let now = SystemClock.now().to_string();
    let entry =
        |level: &str, message: &str| json!({"level": level, "message": message, "timestamp": now});
    let status = match told.status {
        MissionStatus::Completed => "completed",
        MissionStatus::Failed => "failed",
        MissionStatus::Blocked => "blocked",
    };
    let mut log = vec![entry("info", "Began"), entry("info", said(&told.notes))];
    log.extend(told.tips.iter().map(|tip| entry("tip", tip)));
    let file = |path: &String| json!({"path": path, "action": "created"});
    let issue = |kind: &str, text: &String| json!({"type": kind, "description": text});
    let blockers = told.blockers.iter().map(|text| issue("blocker", text));
    let issues: Vec<Value> =
        blockers.chain(told.questions.iter().map(|text| issue("question", text))).collect();
    object(json!({
        "version": "1",
        "task_id": id,
        "status": status,
        "files_modified": told.files.iter().map(file).collect::<Vec<_>>(),
        "log": log,
        "issues": issues,
        "completed_at": now,
    }))
}

pub(super) fn attempt_document(told: &Told<AttemptResult>, id: &str) -> Map<String, Value> {
    let result = match told.status {
        AttemptResult::Success => "success",
        AttemptResult::Failure => "failure",
        AttemptResult::ClarificationNeeded => "clarification_needed",
        AttemptResult::ConflictDetected => "conflict_detected",
    };
    let artifact = |path: &String| json!({"type": "document", "path": path});
    let issue = |kind: &str, text: &String| json!({"type": kind, "description": text});
    let blockers = told.blockers.iter().map(|text| issue("technical_issue", text));
    let questions = told.questions.iter().map(|text| issue("clarification_needed", text));
    object(json!({
        "taskId": id,
        "result": result,
        "summary": said(&told.notes),
        "outputArtifacts": told.files.iter().map(artifact).collect::<Vec<_>>(),
        "issues_encountered": blockers.chain(questions).collect::<Vec<_>>(),
    }))
}

fn said(notes: &str) -> &str {
    if notes.is_empty() { "Nothing to add" } else { notes }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn tell(document: &Map<String, Value>, by: By, text: &str) -> io::Result<()> {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    match by {
        By::File => leave(text),
        By::Halves => {
            leave(first)?;
            std::thread::sleep(PAUSE);
            let mut file = std::fs::OpenOptions::new().append(true).open(file()?)?;
            file.write_all(second.as_bytes())
        }
        By::Half => leave(first),
        By::Nonsense => leave("status: [completed\n\tand: {so on\n"),
        By::Output => print(text),
        By::Line => print(&format!("{}\n", Value::Object(document.clone()))),
        By::Send => send(text),
    }
}

fn file() -> io::Result<PathBuf> {
    path(dialect::RESULT_VARIABLE)
}

fn leave(text: &str) -> io::Result<()> {
    std::fs::write(file()?, text)
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
