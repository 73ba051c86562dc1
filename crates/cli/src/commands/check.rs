//! `adjutant check`: validates a document without sending it anywhere.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::answer::Problem;
use adjutant_core::aof::{self, Incoming};
use adjutant_core::{Status, TaskId};
use adjutant_store::taskfile;
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
    /// A task file
    Task,
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
            Kind::Task => task(&raw, &self.file),
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

/// Task files are Markdown and begin with front matter; either will do.
fn guess(raw: &[u8], path: &Path) -> Kind {
    let text = raw.strip_prefix(b"\xef\xbb\xbf").unwrap_or(raw);
    let markdown = path.extension().is_some_and(|extension| extension == "md");
    if markdown || text.starts_with(b"---") { Kind::Task } else { Kind::Envelope }
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
    let name = match kind {
        Kind::Envelope => "envelope",
        Kind::Task => "task",
    };
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
