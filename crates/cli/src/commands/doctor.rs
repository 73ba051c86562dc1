//! `adjutant doctor`: finds problems in a data folder and repairs those that can be repaired.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use adjutant_config::{Agent, FILE};
use adjutant_daemon::notifier::TargetProblem;
use adjutant_git::tracked_files::tracked_files;
use adjutant_model::AgentId;
use adjutant_model::command::OperatorAction;
use adjutant_model::command_text::shell_word;
use adjutant_model::policy::AgentPolicy;
use adjutant_query::unaccepted_stories::UnacceptedStories;
use adjutant_runs::sandbox;
use adjutant_runs::sandbox::resource_limits::unenforceable_limit;
use adjutant_store::file::doctor::{
    DoctorFinding, DoctorRepair, FindingCode, examine, examine_format, repair,
};
use serde_json::{Value, json};

use crate::config_trust::UNACCEPTED_CONFIG;
use crate::data::{GIT_ADVICE, ProjectData, this_program};
use crate::fleet_connection;
use crate::output::error::{CommandFailure, INVALID_CONFIG};
use crate::output::{CommandOutput, TextColour, clean};
use crate::view::sandbox_summary::{
    describe_levels, limits_not_enforced, sandbox_levels, weaker_than_strict,
};

/// Find problems in the data folder, and repair them with --fix
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code: 1 while there are problems, else 0.

Examples:
  adjutant doctor        list the problems
  adjutant doctor --fix  repair what can be repaired")]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired automatically, and list the repairs
    #[arg(long)]
    fix: bool,
}

impl DoctorArgs {
    pub(crate) fn run(
        self,
        named: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        if let Some(finding) = examine_format(&ProjectData::find_folder(named)?)? {
            return show(out, &[finding], &[], None);
        }
        let data = match ProjectData::find(named) {
            Err(failure) if failure.code == INVALID_CONFIG && !self.fix => {
                let mut findings = examine(&ProjectData::find_folder(named)?)?;
                findings.push(config_finding(&failure.one_line_problem()));
                return show(out, &findings, &[], None);
            }
            // Nothing may be done to a folder whose fleet is not accepted.
            Err(failure) if failure.code == UNACCEPTED_CONFIG && !self.fix => {
                let data = ProjectData::find_unaccepted(named)?;
                let mut findings = examine(&data.folder)?;
                findings.extend(unaccepted_finding(&data));
                return show(out, &findings, &[], None);
            }
            found => found?.with_settled_sandboxes(),
        };
        let data = &data;
        if self.fix {
            data.require_operator(OperatorAction::Mend, "cannot repair the data folder", out)?;
        }
        let mended = if self.fix { fix(data)? } else { vec![] };
        let mut findings = [examine(&data.folder)?, sandbox_findings(data)].concat();
        findings.extend(data.notification_problems().into_iter().map(
            |TargetProblem { rule, text }| {
                DoctorFinding::new(
                    FindingCode::NotifyTarget,
                    FILE,
                    format!("the notification rule {rule}: {text}"),
                )
            },
        ));
        findings.extend(data.config_problem().map(config_finding));
        findings.extend(unaccepted_finding(data));
        findings.extend(unaccepted_stories_finding(data));
        findings.extend(git_finding(data));
        findings.extend(tracked_finding(data));
        findings.extend(program_findings(data));
        findings.extend(fleet_findings(data));
        show(out, &findings, &mended, Some(data))
    }
}

