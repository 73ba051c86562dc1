//! What would keep somebody from being told, found before anybody has to be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::target::Targets;
use super::{desktop, webhook};
use crate::config::{Notify, Target};

/// Something that keeps somebody from being told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The name of the rule.
    pub rule: String,
    /// What is wrong, and what to do.
    pub text: String,
}

/// Looks at every target. Calls nobody.
pub fn check(targets: &Targets) -> Vec<Flaw> {
    let of = |(rule, notify): (String, &Notify)| {
        let texts = flaws(targets, notify);
        texts.into_iter().map(move |text| Flaw { rule: rule.clone(), text })
    };
    targets.rules().flat_map(of).collect()
}

fn flaws(targets: &Targets, rule: &Notify) -> Vec<String> {
    match rule.target {
        Target::Console => vec![],
        Target::Desktop if found(Path::new(desktop::PROGRAM)) => vec![],
        Target::Desktop => vec![format!(
            "{} is not on this machine; it comes with libnotify (libnotify-bin on Debian)",
            desktop::PROGRAM
        )],
        Target::Command => rule
            .command
            .first()
            .and_then(|program| {
                let missing = !found(&targets.program(program));
                missing.then(|| format!("there is no program {program} that can be run"))
            })
            .into_iter()
            .collect(),
        Target::Webhook => hook(rule, targets.root()),
    }
}

fn hook(rule: &Notify, root: &Path) -> Vec<String> {
    let mut flaws = Vec::new();
    flaws.extend(webhook::address(rule, root).err());
    flaws.extend(webhook::secret(rule, root).err());
    for file in rule.url_file.iter().chain(&rule.secret_file) {
        let others = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
        };
        if others(&root.join(file)) {
            flaws.push(format!("others can read {0}; `chmod 600` it", file.display()));
        }
    }
    flaws
}

/// Says whether a program can be run: by its path, or by its name.
fn found(program: &Path) -> bool {
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
