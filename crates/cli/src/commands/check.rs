//! `adjutant check`: validates a document without submitting it.

mod story_files;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::protocols::aof::{self, IncomingText};
use adjutant_core::protocols::dialect;
use adjutant_model::answer::FieldProblem;
use adjutant_model::document::DocumentKind;
use adjutant_model::{Status, TaskId};
use adjutant_store::{taskfile, yaml};
use serde_json::{Value, json};

use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean};

/// Validate a document, and list every problem
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code: 0 if the document is valid, 1 if not.

Examples:
  adjutant check mission.yaml
  adjutant check - --as envelope < message.json")]
pub(crate) struct CheckArgs {
    /// The file with the document; `-` is standard input
    file: PathBuf,
    /// The kind of document [default: recognised by its name and content]
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<CheckKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CheckKind {
    /// An AOF/1 message
    Envelope,
    /// A mission of Agent Protocol v1
    Mission,
    /// The result of a mission
    Result,
    /// A delegation to a mode: `new_task`
    #[value(name = "new_task", alias = "new-task")]
    NewTask,
    /// The report on a `new_task`
    #[value(name = "attempt_completion", alias = "attempt-completion")]
    AttemptCompletion,
    /// A task file
    Task,
    /// The state of a story: `STATE.json`
    State,
    /// An executor's hand-over: `HANDOFF.md`
    Handoff,
    /// The step rules of a project: `step-rules.yaml`
    StepRules,
}

impl CheckKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Mission => DocumentKind::Mission.as_str(),
            Self::Result => DocumentKind::Result.as_str(),
            Self::NewTask => DocumentKind::NewTask.as_str(),
            Self::AttemptCompletion => DocumentKind::AttemptCompletion.as_str(),
            Self::Task => "task",
            Self::State => "state",
            Self::Handoff => "handoff",
            Self::StepRules => "step-rules",
        }
    }
}

impl From<DocumentKind> for CheckKind {
    fn from(kind: DocumentKind) -> Self {
        match kind {
            DocumentKind::Mission => Self::Mission,
            DocumentKind::Result => Self::Result,
            DocumentKind::NewTask => Self::NewTask,
            DocumentKind::AttemptCompletion => Self::AttemptCompletion,
        }
    }
}

#[derive(Default)]
struct CheckFindings {
    problems: Vec<FieldProblem>,
    warnings: Vec<FieldProblem>,
}

impl CheckArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let raw = read(&self.file)?;
        let kind = self.kind.unwrap_or_else(|| guess_kind(&raw, &self.file));
        let checked = match kind {
            CheckKind::Envelope => envelope(&raw),
            CheckKind::Mission => check_dialect_document(DocumentKind::Mission, &raw),
            CheckKind::Result => check_dialect_document(DocumentKind::Result, &raw),
            CheckKind::NewTask => check_dialect_document(DocumentKind::NewTask, &raw),
            CheckKind::AttemptCompletion => {
                check_dialect_document(DocumentKind::AttemptCompletion, &raw)
            }
            CheckKind::Task => task(&raw, &self.file),
            CheckKind::State => story_files::state(&raw),
            CheckKind::Handoff => story_files::handoff(&raw),
            CheckKind::StepRules => story_files::step_rules(&raw, &self.file),
        };
        print(out, kind, &checked)?;
        Ok(ExitCode::from(u8::from(!checked.problems.is_empty())))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CommandFailure> {
    let mut raw = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut raw)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut raw))
    };
    read.map_err(|error| {
        CommandFailure::broken(format!("cannot read {}", path.display()), &error)
    })?;
    Ok(raw)
}

/// Guesses the kind of a document. A task file ends in `.md` or begins with front matter; the
/// documents of other dialects are recognised by their keys.
fn guess_kind(raw: &[u8], path: &Path) -> CheckKind {
    if let Some(kind) = story_files::guess_story_file(path) {
        return kind;
    }
    let text = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw);
    if path.extension().is_some_and(|extension| extension == "md") {
        return CheckKind::Task;
    }
    let document = match dialect::read(raw, &yaml::read) {
        IncomingText::Document(sent) => Some(sent.document.kind()),
        IncomingText::Refused(refusal) => refusal.document.map(|(kind, _)| kind),
        IncomingText::Message(_) | IncomingText::Unknown { .. } | IncomingText::Ignored => None,
    };
    let otherwise = if text.starts_with(b"---") { CheckKind::Task } else { CheckKind::Envelope };
    document.map(CheckKind::from).or_else(|| guess_incomplete(text)).unwrap_or(otherwise)
}

