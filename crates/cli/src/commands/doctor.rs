//! `adjutant doctor`: looks for what is wrong in a data folder, and mends what can be mended.

use std::path::Path;
use std::process::ExitCode;

use adjutant_core::command::Chore;
use adjutant_runtime::config::{Agent, FILE, Sandbox};
use adjutant_runtime::notifier::Flaw;
use adjutant_runtime::sandbox;
use adjutant_store::file::doctor::{Code, Finding, Mended, examine, examine_format, mend};
use serde_json::{Value, json};

use crate::data::Data;
use crate::error::Failure;
use crate::fleet;
use crate::output::{Colour, Output, clean};

/// Look for what is wrong in the data folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code: 1 while anything is wrong, else 0.")]
pub(crate) struct Doctor {
    /// Mend what can be mended, and say what was done
    #[arg(long)]
    fix: bool,
}

impl Doctor {
    pub(crate) fn run(self, named: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        if let Some(finding) = examine_format(&Data::find_folder(named)?)? {
            return show(out, &[finding], &[]);
        }
        let data = &Data::find(named)?;
        if self.fix {
            data.permit(Chore::Mend, "cannot mend the data folder", out)?;
        }
        let mended = if self.fix { fix(data)? } else { vec![] };
        let mut findings = [examine(&data.folder)?, unconfined(data)].concat();
        findings.extend(data.flaws().into_iter().map(|Flaw { rule, text }| {
            Finding::new(Code::NotifyTarget, FILE, format!("the rule {rule} of [[notify]]: {text}"))
        }));
        findings.extend(on_servers(data));
        show(out, &findings, &mended)
    }
}

fn show(out: &Output, findings: &[Finding], mended: &[Mended]) -> Result<ExitCode, Failure> {
    if out.is_json() {
        out.document(&document(findings, mended))?;
    } else {
        print(out, findings, mended)?;
    }
    Ok(ExitCode::from(u8::from(!findings.is_empty())))
}

/// Returns the agents that are not started because their sandbox cannot be kept on this machine.
fn unconfined(data: &Data) -> Vec<Finding> {
    let wants = |(_, agent): &(&String, &Agent)| agent.sandbox == Sandbox::Landlock;
    let agents = data.config().agents.iter().filter(wants);
    let finding = |(name, _): (&String, &Agent)| {
        let why = sandbox::check().err()?;
        let text = format!("the agent {name} is not started: {why}");
        Some(Finding { code: Code::SandboxUnavailable, path: FILE.to_owned(), text })
    };
    agents.filter_map(finding).collect()
}

/// Returns what is wrong with what a fleet shares.
fn on_servers(data: &Data) -> Vec<Finding> {
    if !data.is_shared() {
        return vec![];
    }
    fleet::examine(data).unwrap_or_else(|error| {
        vec![Finding::new(Code::FleetUnreachable, fleet::shown(data), error.message())]
    })
}

/// What is wrong is mended before the folder is opened, because opening takes in what is there;
/// what is committed and not in the files is finished by opening it.
fn fix(data: &Data) -> Result<Vec<Mended>, Failure> {
    let before = examine(&data.folder)?;
    let mut mended = mend(&data.folder)?;
    let mut engine = data.engine()?;
    engine.rest()?;
    drop(engine);
    let after = examine(&data.folder)?;
    let by_opening = before.into_iter().filter(|finding| {
        !after.contains(finding) && !mended.iter().any(|mended| mended.finding == *finding)
    });
    let finished: Vec<Mended> = by_opening
        .map(|finding| Mended { finding, done: "it is in order now".to_owned() })
        .collect();
    mended.extend(finished);
    Ok(mended)
}

fn document(findings: &[Finding], mended: &[Mended]) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "code": finding.code.as_str(),
            "path": finding.path,
            "text": finding.text,
            "fixable": finding.code.is_fixable(),
        })
    };
    let fixed = |mended: &Mended| {
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

fn print(out: &Output, findings: &[Finding], mended: &[Mended]) -> Result<(), Failure> {
    for mended in mended {
        let what = format!("{}: {}", mended.finding.path, mended.finding.text);
        out.line(&format!("{} {}", out.paint(Colour::Green, "mended"), clean(&what)))?;
        out.line(&format!("       {}", clean(&mended.done)))?;
    }
    for finding in findings {
        let what = format!("{}: {}", finding.path, finding.text);
        out.line(&format!("{} {}", out.paint(Colour::Red, finding.code.as_str()), clean(&what)))?;
    }
    let fixable = findings.iter().any(|finding| finding.code.is_fixable());
    match (findings.len(), fixable) {
        (0, _) => out.line("nothing is wrong"),
        (_, true) => out.line("`adjutant doctor --fix` mends what can be mended"),
        (_, false) => out.line("none of this can be mended without you"),
    }
}
