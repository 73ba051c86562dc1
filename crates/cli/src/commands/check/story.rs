//! The files of stories, checked: what another program would stumble over is a problem here.

use std::path::Path;

use adjutant_core::answer::Problem;
use adjutant_core::pipeline::claim::{Found, Paper};
use adjutant_core::pipeline::{Reason, Status, Step, StoryId};
use adjutant_store::story::{StateFile, paper, rules};

use super::{Checked, Kind, one};

/// The words an executor may have for how it went.
const STATUSES: [Status; 3] = [Status::Pass, Status::Failing, Status::NeedsHuman];

/// These files are known by their names.
pub(super) fn guess(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    match name {
        "STATE.json" => Some(Kind::State),
        "HANDOFF.md" => Some(Kind::Handoff),
        "step-rules.yaml" => Some(Kind::StepRules),
        name if name.strip_suffix(".json").is_some() && folder == Some("states") => {
            Some(Kind::State)
        }
        _ => None,
    }
}

pub(super) fn state(raw: &[u8]) -> Checked {
    match StateFile::parse(raw) {
        Ok(file) => {
            let problems = file.warnings.iter().map(|warning| Problem::new("", warning.as_str()));
            Checked { problems: problems.collect(), ..Checked::default() }
        }
        Err(problems) => Checked { problems, ..Checked::default() },
    }
}

pub(super) fn handoff(raw: &[u8]) -> Checked {
    match paper::handoff(raw) {
        Found::Nothing | Found::Old => one("", "has nothing in it"),
        Found::Broken(why) => one("", why),
        Found::Paper(paper) => Checked { problems: odd(&paper), ..Checked::default() },
    }
}

/// Names what is missing or not one of the words there are.
fn odd(paper: &Paper) -> Vec<Problem> {
    let list = |names: &[&str]| names.join(", ");
    let statuses = STATUSES.map(Status::as_str);
    let (steps, reasons) = (Step::ALL.map(Step::as_str), Reason::ALL.map(Reason::as_str));
    let reason = paper.words.reason.as_deref().filter(|reason| *reason != "null");
    let mut problems = Vec::new();
    let mut check = |path: &str, said: Option<&str>, known: &[&str], needed: bool| match said {
        None if needed => problems.push(Problem::new(path, "is missing")),
        Some(said) if !known.contains(&said) => {
            problems.push(Problem::new(path, format!("{said:?} is not one of: {}", list(known))));
        }
        Some(_) | None => {}
    };
    check("status", paper.words.status.as_deref(), &statuses, true);
    check("reason", reason, &reasons, false);
    check("step", paper.step.as_deref(), &steps, true);
    match paper.story.as_deref().map(StoryId::parse) {
        None => problems.push(Problem::new("story", "is missing")),
        Some(Err(error)) => problems.push(Problem::new("story", error.to_string())),
        Some(Ok(_)) => {}
    }
    match paper.attempt.as_deref().map(str::parse::<u32>) {
        None => problems.push(Problem::new("attempt", "is missing")),
        Some(Ok(1..)) => {}
        Some(_) => problems.push(Problem::new("attempt", "must be a whole number from 1")),
    }
    problems
}

pub(super) fn step_rules(raw: &[u8], path: &Path) -> Checked {
    let Ok(text) = std::str::from_utf8(raw) else { return one("", "is not UTF-8 text") };
    match rules::over_defaults(text) {
        Ok(_) => Checked::default(),
        Err(mut bad) => {
            path.clone_into(&mut bad.path);
            one("", bad.to_string())
        }
    }
}