/// The keys that only one kind of document has. One is enough to report what else is missing, even
/// where `send` would not recognise the document.
const DISTINCTIVE_KEYS: [(CheckKind, &[&str]); 4] = [
    (CheckKind::Mission, &["instruction", "epic_id", "prd_id"]),
    (CheckKind::Result, &["files_modified", "completed_at"]),
    (CheckKind::NewTask, &["delegatedToMode", "objective", "expectedOutputs"]),
    (CheckKind::AttemptCompletion, &["outputArtifacts", "issues_encountered"]),
];

/// Guesses the kind of an incomplete document by its keys.
fn guess_incomplete(text: &[u8]) -> Option<CheckKind> {
    let text =
        std::str::from_utf8(text).ok().filter(|text| text.len() <= aof::MESSAGE_BYTES_MAX)?;
    let object = yaml::read(text).ok().filter(|object| !object.contains_key("protocol"))?;
    let has = |keys: &[&str]| keys.iter().any(|key| object.contains_key(*key));
    DISTINCTIVE_KEYS.iter().find(|(_, keys)| has(keys)).map(|(kind, _)| *kind)
}

fn check_dialect_document(kind: DocumentKind, raw: &[u8]) -> CheckFindings {
    match dialect::read_as(kind, raw, &yaml::read) {
        Ok((_, warnings)) => CheckFindings { warnings, ..CheckFindings::default() },
        Err(problems) => CheckFindings { problems, ..CheckFindings::default() },
    }
}

fn envelope(raw: &[u8]) -> CheckFindings {
    match aof::read(raw) {
        IncomingText::Message(envelope) => {
            CheckFindings { warnings: envelope.warnings, ..CheckFindings::default() }
        }
        IncomingText::Refused(refusal) => {
            CheckFindings { problems: refusal.problems, ..CheckFindings::default() }
        }
        IncomingText::Unknown { kind, .. } => {
            let kinds = adjutant_model::message_type::MessageType::ALL
                .map(adjutant_model::message_type::MessageType::as_str)
                .join(", ");
            single_problem("type", format!("{kind:?} is not one of: {kinds}"))
        }
        IncomingText::Ignored | IncomingText::Document(_) => {
            single_problem("protocol", "invalid protocol: must be \"aof\" in a JSON object")
        }
    }
}

fn single_problem(path: &str, message: impl Into<String>) -> CheckFindings {
    CheckFindings { problems: vec![FieldProblem::new(path, message)], ..CheckFindings::default() }
}

/// Checks a task file. If the file is named after a task, its id must match and its
/// folder decides its status.
fn task(raw: &[u8], path: &Path) -> CheckFindings {
    let Ok(text) = std::str::from_utf8(raw) else { return single_problem("", "is not UTF-8 text") };
    let name = path.file_stem().and_then(|stem| TaskId::parse(stem.to_str()?).ok());
    let folder = path.parent().and_then(|folder| Status::parse(folder.file_name()?.to_str()?));
    let folder = folder.filter(|_| name.is_some());
    match taskfile::parse(text, name.as_ref(), folder) {
        Ok(parsed) => CheckFindings {
            warnings: status_mismatch(parsed.stated_status, folder),
            ..CheckFindings::default()
        },
        Err(problems) => CheckFindings { problems, ..CheckFindings::default() },
    }
}

fn status_mismatch(stated: Option<Status>, folder: Option<Status>) -> Vec<FieldProblem> {
    let problem = |stated, folder| {
        FieldProblem::new("status", format!("is {stated}, but the file is in the folder {folder}"))
    };
    match (stated, folder) {
        (Some(stated), Some(folder)) if stated != folder => vec![problem(stated, folder)],
        _ => vec![],
    }
}

fn print(
    out: &CommandOutput,
    kind: CheckKind,
    checked: &CheckFindings,
) -> Result<(), CommandFailure> {
    let name = kind.as_str();
    let valid = checked.problems.is_empty();
    if out.is_json() {
        let list = |problems: &[FieldProblem]| {
            let one =
                |problem: &FieldProblem| json!({"path": problem.path, "message": problem.message});
            Value::Array(problems.iter().map(one).collect())
        };
        return out.document(&json!({
            "kind": name,
            "valid": valid,
            "problems": list(&checked.problems),
            "warnings": list(&checked.warnings),
        }));
    }
    for problem in &checked.problems {
        out.line(&clean(&problem.to_string()))?;
    }
    for warning in &checked.warnings {
        out.line(&format!("warning: {}", clean(&warning.to_string())))?;
    }
    let verdict = if valid {
        out.paint(TextColour::Green, &format!("a valid {name}"))
    } else {
        out.paint(TextColour::Red, &format!("not a valid {name}"))
    };
    out.line(&verdict)
}
