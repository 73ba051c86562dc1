//! `adjutant check`: validates a document without sending it anywhere.

mod story;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::answer::Problem;
use adjutant_core::aof::{self, Incoming};
use adjutant_core::dialect::{self, DocumentKind};
use adjutant_core::{Status, TaskId};
use adjutant_store::{taskfile, yaml};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::output::{Colour, Output, clean};

/// Validate a document, and name every problem in it
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The document; `-` is standard input
    file: PathBuf,
    /// What it is meant to be [default: what it looks like]
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// An AOF/1 message
    Envelope,
    /// A mission of Agent Protocol v1
    Mission,
    /// The result of a mission
    Result,
    /// Work given to a mode
    #[value(name = "new_task", alias = "new-task")]
    NewTask,
    /// What came of a `new_task`
    #[value(name = "attempt_completion", alias = "attempt-completion")]
    AttemptCompletion,
    /// A task file
    Task,
    /// Where a story stands: `STATE.json`
    State,
    /// What an executor leaves: `HANDOFF.md`
    Handoff,
    /// The rules of a project's stories: `step-rules.yaml`
    StepRules,
}

impl Kind {
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

impl From<DocumentKind> for Kind {
    fn from(kind: DocumentKind) -> Self {
        match kind {
            DocumentKind::Mission => Self::Mission,
            DocumentKind::Result => Self::Result,
            DocumentKind::NewTask => Self::NewTask,
            DocumentKind::AttemptCompletion => Self::AttemptCompletion,
        }
    }
}

/// What came of a check.
#[derive(Default)]
struct Checked {
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Check {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let raw = read(&self.file)?;
        let kind = self.kind.unwrap_or_else(|| guess(&raw, &self.file));
        let checked = match kind {
            Kind::Envelope => envelope(&raw),
            Kind::Mission => foreign(DocumentKind::Mission, &raw),
            Kind::Result => foreign(DocumentKind::Result, &raw),
            Kind::NewTask => foreign(DocumentKind::NewTask, &raw),
            Kind::AttemptCompletion => foreign(DocumentKind::AttemptCompletion, &raw),
            Kind::Task => task(&raw, &self.file),
            Kind::State => story::state(&raw),
            Kind::Handoff => story::handoff(&raw),
            Kind::StepRules => story::step_rules(&raw, &self.file),
        };
        print(out, kind, &checked)?;
        Ok(ExitCode::from(u8::from(!checked.problems.is_empty())))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut raw = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut raw)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut raw))
    };
    read.map_err(|error| Failure::broken(format!("cannot read {}", path.display()), &error))?;
    Ok(raw)
}

/// Task files are Markdown and begin with front matter, either will do; documents of other dialects
/// are known by their keys.
fn guess(raw: &[u8], path: &Path) -> Kind {
    if let Some(kind) = story::guess(path) {
        return kind;
    }
    let text = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw);
    if path.extension().is_some_and(|extension| extension == "md") {
        return Kind::Task;
    }
    let document = match dialect::read(raw, &yaml::read) {
        Incoming::Document(sent) => Some(sent.document.kind()),
        Incoming::Refused(refusal) => refusal.document.map(|(kind, _)| kind),
        Incoming::Message(_) | Incoming::Unknown { .. } | Incoming::Ignored => None,
    };
    let otherwise = if text.starts_with(b"---") { Kind::Task } else { Kind::Envelope };
    document.map(Kind::from).or_else(|| resembles(text)).unwrap_or(otherwise)
}

/// The keys only one kind of document has. One of them is enough to name what the others are
/// missing, where `send` would not take it for a document at all.
const TELLING: [(Kind, &[&str]); 4] = [
    (Kind::Mission, &["instruction", "epic_id", "prd_id"]),
    (Kind::Result, &["files_modified", "completed_at"]),
    (Kind::NewTask, &["delegatedToMode", "objective", "expectedOutputs"]),
    (Kind::AttemptCompletion, &["outputArtifacts", "issues_encountered"]),
];

/// Says what a document is most likely meant to be that lacks the keys it is known by.
fn resembles(text: &[u8]) -> Option<Kind> {
    let text =
        std::str::from_utf8(text).ok().filter(|text| text.len() <= aof::MESSAGE_BYTES_MAX)?;
    let object = yaml::read(text).ok().filter(|object| !object.contains_key("protocol"))?;
    let has = |keys: &[&str]| keys.iter().any(|key| object.contains_key(*key));
    TELLING.iter().find(|(_, keys)| has(keys)).map(|(kind, _)| *kind)
}

/// Checks a document of another dialect.
fn foreign(kind: DocumentKind, raw: &[u8]) -> Checked {
    match dialect::read_as(kind, raw, &yaml::read) {
        Ok((_, warnings)) => Checked { warnings, ..Checked::default() },
        Err(problems) => Checked { problems, ..Checked::default() },
    }
}

fn envelope(raw: &[u8]) -> Checked {
    match aof::read(raw) {
        Incoming::Message(envelope) => {
            Checked { warnings: envelope.warnings, ..Checked::default() }
        }
        Incoming::Refused(refusal) => Checked { problems: refusal.problems, ..Checked::default() },
        Incoming::Unknown { kind, .. } => {
            let kinds = aof::Kind::ALL.map(aof::Kind::as_str).join(", ");
            one("type", format!("{kind:?} is not one of: {kinds}"))
        }
        Incoming::Ignored | Incoming::Document(_) => {
            one("protocol", "invalid protocol: must be \"aof\" in a JSON object")
        }
    }
}

fn one(path: &str, message: impl Into<String>) -> Checked {
    Checked { problems: vec![Problem::new(path, message)], ..Checked::default() }
}

/// A file that is called after a task must be that task, and the folder it lies in decides its
/// status.
fn task(raw: &[u8], path: &Path) -> Checked {
    let Ok(text) = std::str::from_utf8(raw) else { return one("", "is not UTF-8 text") };
    let name = path.file_stem().and_then(|stem| TaskId::parse(stem.to_str()?).ok());
    let folder = path.parent().and_then(|folder| Status::parse(folder.file_name()?.to_str()?));
    let folder = folder.filter(|_| name.is_some());
    match taskfile::parse(text, name.as_ref(), folder) {
        Ok(parsed) => Checked { warnings: at_odds(parsed.said, folder), ..Checked::default() },
        Err(problems) => Checked { problems, ..Checked::default() },
    }
}

fn at_odds(said: Option<Status>, folder: Option<Status>) -> Vec<Problem> {
    let problem = |said, folder| {
        Problem::new("status", format!("says {said}, and the file lies in {folder}"))
    };
    match (said, folder) {
        (Some(said), Some(folder)) if said != folder => vec![problem(said, folder)],
        _ => vec![],
    }
}

fn print(out: &Output, kind: Kind, checked: &Checked) -> Result<(), Failure> {
    let name = kind.as_str();
    let valid = checked.problems.is_empty();
    if out.is_json() {
        let list = |problems: &[Problem]| {
            let one = |problem: &Problem| json!({"path": problem.path, "message": problem.message});
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
        out.paint(Colour::Green, &format!("a valid {name}"))
    } else {
        out.paint(Colour::Red, &format!("not a valid {name}"))
    };
    out.line(&verdict)
}
