//! Finds configuration problems that would prevent a delivery, without sending anything.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_config::{Notify, Target};

use super::notify_targets::NotifyTargets;
use super::{desktop, webhook};

/// A problem that prevents the deliveries of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetProblem {
    pub rule: String,
    /// What is wrong, and how to fix it.
    pub text: String,
}

/// Checks every target. Sends nothing.
pub fn check_targets(targets: &NotifyTargets) -> Vec<TargetProblem> {
    let of = |(rule, notify): (String, &Notify)| {
        let texts = target_problems(targets, notify);
        texts.into_iter().map(move |text| TargetProblem { rule: rule.clone(), text })
    };
    targets.rules().flat_map(of).collect()
}

fn target_problems(targets: &NotifyTargets, rule: &Notify) -> Vec<String> {
    match rule.target {
        Target::Console => vec![],
        Target::Desktop if is_executable(Path::new(desktop::PROGRAM)) => vec![],
        Target::Desktop => vec![format!(
            "{} is not installed; it is part of libnotify (libnotify-bin on Debian)",
            desktop::PROGRAM
        )],
        Target::Command => rule
            .command
            .first()
            .and_then(|program| {
                let missing = !is_executable(&targets.resolve_program(program));
                missing
                    .then(|| format!("the program {program} does not exist or is not executable"))
            })
            .into_iter()
            .collect(),
        Target::Webhook => webhook_problems(rule, targets.root()),
    }
}

fn webhook_problems(rule: &Notify, root: &Path) -> Vec<String> {
    let mut flaws = Vec::new();
    flaws.extend(webhook::read_address(rule, root).err());
    flaws.extend(webhook::read_key(rule, root).err());
    for file in rule.url_file.iter().chain(&rule.secret_file) {
        let others = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
        };
        if others(&root.join(file)) {
            flaws.push(format!("other users can read {0}; run `chmod 600` on it", file.display()));
        }
    }
    flaws
}

/// Returns whether a program can be executed: by its path, or by its name on `PATH`.
fn is_executable(program: &Path) -> bool {
    let is_program = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if program.components().count() > 1 {
        return is_program(program);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_program(&folder.join(program)))
}