fn show(
    out: &CommandOutput,
    findings: &[DoctorFinding],
    mended: &[DoctorRepair],
    data: Option<&ProjectData>,
) -> Result<ExitCode, CommandFailure> {
    let levels = data.map(|data| sandbox_levels(data.config())).unwrap_or_default();
    let weaker = data.and_then(|data| weaker_than_strict(data.config()));
    let not_enforced = data.map(|data| limits_not_enforced(data.config())).unwrap_or_default();
    if out.is_json() {
        let mut document = document(findings, mended);
        if !levels.is_empty() {
            document["sandbox"] = json!(levels);
        }
        if let Some(why) = weaker {
            document["weakerThanStrict"] = why.into();
        }
        if !not_enforced.is_empty() {
            document["limitsNotEnforced"] = json!(not_enforced);
        }
        out.document(&document)?;
    } else {
        if let Some(text) = describe_levels(&levels) {
            out.line(&clean(&text))?;
        }
        if let Some(why) = weaker {
            out.line(&clean(&format!("sandbox = \"auto\" is weaker than \"strict\" here: {why}")))?;
        }
        for (limit, why) in not_enforced {
            out.line(&clean(&format!("`{limit}` is not enforced here: {why}")))?;
        }
        print(out, findings, mended)?;
    }
    Ok(ExitCode::from(u8::from(!findings.is_empty())))
}

/// Returns a finding for each agent whose sandbox, or a limit of it, this machine cannot provide; such
/// an agent is not started.
fn sandbox_findings(data: &ProjectData) -> Vec<DoctorFinding> {
    let program = this_program().unwrap_or_default();
    let finding = |(name, agent): (&String, &Agent)| {
        let refused = sandbox::check(agent.sandbox_level(), &program).err();
        let why = refused.map(|why| why.to_string()).or_else(|| unenforceable_limit(agent))?;
        let text = format!("the agent {name} cannot be started: {why}");
        Some(DoctorFinding { code: FindingCode::SandboxUnavailable, path: FILE.to_owned(), text })
    };
    data.config().agents.iter().filter_map(finding).collect()
}

fn config_finding(problem: &str) -> DoctorFinding {
    DoctorFinding::new(FindingCode::ConfigInvalid, FILE, format!("it cannot be used: {problem}"))
}

/// Returns a finding if the operator has not accepted all of the configuration.
fn unaccepted_finding(data: &ProjectData) -> Option<DoctorFinding> {
    let names: Vec<&str> = data.unaccepted().iter().map(|change| change.name.as_str()).collect();
    let text = format!(
        "these settings are not accepted, and those accepted before stay in effect; `adjutant \
         trust` shows and accepts them: {}",
        names.join(", ")
    );
    let is_pending = !names.is_empty();
    is_pending.then(|| DoctorFinding::new(FindingCode::ConfigUnaccepted, FILE, text))
}

/// Returns a finding if the operator has not accepted what the stories would run.
fn unaccepted_stories_finding(data: &ProjectData) -> Option<DoctorFinding> {
    let what = UnacceptedStories::find(&data.folder.workspace())?.in_words();
    let text = format!(
        "these are not accepted, and agents do no steps; `adjutant trust` shows and accepts them: {what}"
    );
    Some(DoctorFinding::new(FindingCode::ConfigUnaccepted, ".ai", text))
}

/// Returns a finding if agents work in worktrees and git cannot make them.
fn git_finding(data: &ProjectData) -> Option<DoctorFinding> {
    let error = data.check_git().err()?;
    let text = format!("{error}; {GIT_ADVICE}");
    Some(DoctorFinding::new(FindingCode::GitUnusable, FILE, text))
}

/// Returns a finding if git tracks files that belong to this machine alone: a checkout would replace
/// them by older ones, and a push would publish them.
fn tracked_finding(data: &ProjectData) -> Option<DoctorFinding> {
    let root = data.folder.root();
    let tracked = tracked_files(root);
    let names = tracked.iter().filter(|path| !is_trackable(path));
    let names: BTreeSet<&str> = names.map(|path| path.split('/').next().unwrap_or(path)).collect();
    let first = names.first()?;
    let words = |prefix: &str| -> String {
        let word = |name: &&str| format!(" {}", shell_word(&format!("{prefix}{name}")));
        names.iter().map(word).collect()
    };
    let folder = shell_word(&root.to_string_lossy()).into_owned();
    let text = format!(
        "git tracks files of this machine (the event log, runs and secrets never belong in git); \
         these commands keep the files and take them out of git: `printf '%s\\n'{} >> \
         {folder}/.gitignore`, then `git -C {folder} rm -r --cached --quiet --{}`, then `git -C \
         {folder} add .gitignore`; then commit",
        words("/"),
        words("")
    );
    Some(DoctorFinding::new(FindingCode::GitTracksPrivate, *first, text))
}

