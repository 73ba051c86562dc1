//! Checks story files. Stricter than Adjutant itself: what another program cannot read is a
//! problem.

use std::path::Path;

use adjutant_core::story::claim::{FoundHandOver, HandOverContent};
use adjutant_model::answer::FieldProblem;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryId};
use adjutant_stories::files::{StateFile, hand_over, rules};

use super::{CheckFindings, CheckKind, single_problem};

/// The statuses that an executor may report.
const STATUSES: [StepStatus; 3] = [StepStatus::Pass, StepStatus::Failing, StepStatus::NeedsHuman];

/// Guesses the kind of a story file by its name.
pub(super) fn guess_story_file(path: &Path) -> Option<CheckKind> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    match name {
        "STATE.json" => Some(CheckKind::State),
        "HANDOFF.md" => Some(CheckKind::Handoff),
        "step-rules.yaml" => Some(CheckKind::StepRules),
        name if name.strip_suffix(".json").is_some() && folder == Some("states") => {
            Some(CheckKind::State)
        }
        _ => None,
    }
}

pub(super) fn state(raw: &[u8]) -> CheckFindings {
    match StateFile::parse(raw) {
        Ok(file) => {
            let problems =
                file.warnings.iter().map(|warning| FieldProblem::new("", warning.as_str()));
            CheckFindings { problems: problems.collect(), ..CheckFindings::default() }
        }
        Err(problems) => CheckFindings { problems, ..CheckFindings::default() },
    }
}

pub(super) fn handoff(raw: &[u8]) -> CheckFindings {
    match hand_over::parse_handoff(raw) {
        FoundHandOver::Missing | FoundHandOver::Unchanged => single_problem("", "is empty"),
        FoundHandOver::Invalid(why) => single_problem("", why),
        FoundHandOver::Content(paper) => {
            CheckFindings { problems: handoff_problems(&paper), ..CheckFindings::default() }
        }
    }
}

/// Returns the fields that are missing or have an unknown value.
fn handoff_problems(paper: &HandOverContent) -> Vec<FieldProblem> {
    let list = |names: &[&str]| names.join(", ");
    let statuses = STATUSES.map(StepStatus::as_str);
    let (steps, reasons) =
        (Step::ALL.map(Step::as_str), StepFailReason::ALL.map(StepFailReason::as_str));
    let reason = paper.claimed.reason.as_deref().filter(|reason| *reason != "null");
    let mut problems = Vec::new();
    let mut check = |path: &str, said: Option<&str>, known: &[&str], needed: bool| match said {
        None if needed => problems.push(FieldProblem::new(path, "is missing")),
        Some(said) if !known.contains(&said) => {
            problems
                .push(FieldProblem::new(path, format!("{said:?} is not one of: {}", list(known))));
        }
        Some(_) | None => {}
    };
    check("status", paper.claimed.status.as_deref(), &statuses, true);
    check("reason", reason, &reasons, false);
    check("step", paper.step.as_deref(), &steps, true);
    match paper.story.as_deref().map(StoryId::parse) {
        None => problems.push(FieldProblem::new("story", "is missing")),
        Some(Err(error)) => problems.push(FieldProblem::new("story", error.to_string())),
        Some(Ok(_)) => {}
    }
    match paper.attempt.as_deref().map(str::parse::<u32>) {
        None => problems.push(FieldProblem::new("attempt", "is missing")),
        Some(Ok(1..)) => {}
        Some(_) => problems.push(FieldProblem::new("attempt", "must be a whole number from 1")),
    }
    problems
}

pub(super) fn step_rules(raw: &[u8], path: &Path) -> CheckFindings {
    let Ok(text) = std::str::from_utf8(raw) else { return single_problem("", "is not UTF-8 text") };
    match rules::merge_over_defaults(text) {
        Ok(_) => CheckFindings::default(),
        Err(mut bad) => {
            path.clone_into(&mut bad.path);
            single_problem("", bad.to_string())
        }
    }
}