/// Returns true for the files of a data folder that git may track.
fn is_trackable(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        [".gitignore" | "adjutant.toml"] | ["epics", _, "memory.md"] => true,
        ["tasks" | "archive", _, name] => {
            Path::new(name).extension().is_some_and(|ending| ending == "md")
        }
        _ => false,
    }
}

/// Returns a finding for each agent whose program cannot be started; it gets no work.
fn program_findings(data: &ProjectData) -> Vec<DoctorFinding> {
    let agents = data.policy().agents.into_iter();
    let finding = |(name, agent): (AgentId, AgentPolicy)| {
        let problem = agent.program_problem?;
        let text = format!("the agent {name} cannot be started and gets no work: {problem}");
        Some(DoctorFinding::new(FindingCode::ProgramMissing, FILE, text))
    };
    agents.filter_map(finding).collect()
}

/// Returns the findings about the data that a fleet shares.
fn fleet_findings(data: &ProjectData) -> Vec<DoctorFinding> {
    if !data.is_in_fleet() {
        return vec![];
    }
    fleet_connection::examine(&data.folder, data.config()).unwrap_or_else(|error| {
        vec![DoctorFinding::new(
            FindingCode::FleetUnreachable,
            fleet_connection::servers_without_credentials(data.config()),
            error.message_with_causes(),
        )]
    })
}

/// Repairs the folder before opening it, because opening applies what is in the files. Opening then
/// finishes commits that are not in the files yet.
fn fix(data: &ProjectData) -> Result<Vec<DoctorRepair>, CommandFailure> {
    let before = examine(&data.folder)?;
    let mut mended = repair(&data.folder)?;
    let mut engine = data.open_engine()?;
    engine.rest()?;
    drop(engine);
    let after = examine(&data.folder)?;
    let by_opening = before.into_iter().filter(|finding| {
        !after.contains(finding) && !mended.iter().any(|mended| mended.finding == *finding)
    });
    let finished: Vec<DoctorRepair> = by_opening
        .map(|finding| DoctorRepair {
            finding,
            done: "repaired when the folder was opened".to_owned(),
        })
        .collect();
    mended.extend(finished);
    Ok(mended)
}

fn document(findings: &[DoctorFinding], mended: &[DoctorRepair]) -> Value {
    let finding = |finding: &DoctorFinding| {
        json!({
            "code": finding.code.as_str(),
            "path": finding.path,
            "text": finding.text,
            "fixable": finding.code.is_fixable(),
        })
    };
    let fixed = |mended: &DoctorRepair| {
        let mut fixed = finding(&mended.finding);
        fixed["done"] = mended.done.as_str().into();
        fixed
    };
    let mut document = json!({
        "ok": findings.is_empty(),
        "findings": findings.iter().map(finding).collect::<Vec<_>>(),
    });
    if !mended.is_empty() {
        document["fixed"] = mended.iter().map(fixed).collect();
    }
    document
}

fn print(
    out: &CommandOutput,
    findings: &[DoctorFinding],
    mended: &[DoctorRepair],
) -> Result<(), CommandFailure> {
    for mended in mended {
        let what = format!("{}: {}", mended.finding.path, mended.finding.text);
        out.line(&format!("{} {}", out.paint(TextColour::Green, "repaired"), clean(&what)))?;
        out.line(&format!("         {}", clean(&mended.done)))?;
    }
    for finding in findings {
        let what = format!("{}: {}", finding.path, finding.text);
        out.line(&format!(
            "{} {}",
            out.paint(TextColour::Red, finding.code.as_str()),
            clean(&what)
        ))?;
    }
    let fixable = findings.iter().any(|finding| finding.code.is_fixable());
    match (findings.len(), fixable) {
        (0, _) => out.line("no problems found"),
        (_, true) => out.line("`adjutant doctor --fix` repairs what can be repaired automatically"),
        (_, false) => out.line("none of these can be repaired automatically"),
    }
}
